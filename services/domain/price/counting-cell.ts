import { nextLocalMonth, startOfLocalMonth } from '../civil-time.ts'
import type { Energy } from '../quantity.ts'
import { countingStart, walkStretches } from '../tariff/evaluate.ts'
import type { PriceEra, PricingSnapshot } from '../tariff/snapshot.ts'
import type { TariffDirection, TariffType } from '../tariff/tariff.ts'
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
 * force there to the end of the last cell. Empty where nothing is counted. Source: contract decisions 10.
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

/** Give the bounds of the tiers that are in force at some time in [from, to), of both types, ascending; none stands twice. */
export const tierBounds = (snapshot: PricingSnapshot, direction: TariffDirection, from: number, to: number): readonly Energy[] => {
  const bounds = new Set<Energy>()
  walkStretches(snapshot, direction, from, to, (_start, _end, _era, { tiered, commodity, nonCommodity }) => {
    if (!tiered) return
    for (const tier of commodity) if (tier.to !== null) bounds.add(tier.to)
    for (const tier of nonCommodity) if (tier.to !== null) bounds.add(tier.to)
  })
  return [...bounds].sort((a, b) => (a < b ? -1 : 1))
}
