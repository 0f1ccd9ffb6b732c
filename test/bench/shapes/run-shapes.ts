import type { SharedStores } from '../distributed/shared-stores.ts'
import { type Verdict, verdictUnderKills } from './kills.ts'
import { openShape, type Pipeline } from './pipeline.ts'
import { shapeNames, shapes } from './settings.ts'
import { type FreeSlots, lagOf, throughputOf } from './throughput-and-lag.ts'
import { openWattledger } from './wattledger.ts'

/** Figures of one pipeline. */
type ShapeFigures = {
  readonly name: string
  readonly recordsPerSecond: number
  readonly lag: { readonly p50: number; readonly p99: number }
  readonly writerKilled: Verdict
  readonly gatewayKilled: Verdict
}

/** `kills` of the writer, and as many of the gateway. Only pipelines are measured whose names start with `only`. */
export type ShapesOptions = {
  readonly seconds: number
  readonly kills: number
  readonly locations: number
  readonly only: string
}

const maxPerSecondDuringKills = 5_000
const minPerSecond = 50
const seed = 7

const whole = (value: number): string => Math.round(value).toLocaleString('en')

const log = (name: string, what: string): boolean => process.stderr.write(`${name}: ${what}\n`)

const measurePipeline = async (pipeline: Pipeline, { seconds, kills }: ShapesOptions): Promise<ShapeFigures> => {
  const { name } = pipeline
  const freeSlots: FreeSlots = { nextSlot: Date.parse('2025-01-01T00:00:00Z') }
  // The code is compiled and the caches are filled before the measurements.
  await throughputOf(pipeline, freeSlots, Math.min(seconds, 5))
  const recordsPerSecond = await throughputOf(pipeline, freeSlots, seconds)
  log(name, `${whole(recordsPerSecond)} records/s`)
  const lag = await lagOf(pipeline, freeSlots, seconds, Math.max(minPerSecond, recordsPerSecond / 2))
  log(name, `visible after ${lag.p50.toFixed(2)} s, p99 ${lag.p99.toFixed(2)} s`)
  const rate = Math.max(minPerSecond, Math.min(maxPerSecondDuringKills, recordsPerSecond / 2))
  const writerKilled = await verdictUnderKills(pipeline, 'writer', freeSlots, { kills, rate, seed })
  log(name, `writer killed: ${JSON.stringify(writerKilled)}`)
  const gatewayKilled = await verdictUnderKills(pipeline, 'gateway', freeSlots, { kills, rate, seed })
  log(name, `gateway killed: ${JSON.stringify(gatewayKilled)}`)
  return { name, recordsPerSecond, lag, writerKilled, gatewayKilled }
}

const verdictCell = ({ missing, duplicates, acknowledged, kills, unread }: Verdict): string => {
  const unreadText = unread > 0 ? `, ${whole(unread)} messages unread` : ''
  return `${whole(missing)} / ${whole(duplicates)} of ${whole(acknowledged)} (${kills} kills${unreadText})`
}

const rowOf = ({ name, recordsPerSecond, lag, writerKilled, gatewayKilled }: ShapeFigures): string =>
  `| ${[
    name,
    whole(recordsPerSecond),
    `${lag.p50.toFixed(2)} / ${lag.p99.toFixed(2)}`,
    verdictCell(writerKilled),
    verdictCell(gatewayKilled),
  ].join(' | ')} |\n`

const columns = [
  'shape',
  'records/s',
  'visible after s, p50 / p99',
  'missing / duplicate, writer killed',
  'missing / duplicate, gateway killed',
]
const head = `| ${columns.join(' | ')} |\n|${' --- |'.repeat(columns.length)}\n`

const descriptions = (): string =>
  shapeNames
    .map(name => `- ${name}: ${shapes[name].gateway}; ${shapes[name].writer}; ${shapes[name].table}.\n`)
    .join('')

/** Measure the shapes and the product one after the other on one broker. Returns Markdown. */
export const shapesTable = async (shared: SharedStores, options: ShapesOptions): Promise<string> => {
  const { locations } = options
  const rows: string[] = []
  const opens = [
    ...shapeNames.map(name => [name, () => openShape(shared, name, locations)] as const),
    ['Wattledger', () => openWattledger(shared, locations)] as const,
  ]
  for (const [name, open] of opens) {
    if (!name.startsWith(options.only)) continue
    await using pipeline = await open()
    rows.push(rowOf(await measurePipeline(pipeline, options)))
  }
  return `${head}${rows.join('')}\n${descriptions()}`
}
