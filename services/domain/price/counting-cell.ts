import { nextLocalMonth, startOfLocalMonth } from '../civil-time.ts'
import type { Energy } from '../quantity.ts'
import { countingStart } from '../tariff/evaluate.ts'
import type { PriceEra, PricingSnapshot } from '../tariff/snapshot.ts'
import type { TariffDirection, TariffType } from '../tariff/tariff.ts'
import type { Terms } from '../tariff/terms.ts'
import { countingStartOf, tierKey } from '../tariff/tier-count.ts'

/** A half-open span in which the energy of a direction goes to the same accumulators, given by `tierKey`. */
export type CountingCell = { readonly start: number; readonly end: number; readonly keys: readonly number[] }

const bothTypes: readonly TariffType[] = ['COMMODITY', 'NON_COMMODITY']

const tariffOf = (era: PriceEra, type: TariffType): string | null => (type === 'COMMODITY' ? era.commodityId : era.nonCommodityId)

/** The parts of a local month in which the eras, and so the accumulators, do not change. */
const cellsOfMonth = (snapshot: PricingSnapshot, direction: TariffDirection, start: number, end: number): readonly CountingCell[] => {
  const { eras, tiered } = snapshot.directions[direction]
  return eras
    .filter(era => era.from < end && era.to > start)
    .map(era => ({
      start: Math.max(start, era.from),
      end: Math.min(end, era.to),
      keys: bothTypes
        .filter(type => tiered[type] && tariffOf(era, type) !== null)
        .map(type => tierKey(type, direction, countingStart(era, type, start))),
    }))
}

const isAlike = (a: CountingCell, b: CountingCell): boolean => a.keys.join() === b.keys.join()

/** Join cells that follow each other and count alike, so that a record which passes from one to the next is whole. */
const joined = (cells: readonly CountingCell[]): readonly CountingCell[] => {
  const list: CountingCell[] = []
  for (const cell of cells) {
    const last = list.at(-1)
    if (last !== undefined && isAlike(last, cell)) list[list.length - 1] = { ...last, end: cell.end }
    else list.push(cell)
  }
  return list
}

/**
 * Give the cells whose energy can decide on the tiers of [from, to): without a gap, from the counting start of the first accumulator in
 * force there to the end of the last cell. Empty where nothing is counted. Source: docs/rules/tariffs.md #tiers.
 */
export const countingCells = (snapshot: PricingSnapshot, direction: TariffDirection, from: number, to: number): readonly CountingCell[] => {
  const cells: CountingCell[] = []
  for (let month = startOfLocalMonth(snapshot.timeZone, from); month < to; ) {
    const next = nextLocalMonth(snapshot.timeZone, month)
    cells.push(...cellsOfMonth(snapshot, direction, month, next))
    month = next
  }
  const inForce = cells.filter(cell => cell.start < to && cell.end > from).flatMap(({ keys }) => keys)
  if (inForce.length === 0) return []
  const first = Math.min(...inForce.map(countingStartOf))
  return joined(cells.filter(cell => cell.end > first && cell.start < to))
}

/** The bounds of all tiers of a schedule. */
const scheduleBounds = new WeakMap<Terms, readonly Energy[]>()

const boundsOf = (terms: Terms): readonly Energy[] => {
  const known = scheduleBounds.get(terms)
  if (known !== undefined) return known
  const rates = terms.schedule.flatMap(({ daysAndHours }) => daysAndHours.flatMap(({ hours }) => hours.flatMap(({ rate }) => rate)))
  const bounds = [...new Set(rates.map(({ to }) => to).filter(to => to !== null))]
  scheduleBounds.set(terms, bounds)
  return bounds
}

/**
 * Give the bounds of the tiers that may be in force at some time in [from, to), of both types, ascending; none stands twice.
 * They are those of the whole schedules that are in force then: the time for this does not grow with the span.
 */
export const tierBounds = (snapshot: PricingSnapshot, direction: TariffDirection, from: number, to: number): readonly Energy[] => {
  const eras = snapshot.directions[direction].eras.filter(era => era.from < to && era.to > from)
  const terms = new Set(eras.flatMap(({ plan }) => [plan.commodity, plan.nonCommodity]).filter(one => one !== null))
  return [...new Set([...terms].flatMap(boundsOf))].sort((a, b) => (a < b ? -1 : 1))
}
