import { writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { missingTool } from '../support/kafka/artefacts.ts'
import { openEmbedded } from './bench-system.ts'
import { distributedOn } from './distributed/distributed-system.ts'
import { openSharedStores } from './distributed/shared-stores.ts'
import { closeOnSignals } from './interrupted.ts'
import { distributedLimitOn, openEmbeddedLimit } from './limit/limit.ts'
import { type Line, type Measures, tableHead, tableLine } from './line.ts'
import { partMeasures } from './part-measures.ts'
import { untilQuiet } from './quiet-machine.ts'
import { shapesTable } from './shapes/run-shapes.ts'
import { wholeMeasures } from './whole-measures.ts'

const help = `npm run bench -- [--seconds N] [--only P1,P2,P3,P4,P5,P6,P7,P8,P9,P10,P11,P12,D5,I7]
npm run bench -- --distributed [--brokers N] [--seconds N] [--locations N] [--only P1,P2,P6,P7,P11,P12,I7]
npm run bench -- --shapes [--seconds N] [--kills N] [--locations N] [--only NAME]

Measures the promises of performance, each beside its limit in the same run, prints a table and writes bench.json.
Leave the machine alone meanwhile: every figure is of the whole machine. The bench waits up to a minute until the machine is quiet.
P1 runs in turns with a plain pipeline of the same task (test/bench/limit), three rounds of a third of --seconds each.

--distributed  on a real broker and registry, PostgreSQL, and the engine behind HTTP, with a process for each role. Broker and registry
               are fetched once and started, or taken from KAFKA_BROKERS and SCHEMA_REGISTRY_URL.
--brokers N    start so many, 1 to 3, each with a copy of all; all but one have a record before it is acknowledged (1).
--shapes       the product beside other shapes of the same task, on the same broker and engine, with kills; prints Markdown.
`

const argument = (name: string): string | undefined => {
  const at = process.argv.indexOf(name)
  return at === -1 ? undefined : process.argv[at + 1]
}

const isDistributed = process.argv.includes('--distributed')
const locations = Number(argument('--locations') ?? 2_000)
const kills = Number(argument('--kills') ?? 4)
const isOfShapes = process.argv.includes('--shapes')
const seconds = Number(argument('--seconds') ?? (isOfShapes ? 20 : 60))

const run = async (measures: Measures, profile: string): Promise<void> => {
  const lines: Line[] = []
  const busyShare = await untilQuiet()
  process.stdout.write(
    `${profile}, ${cpus().length} cores, ${(busyShare * 100).toFixed(0)} % of them busy with other work at the start\n${tableHead}`,
  )
  for (const name of argument('--only')?.split(',') ?? Object.keys(measures)) {
    for (const line of (await measures[name]?.()) ?? []) {
      lines.push(line)
      process.stdout.write(tableLine(line))
    }
  }
  writeFileSync('bench.json', `${JSON.stringify({ profile, cores: cpus().length, lines }, null, 2)}\n`)
}

/** Say why there is no real broker to measure on, and end, where there is none. */
const needBroker = (): void => {
  const missing = process.env['KAFKA_BROKERS'] === undefined ? missingTool() : null
  if (missing === null) return
  process.stderr.write(`no bench on a real broker: ${missing}\n`)
  process.exit(1)
}

closeOnSignals()
if (process.argv.includes('--help')) process.stdout.write(help)
else if (isOfShapes) {
  needBroker()
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
  needBroker()
  await using shared = await openSharedStores(Number(argument('--brokers') ?? 1))
  const parts = { open: distributedOn(shared), openLimit: distributedLimitOn(shared) }
  await run(wholeMeasures({ name: 'distributed', ...parts, seconds, locations }), 'distributed')
} else {
  const whole = wholeMeasures({
    name: 'embedded',
    open: openEmbedded,
    openLimit: openEmbeddedLimit,
    seconds,
    locations,
  })
  await run({ ...partMeasures, ...whole }, 'embedded')
}
