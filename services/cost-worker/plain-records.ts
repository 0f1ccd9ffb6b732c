import { onlyPriceOf } from '../domain/cost/cost-record.ts'
import { timesNanoSmall } from '../domain/quantity.ts'
import type { PlainRows } from '../platform/clickhouse/encoding/fast-path/plain-rows.ts'
import { startTimeSlices } from '../platform/concurrency/time-slices.ts'
import type { CachedPricing, PricingCache } from '../platform/pricing-cache/pricing-cache.ts'
import { type ColumnLocation, objectTimeOfRow, partOf, type RecordColumns } from '../record-bytes/record-columns.ts'
import type { CorrectionFinder, ObjectTime } from './correction-finder.ts'
import type { EstimateIndex } from './estimate-index.ts'
import { type MessageOrigin, sourcesOf } from './record-to-cost.ts'

/** Message of a chunk, with the version and the source version of its first record. */
export type ChunkSource = {
  readonly firstVersion: bigint
  readonly firstSourceVersion: bigint
  readonly origin: MessageOrigin
}

/** Records of a step in columns. */
export type StepColumns = RecordColumns<ChunkSource>

/** Caches of the worker that decide without a store whether a record is plain. */
export type PlainContext = {
  readonly pricing: Pick<PricingCache, 'cached'>
  readonly estimates: Pick<EstimateIndex, 'isLoaded' | 'has'>
  readonly corrections: Pick<CorrectionFinder, 'occupyIfFree'>
}

/** Rows that are examined between two checks of the time slice. */
const rowsPerCheck = 64

type PlainDraft = PlainRows & {
  readonly rows: number[]
  readonly pricings: (CachedPricing | undefined)[]
  readonly tariffIds: (readonly string[])[]
  readonly sourceIds: (readonly string[])[]
}

/** Return the only price of a row. If pricing throws, it throws again for the object, which becomes poison. */
const tryOnlyPriceOf = ({ snapshot }: CachedPricing, object: ObjectTime): ReturnType<typeof onlyPriceOf> => {
  try {
    return onlyPriceOf(snapshot, object.tariffDirection, object)
  } catch {
    return undefined
  }
}

/** Price a row. Returns false if the row has no only price, or its cost is too large for a double. */
const priceRow = (draft: PlainDraft, row: number, object: ObjectTime, pricing: CachedPricing): boolean => {
  const only = tryOnlyPriceOf(pricing, object)
  if (only === undefined) return false
  const price = Number(only.price)
  if (!Number.isSafeInteger(price)) return false
  const cost = timesNanoSmall(draft.records.energy[row] as number, price)
  if (Number.isNaN(cost)) return false
  draft.price[row] = price
  draft.cost[row] = cost
  draft.confidence[row] = only.confidence
  draft.tariffIds[row] = only.pricePeriod.tariffIds
  draft.sourceIds[row] = sourcesOf(pricing, object.tariffDirection)
  return true
}

/** Cost the records of a location. Returns false if they need objects. */
const costLocation = (
  draft: PlainDraft,
  index: number,
  { pricing, estimates, corrections }: PlainContext,
  isExcluded: (object: ObjectTime) => boolean,
): boolean => {
  const { records } = draft
  const location = records.locations[index] as ColumnLocation
  const { next, start } = records
  let from = Number.POSITIVE_INFINITY
  for (let row = location.first; row >= 0; row = next[row] as number) from = Math.min(from, start[row] as number)
  const cached = pricing.cached(location.id, from)
  if (cached === undefined) return false
  const times: ObjectTime[] = []
  for (let row = location.first; row >= 0; row = next[row] as number) {
    const object = objectTimeOfRow(records, row)
    if (isExcluded(object) || estimates.has(object) || !priceRow(draft, row, object, cached)) return false
    times.push(object)
  }
  for (const object of times) if (!corrections.occupyIfFree(object)) return false
  for (let row = location.first; row >= 0; row = next[row] as number) draft.rows.push(row)
  draft.pricings[index] = cached
  return true
}

/**
 * Cost the plain records of a step without objects: actual records of known objects, in time that is free, at one price
 * without tiers. It never waits for a store. All records of any other location need objects: its `isPlain` becomes
 * false. Returns null if no location is plain.
 */
export const costPlainRecords = async (
  records: StepColumns,
  context: PlainContext,
  isExcluded: (object: ObjectTime) => boolean,
): Promise<PlainRows | null> => {
  const { count, locations } = records
  const draft: PlainDraft = {
    records,
    rows: [],
    pricings: new Array(locations.length).fill(undefined),
    price: new Float64Array(count),
    cost: new Float64Array(count),
    confidence: new Uint32Array(count),
    tariffIds: new Array(count).fill([]),
    sourceIds: new Array(count).fill([]),
  }
  const timeSlice = startTimeSlices()
  const isLoaded = context.estimates.isLoaded()
  let unchecked = 0
  for (const [index, location] of locations.entries()) {
    unchecked += location.count
    if (unchecked >= rowsPerCheck) {
      if (timeSlice.isOver()) await timeSlice.pause()
      unchecked = 0
    }
    location.isPlain &&= isLoaded && location.first >= 0 && costLocation(draft, index, context, isExcluded)
  }
  return draft.rows.length === 0 ? null : draft
}

/** Return the partition of each location of plain rows. */
export const plainPartitions = (plain: PlainRows | null, records: StepColumns): ReadonlyMap<string, number> => {
  const partitions = new Map<string, number>()
  if (plain === null) return partitions
  for (const { id, first, isPlain } of records.locations)
    if (isPlain) partitions.set(id, partOf(records, first).source.origin.assignment.partition)
  return partitions
}
