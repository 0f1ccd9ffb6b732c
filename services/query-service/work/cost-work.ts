import {
  type EnergyCostEntry,
  type EnergyCostView,
  energyCostRowsToCsv,
  energyCostToCsv,
  energyCostToWire,
  intervalCost,
  sessionCost,
} from '../../contract/energy-cost.ts'
import type { Layout } from '../../contract/layout.ts'
import type { Operation } from '../../contract/operation.ts'
import { type AnswerOffset, answerOffset, zoneOffset } from '../../domain/answer-offset.ts'
import type { TimeZone } from '../../domain/civil-time.ts'
import { type CostRow, costBetweenInSteps, sessionCost as costOfSession, type EnergyCostElement } from '../../domain/cost/energy-cost.ts'
import type { EnergyFlowDirection } from '../../domain/record/record.ts'
import type { TariffDirection } from '../../domain/tariff/tariff.ts'
import type { MeterCostRow } from '../../platform/clickhouse/meter-cost-row.ts'
import { decodeMeterCostRows } from '../../platform/clickhouse/meter-cost-rows.ts'
import { type CostSum, costSumsOf } from '../../platform/clickhouse/meter-cost-sums.ts'
import type { PausableWork } from '../../platform/work-thread/work-messages.ts'
import { costRowOf } from '../costs/cost-row.ts'
import { answerTexts, bytesOf, type LongAnswer } from './answer-bytes.ts'

/** Stored costs between edges as the engine gave them: the sums of each statement, and the rows that cross an edge. */
export type StoredCosts = { readonly edges: readonly number[]; readonly sums: readonly string[]; readonly blocks: readonly Uint8Array[] }

type View = Omit<EnergyCostView, 'entries' | 'deviceRecords'>

/** How an answer is written: as a table or as JSON in a layout. */
type Form = { readonly layout: Layout; readonly isTable: boolean }

/** In which offset instants are written: of a zone at each instant, or as `answerOffset` says. */
export type WrittenOffsets = { readonly zone: TimeZone | null; readonly isBucket: boolean; readonly requested: number }

export type IntervalCostInput = Form & {
  readonly view: View
  readonly costs: StoredCosts
  /** What is told of the records of devices; `excluded`: those that are left out, if any may be. */
  readonly devices: { readonly isIncluded: boolean; readonly isMixed: boolean; readonly excluded: StoredCosts | null } | null
  readonly offsets: WrittenOffsets
}

/** Decode blocks of rows, with a pause after each. */
function* rowsOf(blocks: readonly Uint8Array[]): Generator<undefined, readonly MeterCostRow[]> {
  const rows: MeterCostRow[] = []
  for (const { buffer, byteOffset, byteLength } of blocks) {
    for (const row of decodeMeterCostRows(Buffer.from(buffer, byteOffset, byteLength))) rows.push(row)
    yield undefined
  }
  return rows
}

function* elementsOf({ edges, sums, blocks }: StoredCosts): Generator<undefined, EnergyCostElement[]> {
  const whole: CostSum[] = []
  for (const lines of sums) whole.push(...(yield* costSumsOf(lines, edges)))
  const rows: CostRow[] = []
  for (const row of yield* rowsOf(blocks)) rows.push(costRowOf(row))
  return yield* costBetweenInSteps(edges, rows, whole)
}

/** Energy of the records of devices that a span leaves out, priced or not; null if there are none. */
function* excludedEnergy(stored: StoredCosts | null) {
  const [sum] = stored === null ? [] : yield* elementsOf(stored)
  return sum === undefined || sum.records === 0 ? null : sum.energy + sum.unpricedEnergy
}

/** So many elements are written without a pause. */
const elementsAtOnce = 256

type Writing = Form & { readonly operation: Operation; readonly view: EnergyCostView; readonly offsetOf: AnswerOffset }

function* tableTexts({ view, offsetOf }: Writing): Generator<string> {
  yield energyCostToCsv(energyCostToWire({ ...view, entries: [] }, offsetOf))
  for (let from = 0; from < view.entries.length; from += elementsAtOnce) {
    yield energyCostRowsToCsv(energyCostToWire({ ...view, entries: view.entries.slice(from, from + elementsAtOnce) }, offsetOf))
  }
}

function* write(writing: Writing): PausableWork {
  const { operation, layout, isTable, view, offsetOf } = writing
  yield { head: null }
  if (isTable) {
    yield* bytesOf(tableTexts(writing))
    return
  }
  const part: LongAnswer['write'] = (from, to) => energyCostToWire({ ...view, entries: view.entries.slice(from, to) }, offsetOf)
  yield* bytesOf(answerTexts({ operation, layout, count: view.entries.length, atATime: elementsAtOnce, write: part }))
}

/** Add up stored costs between edges, and write the answer. */
export function* intervalCostWork({ view, costs, devices, offsets, ...form }: IntervalCostInput): PausableWork {
  const { zone, isBucket, requested } = offsets
  const offsetOf = isBucket && zone !== null ? zoneOffset(zone) : answerOffset(zone, requested)
  const elements = yield* elementsOf(costs)
  const entries = elements.map(element => ({ ...element, sessionReferenceId: null, recordReferenceId: null }))
  const deviceRecords = devices === null ? null : { ...devices, excludedEnergy: yield* excludedEnergy(devices.excluded) }
  yield* write({ ...form, operation: intervalCost, view: { ...view, entries, deviceRecords }, offsetOf })
}

type Place = { readonly deviceId: string | null }

export type SessionCostInput = Form & {
  readonly view: Omit<View, 'objectId'>
  readonly blocks: readonly Uint8Array[]
  readonly sessionReferenceId: string
  readonly isByRecord: boolean
  readonly flow: { readonly tariffDirection: TariffDirection; readonly energyFlowDirection: EnergyFlowDirection }
  readonly places: readonly Place[]
  readonly locationId: string
}

/** The device of a session if there is exactly one, else the location. */
const objectOf = (places: readonly Place[], locationId: string): string => {
  const objects = new Set(places.map(({ deviceId }) => deviceId))
  const [only] = objects
  return objects.size === 1 && only !== null && only !== undefined ? only : locationId
}

function* entriesOf(rows: readonly MeterCostRow[], { isByRecord, sessionReferenceId }: SessionCostInput) {
  const groups = isByRecord ? rows.map(row => [row]) : rows.length === 0 ? [] : [rows]
  const entries: EnergyCostEntry[] = []
  for (const group of groups) {
    const element = costOfSession(group.map(costRowOf))
    const recordReferenceId = isByRecord ? (group[0]?.recordReferenceId ?? null) : null
    if (element !== undefined) entries.push({ ...element, sessionReferenceId, recordReferenceId })
    yield undefined
  }
  return entries
}

/** Add up the records of a session, or give each, and write the answer. */
export function* sessionCostWork(input: SessionCostInput): PausableWork {
  const { layout, isTable, blocks, flow, places, locationId } = input
  const rows = (yield* rowsOf(blocks)).filter(
    row => row.tariffDirection === flow.tariffDirection && row.energyFlowDirection === flow.energyFlowDirection,
  )
  const entries = yield* entriesOf(rows, input)
  const view = { ...input.view, objectId: objectOf(rows.length > 0 ? rows : places, locationId), entries }
  yield* write({ layout, isTable, operation: sessionCost, view, offsetOf: () => 0 })
}
