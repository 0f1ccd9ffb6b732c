import { startOfLocalDay, type TimeZone } from '../../domain/civil-time.ts'
import { formatTimeOfDay } from '../../domain/instant.ts'
import { formatDecimal, percentageScale } from '../../domain/quantity.ts'
import { accepted, type Result, refused } from '../../domain/refusal.ts'
import { hasOnlySurcharges, type Rate } from '../../domain/tariff/rate.ts'
import type { ScheduleEntry, Tariff } from '../../domain/tariff/tariff.ts'
import type { CostPeriod, Structure, Surcharge } from './session.ts'

/**
 * Return the start of a new tariff (ms; null: open start). `given` has priority.
 * Otherwise the start is open if the location has no earlier tariff of this kind. If it has one, the tariff starts with
 * the local day of `at`. If a tariff was closed on that day, the new tariff starts at its end, so that the time before
 * is not priced again.
 * `others` are the location's tariffs of this kind that are not voided.
 * Source: docs/rules/connect.md #start-of-the-tariff.
 */
export const tariffStartOf = (
  given: number | null,
  others: readonly Pick<Tariff, 'contractStart' | 'closedAt'>[],
  zone: TimeZone,
  at: number,
): number | null => {
  if (given !== null) return given
  const earlier = others.filter(({ contractStart }) => (contractStart ?? Number.NEGATIVE_INFINITY) <= at)
  if (earlier.length === 0) return null
  const closedTimes = earlier
    .map(({ closedAt }) => closedAt ?? Number.NEGATIVE_INFINITY)
    .filter(closedAt => closedAt <= at)
  return Math.max(startOfLocalDay(zone, at), ...closedTimes)
}

/**
 * Change of an old tariff, which ends at the start of the new one: `closes` now or in the past, `shortens` in the
 * future.
 */
export type Replacement = { readonly id: string; readonly way: 'closes' | 'shortens' }

/**
 * Return the changes of the active tariffs of a kind that share time with a new tariff of [start, end): they end at its
 * start.
 * Refuses an open start if an active tariff shares time with it.
 * Source: docs/rules/connect.md #start-of-the-tariff.
 */
export const tariffsToReplace = (
  activeTariffs: readonly Pick<Tariff, 'id' | 'contractStart' | 'contractEnd'>[],
  { start, end }: { readonly start: number | null; readonly end: number | null },
  at: number,
): Result<readonly Replacement[]> => {
  const [from, to] = [start ?? Number.NEGATIVE_INFINITY, end ?? Number.POSITIVE_INFINITY]
  const overlapping = activeTariffs.filter(
    one => (one.contractStart ?? Number.NEGATIVE_INFINITY) < to && from < (one.contractEnd ?? Number.POSITIVE_INFINITY),
  )
  if (overlapping.length > 0 && start === null) {
    return refused(
      'tariff_overlap',
      'The location has a tariff of this kind already: give the start of the new contract',
      'contract_start_date',
    )
  }
  return accepted(
    overlapping.map(({ id, contractStart }) => {
      const isAhead = from > at && (contractStart ?? Number.NEGATIVE_INFINITY) < from
      return { id, way: isAhead ? 'shortens' : 'closes' }
    }),
  )
}

/**
 * Prices of a tariff as values of the simple pages. Tiers, and bands of several days, need the page for advanced
 * tariffs.
 */
export type Prefill = {
  readonly structure: Structure
  readonly cost: string | null
  readonly hours: readonly CostPeriod[] | null
  readonly surcharge: Surcharge | null
}

const isEveryDay = (entry: ScheduleEntry | undefined): boolean =>
  entry !== undefined && entry.dates.length === 0 && `${entry.months}` === 'All' && entry.daysAndHours.length === 1

/** Surcharges that the simple pages show. */
const shownSurcharges = ['surchargeFixed', 'surchargePercentage'] as const

/** Return the prices of a renewed tariff as page values; null if the simple pages cannot show them. */
export const prefillOf = ({ schedule, marketRates }: Pick<Tariff, 'schedule' | 'marketRates'>): Prefill | null => {
  const [entry, ...others] = schedule
  const [daysAndHours] = entry?.daysAndHours ?? []
  if (others.length > 0 || !isEveryDay(entry) || daysAndHours === undefined || `${daysAndHours.days}` !== 'All')
    return null
  const timeBands = daysAndHours.hours.map(({ rate, ...hours }) => ({
    ...hours,
    rate: rate.length === 1 ? (rate[0] as Rate) : null,
  }))
  const [first] = timeBands
  if (first === undefined || first.rate === null) return null
  const none = { cost: null, hours: null, surcharge: null }
  if (marketRates) {
    const { surchargeFixed, surchargePercentage } = first.rate
    const surcharge = {
      fixed: formatDecimal(surchargeFixed, 9),
      percentage: formatDecimal(surchargePercentage, percentageScale - 2),
    }
    const isShown =
      timeBands.length === 1 && surchargePercentage >= 0n && hasOnlySurcharges(first.rate, shownSurcharges)
    return isShown ? { ...none, structure: 'MARKET', surcharge } : null
  }
  const isPlain = timeBands.every(({ rate }) => rate !== null && rate.fixed > 0n && hasOnlySurcharges(rate, []))
  if (!isPlain) return null
  if (timeBands.length === 1) return { ...none, structure: 'FIXED', cost: formatDecimal(first.rate.fixed, 9) }
  const hours = timeBands.map(({ validFrom, validTo, rate }) => ({
    cost: formatDecimal(rate?.fixed ?? 0n, 9),
    valid_from: formatTimeOfDay(validFrom),
    valid_to: formatTimeOfDay(validTo),
  }))
  return { ...none, structure: 'TIME_OF_DAY', hours }
}
