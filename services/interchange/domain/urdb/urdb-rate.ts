import type { Fraction } from '../../../domain/fraction.ts'
import { noSurcharges, type Rate, type Surcharges } from '../../../domain/tariff/rate.ts'
import type { NotImportedReason } from '../report.ts'
import {
  elementsAt,
  fractionAt,
  isAbsent,
  isSourceList,
  isSourceObject,
  memberAt,
  pointer,
  type SourceField,
  type SourceValue,
  sourceFault,
  textAt,
  wholeNumberAt,
} from '../source-value.ts'
import { priceOf, sum, toNano } from '../tariff-file.ts'

/** Tier of a period of a rate structure. `rate` is the sum of rate and adj; null if both are absent. */
export type UrdbTier = {
  readonly max: SourceField
  readonly rate: Fraction | null
  readonly sell: SourceField
  readonly unit: SourceField
}

/** Reason to leave out a tariff or a charge, with its sourceField. */
export type Objection = { readonly path: string; readonly reason: NotImportedReason; readonly message: string }

export const maxPeriods = 100
const maxTiers = 32
const hoursPerDay = 24
const monthsPerYear = 12

/** Read the periods of a rate structure, with their tiers. */
export const readPeriods = (structure: SourceField): readonly (readonly UrdbTier[])[] =>
  elementsAt(structure, maxPeriods).map(period =>
    elementsAt(period, maxTiers).map(tier => {
      const [rate, adj] = [memberAt(tier, 'rate'), memberAt(tier, 'adj')]
      return {
        max: memberAt(tier, 'max'),
        rate: isAbsent(rate) && isAbsent(adj) ? null : sum(fractionAt(rate), fractionAt(adj)),
        sell: memberAt(tier, 'sell'),
        unit: memberAt(tier, 'unit'),
      }
    }),
  )

/** Periods by month and hour, of weekdays and of weekends. */
export type UrdbSchedule = {
  readonly weekday: readonly (readonly number[])[]
  readonly weekend: readonly (readonly number[])[]
}

const readGrid = (grid: SourceField): readonly (readonly number[])[] => {
  const months = elementsAt(grid, monthsPerYear).map(month =>
    elementsAt(month, hoursPerDay).map(hour => wholeNumberAt(hour, 0, 1_000_000) ?? 0),
  )
  if (months.length !== monthsPerYear || months.some(({ length }) => length !== hoursPerDay))
    throw sourceFault(grid.path, 'must have 12 months of 24 hours')
  return months
}

/** Read a schedule of 12 months and 24 hours. An absent weekend equals the weekdays; null if both are absent. */
export const readSchedule = (weekday: SourceField, weekend: SourceField): UrdbSchedule | null => {
  if (isAbsent(weekday) && isAbsent(weekend)) return null
  const given = isAbsent(weekday) ? weekend : weekday
  return { weekday: readGrid(given), weekend: readGrid(isAbsent(weekend) ? given : weekend) }
}

/** Schedule in which the first period applies at all times. */
export const alwaysFirst: UrdbSchedule = {
  weekday: Array.from({ length: monthsPerYear }, () => Array.from({ length: hoursPerDay }, () => 0)),
  weekend: Array.from({ length: monthsPerYear }, () => Array.from({ length: hoursPerDay }, () => 0)),
}

/** Return the periods that a schedule names. */
export const namedPeriods = ({ weekday, weekend }: UrdbSchedule): ReadonlySet<number> =>
  new Set([...weekday, ...weekend].flat())

/** Object to the tiers of a period that a schedule names; null if there is no reason. `units`: accepted units. */
export const objectToTiers = (
  tiers: readonly UrdbTier[] | undefined,
  {
    structure,
    period,
    units,
    unitReason,
  }: {
    readonly structure: string
    readonly period: number
    readonly units: readonly string[]
    readonly unitReason: NotImportedReason
  },
): Objection | null => {
  if (tiers === undefined || tiers.length === 0) {
    const message = `The schedule names period ${period}, which ${structure} does not have.`
    return { path: structure, reason: 'period_missing', message }
  }
  for (const { unit, rate } of tiers) {
    const text = textAt(unit)
    if (text !== null && !units.includes(text))
      return { path: unit.path, reason: unitReason, message: `The unit is not ${units[0]}.` }
    if (rate === null) {
      const message = `A tier of period ${period} has neither rate nor adj.`
      return { path: structure, reason: 'tier_without_rate', message }
    }
  }
  return null
}

/** Read the upper bounds of tiers in 1e-9 of their unit, rising. The last tier is open. */
export const readBounds = (tiers: readonly UrdbTier[]): readonly (bigint | null)[] => {
  let before = 0n
  return tiers.map(({ max }, index) => {
    if (index === tiers.length - 1) return null
    const bound = fractionAt(max)
    const rounded = bound === null ? 0n : toNano(bound)
    if (rounded <= before || rounded > 1_000_000_000_000_000_000n)
      throw sourceFault(max.path, 'must be above the bound of the tier before it, up to 1e9', 'schedule_invalid')
    before = rounded
    return rounded
  })
}

/** Create the rates of a period from one price of each tier. */
export const ratesOf = (
  tiers: readonly UrdbTier[],
  priceAt: (tier: UrdbTier) => Fraction,
  surcharges: Surcharges = noSurcharges,
): readonly Rate[] => {
  const bounds = readBounds(tiers)
  return tiers.map((tier, index) => ({
    fixed: priceOf(priceAt(tier), tier.max.path),
    to: bounds[index] ?? null,
    ...surcharges,
  }))
}

/** Return whether all numbers of a value are 0. */
export const isAllZero = (value: SourceValue | undefined, path: string): boolean => {
  if (value === undefined || value === null || typeof value === 'string') return true
  if (typeof value === 'boolean') return !value
  if (isSourceList(value) || isSourceObject(value))
    return Object.entries(value).every(([name, member]) => isAllZero(member, pointer(path, name)))
  return fractionAt({ path, value })?.dividend === 0n
}
