import { writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { missingKafkaTool } from '../support/kafka/artefacts.ts'
import { missingClickHouse } from '../support/stores/clickhouse-server.ts'
import { closeOnSignals } from '../support/system/close-with-run.ts'
import { openEmbedded } from './bench-system.ts'
import { componentFigures } from './component-figures.ts'
import { openDistributedOn } from './distributed/distributed-system.ts'
import { openSharedStores } from './distributed/shared-stores.ts'
import { type FigureLine, type Measures, tableHead, tableLine } from './figure-line.ts'
import { openDistributedLimitOn, openEmbeddedLimit } from './limit/limit.ts'
import { untilQuiet } from './quiet-machine.ts'
import { shapesTable } from './shapes/run-shapes.ts'
import { systemFigures } from './system-figures.ts'

const help = `npm run bench -- [--seconds N] [--only P1,P2,P3,P4,P5,P6,P7,P8,P9,P10,P11,P12,P13,P14,P15,P16,P17,D5,I7]
npm run bench -- --distributed [--brokers N] [--seconds N] [--locations N] [--only P1,P2,P6,P7,P11,P12,P13,P14,P16,I7]
npm run bench -- --shapes [--seconds N] [--kills N] [--locations N] [--only NAME]

Measures the performance promises, prints a table and writes bench.json. The limit of a figure comes from the same run.
Every figure depends on the whole machine: run nothing else. The bench waits at most 1 min for a quiet machine.
P1 alternates with a plain pipeline of the same task (test/bench/limit), in three rounds of a third of --seconds each.

--distributed  measure with Kafka, a schema registry, PostgreSQL, ClickHouse over HTTP and one process per role.
               The bench starts a broker and a registry, or uses those in KAFKA_BROKERS and SCHEMA_REGISTRY_URL.
--brokers N    start N brokers, 1 to 3 (default 1). Each broker stores all partitions.
               All brokers but one must store a record before the gateway acknowledges it.
--shapes       compare the product with other designs of the same task, while processes are killed. Prints Markdown.
--only         names of the figures to measure. With --shapes: the start of the names of the designs.
--seconds N    length of each load in s (default 60, with --shapes 20).
--locations N  locations of the fleet (default 2,000, with --shapes 1,000). Each location has two devices.
--statements N locations of the batch of P14 (default 1,000). The promise has 10,000 locations.
--months N     months of rows for P7, 1.2 million each: at most 10, or a multiple of 10 (default 10).
--kills N      kills of each part in --shapes (default 4).
`

const argument = (name: string): string | undefined => {
  const at = process.argv.indexOf(name)
  return at === -1 ? undefined : process.argv[at + 1]
}

const isDistributed = process.argv.includes('--distributed')
const locations = Number(argument('--locations') ?? 2_000)
const statements = Number(argument('--statements') ?? 1_000)
const months = Number(argument('--months') ?? 10)
const kills = Number(argument('--kills') ?? 4)
const isShapes = process.argv.includes('--shapes')
const seconds = Number(argument('--seconds') ?? (isShapes ? 20 : 60))

const run = async (measures: Measures, profile: string): Promise<void> => {
  const lines: FigureLine[] = []
  const busyShare = await untilQuiet()
  process.stdout.write(
    `${profile}, ${cpus().length} cores, ${(busyShare * 100).toFixed(0)} % busy before the start\n${tableHead}`,
  )
  for (const name of argument('--only')?.split(',') ?? Object.keys(measures)) {
    for (const line of (await measures[name]?.()) ?? []) {
      lines.push(line)
      process.stdout.write(tableLine(line))
    }
  }
  writeFileSync('bench.json', `${JSON.stringify({ profile, cores: cpus().length, lines }, null, 2)}\n`)
}

/** Exit with code 1 if the stores of the distributed profile cannot be started. */
const requireStores = (): void => {
  const missing = (process.env['KAFKA_BROKERS'] === undefined ? missingKafkaTool() : null) ?? missingClickHouse()
  if (missing === null) return
  process.stderr.write(`The bench cannot start its stores: ${missing}\n`)
  process.exit(1)
}

closeOnSignals()
if (process.argv.includes('--help')) process.stdout.write(help)
else if (isShapes) {
  requireStores()
  await using shared = await openSharedStores()
  process.stdout.write(
    await shapesTable(shared, {
      seconds,
      kills,
      locations: Number(argument('--locations') ?? 1_000),
      only: argument('--only') ?? '',
    }),
  )
} else if (isDistributed) {
  requireStores()
  await using shared = await openSharedStores(Number(argument('--brokers') ?? 1))
  const parts = { open: openDistributedOn(shared), openLimit: openDistributedLimitOn(shared) }
  await run(systemFigures({ name: 'distributed', ...parts, seconds, locations, statements, months }), 'distributed')
} else {
  const whole = systemFigures({
    name: 'embedded',
    open: openEmbedded,
    openLimit: openEmbeddedLimit,
    seconds,
    locations,
    statements,
    months,
  })
  await run({ ...componentFigures, ...whole }, 'embedded')
}
