import type { ApiVersion } from '../../contract/api-version.ts'
import {
  type EnergyCostEntry,
  type EnergyCostView,
  energyCostRowsToCsv,
  energyCostToCsv,
  energyCostToWire,
  intervalCost,
  sessionCost,
} from '../../contract/costs/energy-cost.ts'
import type { Operation } from '../../contract/operation.ts'
import { type AnswerOffset, answerOffset, zoneOffset } from '../../domain/answer-offset.ts'
import type { TimeZone } from '../../domain/civil-time.ts'
import {
  type CostRow,
  costInBuckets,
  sessionCost as costOfSession,
  type EnergyCostElement,
} from '../../domain/cost/energy-cost.ts'
import type { EnergyFlowDirection } from '../../domain/record/record.ts'
import { overlapSearch } from '../../domain/record/warnings.ts'
import type { TariffDirection } from '../../domain/tariff/tariff.ts'
import { type CostedRow, decodeCostedRows } from '../../platform/clickhouse/meter-cost/meter-cost-rows.ts'
import { type CostSum, costSumsOf } from '../../platform/clickhouse/meter-cost/meter-cost-sums.ts'
import type { WorkResult } from '../../platform/work-thread/work-messages.ts'
import { costRowOf } from '../costs/stored-row.ts'
import { answerTexts, encodeTexts, type LongAnswer } from './answer-bytes.ts'

/**
 * Stored costs between edges as ClickHouse returned them: the sums of each statement, and the rows that cross an edge.
 * A short interval has no sums, and all its rows in `rows`.
 */
export type StoredCosts = {
  readonly edges: readonly number[]
  readonly sums: readonly string[]
  readonly blocks: readonly Uint8Array[]
  readonly rows: readonly CostedRow[]
}

type View = Omit<EnergyCostView, 'entries' | 'deviceRecords'>

/** Format of an answer: a CSV table, or JSON in an API version. */
type AnswerFormat = { readonly apiVersion: ApiVersion; readonly isTable: boolean }

/** Offsets of the instants of an answer: the offset of the zone for buckets, otherwise as `answerOffset` returns. */
export type AnswerOffsets = { readonly zone: TimeZone | null; readonly isBucket: boolean; readonly requested: number }

/** Input of the costs of an interval. */
export type IntervalCostInput = AnswerFormat & {
  readonly view: View
  readonly costs: StoredCosts
  /** Device records of the answer. `excluded`: costs of the excluded device records; null if there are none. */
  readonly devices: {
    readonly isIncluded: boolean
    readonly isMixed: boolean
    readonly excluded: StoredCosts | null
  } | null
  readonly offsets: AnswerOffsets
}

/** Decode blocks of rows. */
const decodeRows = (blocks: readonly Uint8Array[]): readonly CostedRow[] => {
  const rows: CostedRow[] = []
  for (const { buffer, byteOffset, byteLength } of blocks) {
    for (const row of decodeCostedRows(Buffer.from(buffer, byteOffset, byteLength))) rows.push(row)
  }
  return rows
}

const sumElements = ({ edges, sums, blocks, rows }: StoredCosts): EnergyCostElement[] => {
  const whole: CostSum[] = []
  for (const lines of sums) whole.push(...costSumsOf(lines, edges))
  const all: CostRow[] = rows.map(costRowOf)
  for (const row of decodeRows(blocks)) all.push(costRowOf(row))
  return costInBuckets(edges, all, whole)
}

/** Return the energy of the excluded device records, priced or not; null if there are none. */
const excludedEnergy = (stored: StoredCosts | null) => {
  const [sum] = stored === null ? [] : sumElements(stored)
  return sum === undefined || sum.records === 0 ? null : sum.energy + sum.unpricedEnergy
}

/** Maximum number of elements that are written at once. */
const elementsPerChunk = 256

type AnswerToWrite = AnswerFormat & {
  readonly operation: Operation
  readonly view: EnergyCostView
  readonly offsetOf: AnswerOffset
}

