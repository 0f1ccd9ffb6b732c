import { piecesAbout, type RecordLengths } from '../domain/cost/pieces-about.ts'
import type { TariffDirection } from '../domain/tariff/tariff.ts'
import { registerKey } from '../platform/clickhouse/meter-readings.ts'
import { openTurns, type Turns } from '../platform/event-loop-turn.ts'
import type { HeldPricing, PricingAsk, PricingBook } from '../platform/pricing-book.ts'
import { directions } from './lane-group.ts'
import type { LaneRecord } from './settle.ts'
import type { LaneReading, NewestReadings } from './settle-readings.ts'
import type { Step } from './step.ts'

/**
 * An account has records of about so many `pieces` costed in a step, and rows of so many costed again; what is beyond is costed beside the
 * steps, where its records have `perRecord` pieces each at the least.
 */
export type LoadBounds = { readonly pieces: number; readonly perRecord: number }

export const usualLoad: LoadBounds = { pieces: 50_000, perRecord: 2 }

/** Tell about how many edges of prices lie within records of a location. What throws here throws where it is costed, and is put aside there. */
export const edgesAbout = ({ snapshot }: HeldPricing, direction: TariffDirection, lengths: RecordLengths): number => {
  try {
    return piecesAbout(snapshot.directions[direction], lengths)
  } catch {
    return 0
  }
}

/** What a step brings for a location, as far as it tells how long its costing takes. */
type Load = {
  readonly accountId: string
  readonly liveMode: boolean
  /** By place in `directions`, of which the step has records. */
  readonly has: [boolean, boolean, boolean]
  records: number
  from: number
  to: number
  lengthMs: number
  longestMs: number
  /** Readings whose interval may be as long as any. */
  unknown: number
}

const dayMs = 86_400_000
/** The longest interval of a register. */
const maxIntervalMs = 366 * dayMs
/** Prices may change so often a day before they are looked at. */
const assumedPerDay = 1_440
/** So many locations are looked at before the time is. */
const locationsAtOnce = 64

const addRecord = (load: Load, start: number, end: number, direction: TariffDirection): void => {
  const lengthMs = end - start
  load.has[directions.indexOf(direction)] = true
  load.records += 1
  if (start < load.from) load.from = start
  if (end > load.to) load.to = end
  load.lengthMs += lengthMs
  if (lengthMs > load.longestMs) load.longestMs = lengthMs
}

const emptyLoad = (accountId: string, liveMode: boolean): Load => ({
  accountId,
  liveMode,
  has: [false, false, false],
  records: 0,
  from: Number.POSITIVE_INFINITY,
  to: Number.NEGATIVE_INFINITY,
  lengthMs: 0,
  longestMs: 0,
  unknown: 0,
})

/** A reading makes an interval that begins at the one before it; what comes late may lie within one that is as long as any. */
const addReadings = (loads: Map<string, Load>, readings: readonly LaneReading[], newest: NewestReadings): void => {
  const times = new Map<string, number>()
  for (const { row } of readings) {
    const key = registerKey(row)
    const before = times.get(key) ?? newest.get(key)?.time
    const load = loads.get(row.locationId) ?? emptyLoad(row.accountId, row.liveMode)
    loads.set(row.locationId, load)
    const isKnown = before !== undefined && before <= row.time
    if (!isKnown) load.unknown += 1
    addRecord(load, isKnown ? Math.max(before, row.time - maxIntervalMs) : row.time, row.time, row.tariffDirection)
    times.set(key, Math.max(row.time, before ?? row.time))
  }
}

const loadsOf = async ({ records, readings }: Pick<Step, 'records' | 'readings'>, newest: NewestReadings, turns: Turns) => {
  const loads = new Map<string, Load>()
  for (const [locationId, entries] of records) {
    const { accountId, liveMode } = (entries[0] as LaneRecord).part
    const load = emptyLoad(accountId, liveMode)
    for (const { record } of entries) addRecord(load, record.start, record.end, record.tariffDirection)
    loads.set(locationId, load)
    if (loads.size % locationsAtOnce === 0 && turns.isOver()) await turns.next()
  }
  addReadings(loads, readings, newest)
  return loads
}

/** Records of up to a quarter of an hour have few pieces each, and the next step takes fewer where they are many: they are not looked at. */
const shortMs = 900_000

const isShort = ({ records, readings }: Pick<Step, 'records' | 'readings'>): boolean => {
  if (readings.length > 0) return false
  for (const entries of records.values()) {
    for (const { record } of entries) if (record.end - record.start > shortMs) return false
  }
  return true
}

/** Tell about how many pieces the costing of a location's share of a step gives beyond one for each record. */
const piecesOf = (load: Load, held: HeldPricing, most: number): number => {
  let pieces = 0
  for (let index = 0; index < directions.length; index += 1) {
    if (load.has[index] !== true) continue
    const direction = directions[index] as TariffDirection
    pieces = Math.max(pieces, edgesAbout(held, direction, load))
    if (load.unknown === 0) continue
    // Usual prices are no reason to put all first readings of registers behind others.
    const length = { from: load.from - maxIntervalMs, to: load.to, lengthMs: maxIntervalMs, longestMs: maxIntervalMs }
    const interval = edgesAbout(held, direction, length)
    if (interval > most) pieces += load.unknown * interval
  }
  return pieces
}

/** The accounts that may have too many pieces in a step, whatever their prices are. */
const accountsBeyond = (loads: Iterable<Load>, { pieces }: LoadBounds): ReadonlySet<string> => {
  const lengths = new Map<string, number>()
  for (const { accountId, lengthMs, unknown } of loads) {
    lengths.set(accountId, (lengths.get(accountId) ?? 0) + lengthMs + unknown * maxIntervalMs)
  }
  return new Set([...lengths].flatMap(([accountId, lengthMs]) => ((lengthMs / dayMs) * assumedPerDay > pieces ? [accountId] : [])))
}

/** Find the locations whose share of a step is to be costed beside the steps: those beyond what their account has costed in one. */
export const heavyLocations = async (
  step: Pick<Step, 'records' | 'readings'>,
  newest: NewestReadings,
  pricing: Pick<PricingBook, 'gather' | 'held'>,
  bounds: LoadBounds,
): Promise<ReadonlySet<string>> => {
  if (isShort(step)) return new Set()
  const turns = openTurns()
  const loads = await loadsOf(step, newest, turns)
  const accounts = accountsBeyond(loads.values(), bounds)
  const heavy = new Set<string>()
  if (accounts.size === 0) return heavy
  const missing: PricingAsk[] = []
  for (const [locationId, { accountId, liveMode, from }] of loads) {
    if (accounts.has(accountId) && pricing.held(locationId, from) === undefined) missing.push({ accountId, liveMode, locationId, from })
  }
  if (missing.length > 0) await pricing.gather(missing)
  const used = new Map<string, number>()
  let looked = 0
  for (const [locationId, load] of loads) {
    looked += 1
    if (looked % locationsAtOnce === 0 && turns.isOver()) await turns.next()
    const held = accounts.has(load.accountId) ? pricing.held(locationId, load.from) : undefined
    if (held === undefined) continue
    const pieces = piecesOf(load, held, bounds.pieces)
    const all = (used.get(load.accountId) ?? 0) + pieces
    if (all > bounds.pieces && pieces >= bounds.perRecord * load.records) heavy.add(locationId)
    else used.set(load.accountId, all)
  }
  return heavy
}
