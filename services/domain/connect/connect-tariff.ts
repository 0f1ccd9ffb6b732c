import { startOfLocalDay, type TimeZone } from '../civil-time.ts'
import { formatDecimal, readDecimal } from '../quantity.ts'
import { accepted, type Result, refused } from '../refusal.ts'
import type { Rate, ScheduleEntry, Tariff, TariffDirection, TariffType } from '../tariff/tariff.ts'
import { readTariffTermsInSteps, type ScheduleEntryInput, type TariffTerms } from '../tariff/validate-schedule.ts'
import { type ConnectState, type CostPeriod, followsMarket, type Structure, type Surcharge } from './session.ts'

const wholeDay = { valid_from: '00:00:00', valid_to: '00:00:00' }

const everyDay = (
  hours: readonly { valid_from: string; valid_to: string; rate: readonly object[] }[],
): readonly ScheduleEntryInput[] => [{ months: ['All'], dates: [], days_and_hours: [{ days: ['All'], hours }] }]

/** Percent with 7 decimals is a fraction with 9. */
const fractionOf = (percent: string): string => {
  const read = readDecimal(percent, { scale: 7, min: 0n, max: 5_000_000_000n }, 'percentage')
  if (!read.ok) throw new RangeError(`a surcharge of ${percent} percent was never read`)
  return formatDecimal(read.value, 9)
}

/** Write captured prices as the schedule of a tariff: 18.5 percent is a fraction of 0.185. Source: docs/rules/connect.md #pages. */
export const scheduleOf = (state: ConnectState): readonly ScheduleEntryInput[] => {
  switch (state.structure) {
    case 'FIXED':
      return everyDay([{ ...wholeDay, rate: [{ fixed: state.cost ?? '0' }] }])
    case 'TIME_OF_DAY':
      return everyDay(
        (state.hours ?? []).map(({ cost, valid_from, valid_to }) => ({
          valid_from,
          valid_to,
          rate: [{ fixed: cost }],
        })),
      )
    case 'ADVANCED':
      return (state.advanced?.schedule ?? []) as readonly ScheduleEntryInput[]
    default: {
      const { fixed, percentage } = state.surcharge ?? { fixed: '0', percentage: '0' }
      return everyDay([
        { ...wholeDay, rate: [{ surcharge_fixed: fixed, surcharge_percentage: fractionOf(percentage) }] },
      ])
    }
  }
}

/** Judge captured prices as POST /tariffs does, over a contract, in steps. Refuses what `readTariffTermsInSteps` refuses. */
export const tariffTermsOf = (
  kind: { readonly direction: TariffDirection; readonly type: TariffType },
  state: ConnectState,
  contract: { readonly start: number | null; readonly end: number | null },
): Generator<void, Result<TariffTerms>> => {
  const { direction, type } = kind
  return readTariffTermsInSteps({
    direction,
    type,
    marketRates: followsMarket(state),
    contractStart: contract.start,
    contractEnd: contract.end,
    schedule: scheduleOf(state),
  })
}

/**
 * Tell from when a new tariff holds (ms, null: always did). Without a date it is open towards the past if the location has none of its kind
 * yet, else it begins with the local day of `at`, or where the last one was closed on that day, so that nothing closed is priced again.
 * `others`: the location's tariffs of this kind that are not voided.
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

/** What takes the place of what: an old tariff ends where the new one starts. `closes` now or in the past, `shortens` at a time to come. */
export type Replacement = { readonly id: string; readonly way: 'closes' | 'shortens' }

/**
 * Tell what becomes of the living tariffs of a kind when a new one of [start, end) comes: those that share time with it end at its start.
 * Refuses a start that is open where something lives before it. Source: docs/rules/connect.md #start-of-the-tariff.
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

/** The prices of a tariff in the words of the pages that capture them. Tiers, and bands of several days, need the page for advanced ones. */
export type Prefill = {
  readonly structure: Structure
  readonly cost: string | null
  readonly hours: readonly CostPeriod[] | null
  readonly surcharge: Surcharge | null
}

const padTwo = (value: number): string => String(value).padStart(2, '0')
const formatClock = (second: number): string =>
  `${padTwo(Math.floor(second / 3600) % 24)}:${padTwo(Math.floor(second / 60) % 60)}:${padTwo(second % 60)}`
const isEveryDay = (entry: ScheduleEntry | undefined): boolean =>
  entry !== undefined && entry.dates.length === 0 && `${entry.months}` === 'All' && entry.daysAndHours.length === 1

/** Fill the pages with the prices of a tariff that is renewed; null where they would not hold them. */
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
    const surcharge = { fixed: formatDecimal(surchargeFixed, 9), percentage: formatDecimal(surchargePercentage, 7) }
    return timeBands.length === 1 && surchargePercentage >= 0n ? { ...none, structure: 'MARKET', surcharge } : null
  }
  const isPlain = timeBands.every(
    ({ rate }) => rate !== null && rate.fixed > 0n && rate.surchargeFixed === 0n && rate.surchargePercentage === 0n,
  )
  if (!isPlain) return null
  if (timeBands.length === 1) return { ...none, structure: 'FIXED', cost: formatDecimal(first.rate.fixed, 9) }
  const hours = timeBands.map(({ validFrom, validTo, rate }) => ({
    cost: formatDecimal(rate?.fixed ?? 0n, 9),
    valid_from: formatClock(validFrom),
    valid_to: formatClock(validTo),
  }))
  return { ...none, structure: 'TIME_OF_DAY', hours }
}