function* tableTexts({ view, offsetOf }: AnswerToWrite): Generator<string> {
  yield energyCostToCsv(energyCostToWire({ ...view, entries: [] }, offsetOf))
  for (let from = 0; from < view.entries.length; from += elementsPerChunk) {
    yield energyCostRowsToCsv(
      energyCostToWire({ ...view, entries: view.entries.slice(from, from + elementsPerChunk) }, offsetOf),
    )
  }
}

const write = (answerToWrite: AnswerToWrite): WorkResult => {
  const { operation, apiVersion, isTable, view, offsetOf } = answerToWrite
  const writePart: LongAnswer['write'] = (from, to) =>
    energyCostToWire({ ...view, entries: view.entries.slice(from, to) }, offsetOf)
  const count = view.entries.length
  const texts = isTable
    ? tableTexts(answerToWrite)
    : answerTexts({ operation, apiVersion, count, maxPerStep: elementsPerChunk, write: writePart })
  return { head: null, chunks: encodeTexts(texts) }
}

/** Add up stored costs between edges and write the answer. */
export const intervalCostWork = ({ view, costs, devices, offsets, ...format }: IntervalCostInput): WorkResult => {
  const { zone, isBucket, requested } = offsets
  const offsetOf = isBucket && zone !== null ? zoneOffset(zone) : answerOffset(zone, requested)
  const elements = sumElements(costs)
  const entries = elements.map(element => ({ ...element, sessionReferenceId: null, recordReferenceId: null }))
  const deviceRecords = devices === null ? null : { ...devices, excludedEnergy: excludedEnergy(devices.excluded) }
  return write({ ...format, operation: intervalCost, view: { ...view, entries, deviceRecords }, offsetOf })
}

type MeteredDevice = { readonly deviceId: string | null }

/** Input of the costs of a session. `isByRecord`: one entry per record instead of one entry for the session. */
export type SessionCostInput = AnswerFormat & {
  readonly view: Omit<View, 'objectId' | 'overlap'>
  readonly blocks: readonly Uint8Array[]
  readonly sessionReferenceId: string
  readonly isByRecord: boolean
  readonly flow: { readonly tariffDirection: TariffDirection; readonly energyFlowDirection: EnergyFlowDirection }
  readonly meteredObjects: readonly MeteredDevice[]
  readonly locationId: string
}

/** Return the device of a session if it has exactly one, otherwise the location. */
const objectOf = (meteredObjects: readonly MeteredDevice[], locationId: string): string => {
  const objects = new Set(meteredObjects.map(({ deviceId }) => deviceId))
  const [only] = objects
  return objects.size === 1 && only !== null && only !== undefined ? only : locationId
}

const entriesOf = (rows: readonly CostedRow[], { isByRecord, sessionReferenceId }: SessionCostInput) => {
  const groups = isByRecord ? rows.map(row => [row]) : rows.length === 0 ? [] : [rows]
  const entries: EnergyCostEntry[] = []
  for (const group of groups) {
    const element = costOfSession(group.map(costRowOf))
    const recordReferenceId = isByRecord ? (group[0]?.recordReferenceId ?? null) : null
    if (element !== undefined) entries.push({ ...element, sessionReferenceId, recordReferenceId })
  }
  return entries
}

/** Return the first overlap of the rows of a session, which are ordered by start. */
const overlapOf = (rows: readonly CostedRow[], { locationId, sessionReferenceId }: SessionCostInput) => {
  const search = overlapSearch()
  for (const row of rows) search.add({ ...row, locationId, sessionReferenceId, confidence: row.recordConfidence })
  return search.first()
}

/** Calculate the costs of a session, or of each of its records, and write the answer. */
export const sessionCostWork = (input: SessionCostInput): WorkResult => {
  const { apiVersion, isTable, blocks, flow, meteredObjects, locationId } = input
  const rows = decodeRows(blocks).filter(
    row => row.tariffDirection === flow.tariffDirection && row.energyFlowDirection === flow.energyFlowDirection,
  )
  const entries = entriesOf(rows, input)
  const objectId = objectOf(rows.length > 0 ? rows : meteredObjects, locationId)
  const view = { ...input.view, objectId, overlap: overlapOf(rows, input), entries }
  return write({ apiVersion, isTable, operation: sessionCost, view, offsetOf: () => 0 })
}
