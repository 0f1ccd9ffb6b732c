import { dayMs } from '../../domain/interval.ts'
import { maxRecordMs } from '../../domain/record/validate-record.ts'
import { directions } from '../../domain/recost/change-set.ts'
import { estimateEdges, type LoadLimits } from '../../domain/recost/recost-load.ts'
import type { TariffDirection } from '../../domain/tariff/tariff.ts'
import type { Tenant } from '../../domain/tenant.ts'
import { registerKey } from '../../platform/clickhouse/readings/meter-readings.ts'
import { startTimeSlices, type TimeSlices } from '../../platform/concurrency/time-slices.ts'
import type { CachedPricing, PricingCache, PricingRequest } from '../../platform/pricing-cache/pricing-cache.ts'
import type { NewestReadings, ReadingToStore } from '../cost-readings.ts'
import type { RecordToCost } from '../record-to-cost.ts'
import type { Step } from '../step.ts'

/** Records of one location in a step, as far as they affect the time to cost them. */
type LocationLoad = Tenant & {
  /** For each of `directions`, whether the step has records in it. */
  readonly hasDirection: [boolean, boolean, boolean]
  records: number
  from: number
  to: number
  lengthMs: number
  longestMs: number
  /** Readings whose interval can have any length. */
  unknownReadings: number
}

/** Price changes per day to assume while the prices are unknown. */
const assumedPricesPerDay = 1_440
/** Locations that are examined between two checks of the time slice. */
const locationsPerCheck = 64

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

/**
 * Add the intervals of readings. An interval begins at the reading before; a late reading can lie in an interval of any
 * length.
 */
const addReadings = (
  loads: Map<string, LocationLoad>,
  readings: readonly ReadingToStore[],
  newest: NewestReadings,
): void => {
  const times = new Map<string, number>()
  for (const { row } of readings) {
    const key = registerKey(row)
    const before = times.get(key) ?? newest.get(key)?.readings[0]?.time
    const load = loads.get(row.locationId) ?? emptyLoad(row.accountId, row.liveMode)
    loads.set(row.locationId, load)
    const isKnown = before !== undefined && before <= row.time
    if (!isKnown) load.unknownReadings += 1
    addRecord(load, isKnown ? Math.max(before, row.time - maxRecordMs) : row.time, row.time, row.tariffDirection)
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
    if (loads.size % locationsPerCheck === 0 && timeSlice.isOver()) await timeSlice.pause()
  }
  addReadings(loads, readings, newest)
  return loads
}

/**
 * Records of up to 15 min have few pieces each. If they have many, the next step takes fewer bytes (`nextStepBytes`).
 */
const shortRecordMs = 900_000

const isShort = ({ records, readings }: Pick<Step, 'records' | 'readings'>): boolean => {
  if (readings.length > 0) return false
  for (const entries of records.values()) {
    for (const { record } of entries) if (record.end - record.start > shortRecordMs) return false
  }
  return true
}

/** Estimate the cost pieces of a location's records, without the first piece of each record. */
const estimatePieces = (load: LocationLoad, cachedPricing: CachedPricing, maxPieces: number): number => {
  let pieces = 0
  for (let index = 0; index < directions.length; index += 1) {
    if (load.hasDirection[index] !== true) continue
    const direction = directions[index] as TariffDirection
    pieces = Math.max(pieces, estimateEdges(cachedPricing, direction, load))
    if (load.unknownReadings === 0) continue
    // First readings of registers become slow work only if their prices are unusual.
    const length = { from: load.from - maxRecordMs, to: load.to, lengthMs: maxRecordMs, longestMs: maxRecordMs }
    const interval = estimateEdges(cachedPricing, direction, length)
    if (interval > maxPieces) pieces += load.unknownReadings * interval
  }
  return pieces
}

/** Return the accounts that could exceed the limit of pieces with the assumed prices. */
const accountsOverLimit = (loads: Iterable<LocationLoad>, { maxPieces }: LoadLimits): ReadonlySet<string> => {
  const lengths = new Map<string, number>()
  for (const { accountId, lengthMs, unknownReadings } of loads) {
    lengths.set(accountId, (lengths.get(accountId) ?? 0) + lengthMs + unknownReadings * maxRecordMs)
  }
  return new Set(
    [...lengths].flatMap(([accountId, lengthMs]) =>
      (lengthMs / dayMs) * assumedPricesPerDay > maxPieces ? [accountId] : [],
    ),
  )
}

/** Return the locations whose part of a step is slow work: those above the limit of their account. */
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
  let examined = 0
  for (const [locationId, load] of loads) {
    examined += 1
    if (examined % locationsPerCheck === 0 && timeSlice.isOver()) await timeSlice.pause()
    const cachedPricing = accounts.has(load.accountId) ? pricing.cached(locationId, load.from) : undefined
    if (cachedPricing === undefined) continue
    const pieces = estimatePieces(load, cachedPricing, limits.maxPieces)
    const total = (used.get(load.accountId) ?? 0) + pieces
    if (total > limits.maxPieces && pieces >= limits.minPiecesPerRecord * load.records) heavy.add(locationId)
    else used.set(load.accountId, total)
  }
  return heavy
}
