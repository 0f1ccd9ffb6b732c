import { estimatePieceCount, type RecordDurations } from '../../domain/cost/estimate-piece-count.ts'
import type { TariffDirection } from '../../domain/tariff/tariff.ts'
import { registerKey } from '../../platform/clickhouse/readings/meter-readings.ts'
import { startTimeSlices, type TimeSlices } from '../../platform/concurrency/time-slices.ts'
import type { CachedPricing, PricingCache, PricingRequest } from '../../platform/pricing-cache/pricing-cache.ts'
import type { NewestReadings, ReadingToStore } from '../cost-readings.ts'
import type { RecordToCost } from '../record-to-cost.ts'
import { directions } from '../recost/change-set.ts'
import type { Step } from '../step.ts'

/**
 * An account has records of about so many `pieces` costed in a step, and rows of so many costed again; what is beyond is costed beside the
 * steps, where its records have `perRecord` pieces each at the least.
 */
export type LoadLimits = { readonly maxPieces: number; readonly minPiecesPerRecord: number }

export const defaultLoadLimits: LoadLimits = { maxPieces: 50_000, minPiecesPerRecord: 2 }

/** Tell about how many edges of prices lie within records of a location. What throws here throws where it is costed, and is put aside there. */
export const estimateEdges = (
  { snapshot }: CachedPricing,
  direction: TariffDirection,
  lengths: RecordDurations,
): number => {
  try {
    return estimatePieceCount(snapshot.directions[direction], lengths)
  } catch {
    return 0
  }
}

/** What a step brings for a location, as far as it tells how long its costing takes. */
type LocationLoad = {
  readonly accountId: string
  readonly liveMode: boolean
  /** By place in `directions`, of which the step has records. */
  readonly hasDirection: [boolean, boolean, boolean]
  records: number
  from: number
  to: number
  lengthMs: number
  longestMs: number
  /** Readings whose interval may be as long as any. */
  unknownReadings: number
}

const dayMs = 86_400_000
/** The longest interval of a register. */
const maxIntervalMs = 366 * dayMs
/** Prices may change so often a day before they are looked at. */
const assumedPricesPerDay = 1_440
/** So many locations are looked at before the time is. */
const locationsAtOnce = 64

const addRecord = (load: LocationLoad, start: number, end: number, direction: TariffDirection): void => {
  const lengthMs = end - start
  load.hasDirection[directions.indexOf(direction)] = true
  load.records += 1
  if (start < load.from) load.from = start
  if (end > load.to) load.to = end
  load.lengthMs += lengthMs
  if (lengthMs > load.longestMs) load.longestMs = lengthMs
}

const emptyLoad = (accountId: string, liveMode: boolean): LocationLoad => ({
  accountId,
  liveMode,
  hasDirection: [false, false, false],
  records: 0,
  from: Number.POSITIVE_INFINITY,
  to: Number.NEGATIVE_INFINITY,
  lengthMs: 0,
  longestMs: 0,
  unknownReadings: 0,
})

/** A reading makes an interval that begins at the one before it; what comes late may lie within one that is as long as any. */
const addReadings = (
  loads: Map<string, LocationLoad>,
  readings: readonly ReadingToStore[],
  newest: NewestReadings,
): void => {
  const times = new Map<string, number>()
  for (const { row } of readings) {
    const key = registerKey(row)
    const before = times.get(key) ?? newest.get(key)?.time
    const load = loads.get(row.locationId) ?? emptyLoad(row.accountId, row.liveMode)
    loads.set(row.locationId, load)
    const isKnown = before !== undefined && before <= row.time
    if (!isKnown) load.unknownReadings += 1
    addRecord(load, isKnown ? Math.max(before, row.time - maxIntervalMs) : row.time, row.time, row.tariffDirection)
    times.set(key, Math.max(row.time, before ?? row.time))
  }
}

