import { nextLocalMonth } from '../civil-time.ts'
import { accumulatorChangesOf } from '../cost/accumulator-changes.ts'
import type { Interval } from '../interval.ts'
import type { Energy } from '../quantity.ts'
import { type EnergyFlowDirection, recordDefaults } from '../record/record.ts'
import { type AccumulatorChange, type AccumulatorCounts, accumulatorKey } from '../tariff/accumulator.ts'
import type { ChangeSet, VersionedRecord } from './change-set.ts'
import { estimateCoverage } from './estimate-coverage.ts'

/**
 * Energy that was counted before a row range begins at `until` (ms).
 * Rows that start at `until` or later are all known. `counted` contains the energy of the earlier rows, for
 * accumulators that begin before `until`.
 */
export type Prefix = { readonly until: number; readonly counted: AccumulatorCounts }

/** Energy of rows that lie completely within an interval, in 1e-6 Wh. */
export type IntervalEnergy = Interval & { readonly energyFlowDirection: EnergyFlowDirection; readonly energy: Energy }

/** Add the energy of changes to their accumulators. */
export const addChanges = (counts: Map<number, Energy>, changes: readonly AccumulatorChange[]): void => {
  for (const { type, direction, countingStart, before, after } of changes) {
    const key = accumulatorKey(type, direction, countingStart)
    counts.set(key, (counts.get(key) ?? 0n) + after - before)
  }
}

/** Subtract the energy of changes from their accumulators. */
export const subtractChanges = (counts: Map<number, Energy>, changes: readonly AccumulatorChange[]): void => {
  for (const { type, direction, countingStart, before, after } of changes) {
    const key = accumulatorKey(type, direction, countingStart)
    counts.set(key, (counts.get(key) ?? 0n) - after + before)
  }
}

/**
 * Return the instants strictly between two others at which an accumulator can begin or end: starts of local months and
 * of price periods.
 * They are in ascending order and unique.
 */
export const accumulatorEdgesBetween = (
  { prices: { snapshot }, direction }: Pick<ChangeSet, 'prices' | 'direction'>,
  from: number,
  to: number,
): readonly number[] => {
  const edges = new Set<number>()
  for (let at = nextLocalMonth(snapshot.timeZone, from); at < to; at = nextLocalMonth(snapshot.timeZone, at))
    edges.add(at)
  for (const pricePeriod of snapshot.directions[direction].pricePeriods)
    if (pricePeriod.start > from && pricePeriod.start < to) edges.add(pricePeriod.start)
  return [...edges].sort((a, b) => a - b)
}

/**
 * Calculate the counted energy of rows whose sums alone are known.
 * No accumulator may begin or end within an interval. All energy of an interval then counts like one record.
 */
export const countedEnergyWithin = (
  { prices: { snapshot }, locationId, direction }: Pick<ChangeSet, 'prices' | 'direction' | 'locationId'>,
  energies: readonly IntervalEnergy[],
): Map<number, Energy> => {
  const counted = new Map<number, Energy>()
  for (const { start, end, energyFlowDirection, energy } of energies) {
    if (energy === 0n) continue
    const record = {
      locationId,
      deviceId: null,
      energyFlowDirection,
      tariffDirection: direction,
      start,
      end,
      energy,
      ...recordDefaults,
    }
    addChanges(counted, accumulatorChangesOf(snapshot, record))
  }
  return counted
}

/**
 * Calculate the counted energy of some records of a location.
 * `entries` contains all records that can cover their estimates; `isCounted` selects the records to count.
 */
export const countedEnergyOf = <Entry extends VersionedRecord>(
  { prices: { snapshot } }: Pick<ChangeSet, 'prices'>,
  entries: readonly Entry[],
  isCounted: (entry: Entry) => boolean,
): ReadonlyMap<number, Energy> => {
  const coverage = estimateCoverage(
    entries.map(entry => ({ entry, isNew: false })),
    [],
  )
  const counted = new Map<number, Energy>()
  for (const entry of entries)
    if (isCounted(entry)) addChanges(counted, accumulatorChangesOf(snapshot, entry.record, coverage.covered(entry)))
  return counted
}
