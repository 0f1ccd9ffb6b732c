import type { SharedStores } from '../distributed/shared-stores.ts'
import { type Verdict, verdictUnderKills } from './kills.ts'
import { openShape, type Pipeline } from './pipeline.ts'
import { shapeNames, shapes } from './settings.ts'
import { type Calendar, lagOf, throughputOf } from './treatments.ts'
import { openWattledger } from './wattledger.ts'

/** What one pipeline showed. */
type ShapeFigures = {
  readonly name: string
  readonly recordsPerSecond: number
  readonly lag: { readonly p50: number; readonly p99: number }
  readonly writerKilled: Verdict
  readonly gatewayKilled: Verdict
}

/** `kills`: of the writer, and again of the gateway; `only`: how names of what is measured begin. */
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

const show = async (pipeline: Pipeline, { seconds, kills }: ShapesOptions): Promise<ShapeFigures> => {
  const { name } = pipeline
  const calendar: Calendar = { nextSlot: Date.parse('2025-01-01T00:00:00Z') }
  // The first seconds compile the code and fill the caches.
  await throughputOf(pipeline, calendar, Math.min(seconds, 5))
  const recordsPerSecond = await throughputOf(pipeline, calendar, seconds)
  log(name, `${whole(recordsPerSecond)} records/s`)
  const lag = await lagOf(pipeline, calendar, seconds, Math.max(minPerSecond, recordsPerSecond / 2))
  log(name, `visible after ${lag.p50.toFixed(2)} s, p99 ${lag.p99.toFixed(2)} s`)
  const rate = Math.max(minPerSecond, Math.min(maxPerSecondDuringKills, recordsPerSecond / 2))
  const writerKilled = await verdictUnderKills(pipeline, 'writer', calendar, { kills, rate, seed })
  log(name, `writer killed: ${JSON.stringify(writerKilled)}`)
  const gatewayKilled = await verdictUnderKills(pipeline, 'gateway', calendar, { kills, rate, seed })
  log(name, `gateway killed: ${JSON.stringify(gatewayKilled)}`)
  return { name, recordsPerSecond, lag, writerKilled, gatewayKilled }
}

const verdictCell = ({ missing, doubled, acknowledged, kills, unread }: Verdict): string =>
  `${whole(missing)} / ${whole(doubled)} of ${whole(acknowledged)} (${kills} kills${unread > 0 ? `, ${whole(unread)} messages unread` : ''})`

const rowOf = ({ name, recordsPerSecond, lag, writerKilled, gatewayKilled }: ShapeFigures): string =>
  `| ${[
    name,
    whole(recordsPerSecond),
    `${lag.p50.toFixed(2)} / ${lag.p99.toFixed(2)}`,
    verdictCell(writerKilled),
    verdictCell(gatewayKilled),
  ].join(' | ')} |\n`

const head = `| shape | records/s | visible after s, p50 / p99 | missing / doubled, writer killed | missing / doubled, gateway killed |
| --- | --- | --- | --- | --- |
`

const explained = (): string =>
  shapeNames
    .map(name => `- ${name}: ${shapes[name].gateway}; ${shapes[name].writer}; ${shapes[name].table}.\n`)
    .join('')

/** Measure the shapes and the product, one after the other on one broker; gives Markdown. */
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
    rows.push(rowOf(await show(pipeline, options)))
  }
  return `${head}${rows.join('')}\n${explained()}`
}