const loadsOf = async (
  { records, readings }: Pick<Step, 'records' | 'readings'>,
  newest: NewestReadings,
  timeSlice: TimeSlices,
) => {
  const loads = new Map<string, LocationLoad>()
  for (const [locationId, entries] of records) {
    const { accountId, liveMode } = (entries[0] as RecordToCost).part
    const load = emptyLoad(accountId, liveMode)
    for (const { record } of entries) addRecord(load, record.start, record.end, record.tariffDirection)
    loads.set(locationId, load)
    if (loads.size % locationsAtOnce === 0 && timeSlice.isOver()) await timeSlice.pause()
  }
  addReadings(loads, readings, newest)
  return loads
}

/** Records of up to a quarter of an hour have few pieces each, and the next step takes fewer where they are many: they are not looked at. */
const shortRecordMs = 900_000

const isShort = ({ records, readings }: Pick<Step, 'records' | 'readings'>): boolean => {
  if (readings.length > 0) return false
  for (const entries of records.values()) {
    for (const { record } of entries) if (record.end - record.start > shortRecordMs) return false
  }
  return true
}

/** Tell about how many pieces the costing of a location's share of a step gives beyond one for each record. */
const estimatePieces = (load: LocationLoad, cachedPricing: CachedPricing, maxPieces: number): number => {
  let pieces = 0
  for (let index = 0; index < directions.length; index += 1) {
    if (load.hasDirection[index] !== true) continue
    const direction = directions[index] as TariffDirection
    pieces = Math.max(pieces, estimateEdges(cachedPricing, direction, load))
    if (load.unknownReadings === 0) continue
    // Usual prices are no reason to put all first readings of registers behind others.
    const length = { from: load.from - maxIntervalMs, to: load.to, lengthMs: maxIntervalMs, longestMs: maxIntervalMs }
    const interval = estimateEdges(cachedPricing, direction, length)
    if (interval > maxPieces) pieces += load.unknownReadings * interval
  }
  return pieces
}

/** The accounts that may have too many pieces in a step, whatever their prices are. */
const accountsOverLimit = (loads: Iterable<LocationLoad>, { maxPieces }: LoadLimits): ReadonlySet<string> => {
  const lengths = new Map<string, number>()
  for (const { accountId, lengthMs, unknownReadings } of loads) {
    lengths.set(accountId, (lengths.get(accountId) ?? 0) + lengthMs + unknownReadings * maxIntervalMs)
  }
  return new Set(
    [...lengths].flatMap(([accountId, lengthMs]) =>
      (lengthMs / dayMs) * assumedPricesPerDay > maxPieces ? [accountId] : [],
    ),
  )
}

/** Find the locations whose share of a step is to be costed beside the steps: those beyond what their account has costed in one. */
export const heavyLocations = async (
  step: Pick<Step, 'records' | 'readings'>,
  newest: NewestReadings,
  pricing: Pick<PricingCache, 'gather' | 'cached'>,
  limits: LoadLimits,
): Promise<ReadonlySet<string>> => {
  if (isShort(step)) return new Set()
  const timeSlice = startTimeSlices()
  const loads = await loadsOf(step, newest, timeSlice)
  const accounts = accountsOverLimit(loads.values(), limits)
  const heavy = new Set<string>()
  if (accounts.size === 0) return heavy
  const missing: PricingRequest[] = []
  for (const [locationId, { accountId, liveMode, from }] of loads) {
    if (accounts.has(accountId) && pricing.cached(locationId, from) === undefined)
      missing.push({ accountId, liveMode, locationId, from })
  }
  if (missing.length > 0) await pricing.gather(missing)
  const used = new Map<string, number>()
  let checked = 0
  for (const [locationId, load] of loads) {
    checked += 1
    if (checked % locationsAtOnce === 0 && timeSlice.isOver()) await timeSlice.pause()
    const cachedPricing = accounts.has(load.accountId) ? pricing.cached(locationId, load.from) : undefined
    if (cachedPricing === undefined) continue
    const pieces = estimatePieces(load, cachedPricing, limits.maxPieces)
    const total = (used.get(load.accountId) ?? 0) + pieces
    if (total > limits.maxPieces && pieces >= limits.minPiecesPerRecord * load.records) heavy.add(locationId)
    else used.set(load.accountId, total)
  }
  return heavy
}
