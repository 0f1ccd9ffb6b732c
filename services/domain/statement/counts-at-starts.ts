import { nextLocalMonth, type TimeZone } from '../civil-time.ts'
import { accumulatorChangesOf } from '../cost/accumulator-changes.ts'
import type { Energy } from '../quantity.ts'
import type { AccumulatorCounts } from '../tariff/accumulator.ts'
import { type CountedRecord, countInOrder } from '../tariff/counting-order.ts'
import { hasTieredPrices, type PricePeriod, type PricingSnapshot, pricePeriodIndex } from '../tariff/snapshot.ts'
import type { TariffDirection } from '../tariff/tariff.ts'
import type { MeteredRecord } from './metered-energy.ts'

/** Record to price by other tariffs. Its id decides the order of records with equal start and end. */
export type RecordToPrice = MeteredRecord & { readonly recordId: string }

/**
 * Counts before a record in the accumulators whose counting start the record reaches, by record. Records without an
 * entry follow all records before them.
 */
export type CountsAtStarts = ReadonlyMap<RecordToPrice, AccumulatorCounts>

/** Create a function that returns the first counting start after an instant. The instants rise. */
const createNextStart = (pricePeriods: readonly PricePeriod[], timeZone: TimeZone): ((at: number) => number) => {
  let next = Number.NEGATIVE_INFINITY
  return at => {
    if (at < next) return next
    const following = pricePeriods[pricePeriodIndex(pricePeriods, at) + 1]?.start ?? Number.POSITIVE_INFINITY
    next = Math.min(following, nextLocalMonth(timeZone, at))
    return next
  }
}

type Entry = CountedRecord & { readonly record: RecordToPrice }

const startKey = (direction: TariffDirection, start: number): string => `${direction} ${start}`

/** Return the entry of a record with its changes in some accumulators; null if it has none. */
const entryOf = (
  snapshot: PricingSnapshot,
  record: RecordToPrice,
  isCounted: (countingStart: number) => boolean,
): Entry | null => {
  const all = accumulatorChangesOf(snapshot, record, record.covered)
  const accumulatorChanges = all.filter(({ countingStart }) => isCounted(countingStart))
  return accumulatorChanges.length === 0 ? null : { record, sortKey: record, accumulatorChanges }
}

/**
 * Count the records at each counting start that a record passes: shorter records that begin there come before it. The
 * records are sorted by start, end and id.
 * Source: docs/rules/tariffs.md #counting-order.
 */
export const countsAtStarts = (snapshot: PricingSnapshot, records: readonly RecordToPrice[]): CountsAtStarts => {
  const directions = (['IMPORT', 'EXPORT', 'LOCAL'] as const).filter(one => hasTieredPrices(snapshot, one))
  if (directions.length === 0) return new Map()
  const nextStarts = new Map(
    directions.map(one => [one, createNextStart(snapshot.directions[one].pricePeriods, snapshot.timeZone)]),
  )
  const passed = new Set<string>()
  const entries: Entry[] = []
  for (const record of records) {
    const { start, end, tariffDirection } = record
    const next = nextStarts.get(tariffDirection)?.(start) ?? Number.POSITIVE_INFINITY
    const entry = end > next ? entryOf(snapshot, record, countingStart => countingStart > start) : null
    if (entry === null) continue
    entries.push(entry)
    for (const { countingStart } of entry.accumulatorChanges) passed.add(startKey(tariffDirection, countingStart))
  }
  if (passed.size === 0) return new Map()
  for (const record of records) {
    const { start, tariffDirection } = record
    if (!passed.has(startKey(tariffDirection, start))) continue
    const entry = entryOf(snapshot, record, countingStart => countingStart === start)
    if (entry !== null) entries.push(entry)
  }
  const { before } = countInOrder(entries)
  const counts = new Map<RecordToPrice, Map<number, Energy>>()
  for (const [{ record }, own] of before) {
    const known = counts.get(record)
    if (known === undefined) counts.set(record, new Map(own))
    else for (const [key, energy] of own) known.set(key, energy)
  }
  return counts
}
