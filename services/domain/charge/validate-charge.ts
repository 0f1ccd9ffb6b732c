import { type Refusal, refused } from '../refusal.ts'
import { hasOnlySurcharges } from '../tariff/rate.ts'
import { isSpecialDay } from '../tariff/special-days.ts'
import type { ScheduleEntry } from '../tariff/tariff.ts'
import { validateSpecialDays } from '../tariff/validate-coverage.ts'
import type {
  ChargeBase,
  ChargeTerms,
  ChargeWindow,
  DemandCharge,
  OwnTerms,
  SessionCharge,
  UsageCharge,
} from './charge.ts'
import { fullWeight } from './charge-window.ts'
import type { LocationCalendar } from './location-calendar.ts'

/** Lengths of the intervals of demand in minutes. */
export const demandIntervals: readonly number[] = [15, 30, 60]

const refuse = (...of: Parameters<typeof refused>): Refusal => refused(...of).refusal

/** Require exactly one of the named prices. An empty list does not count as a price. */
const refusePrices = (prices: Readonly<Record<string, bigint | readonly unknown[] | null>>): Refusal | null => {
  const names = Object.keys(prices)
  const isGiven = (value: bigint | readonly unknown[] | null | undefined): boolean =>
    typeof value === 'bigint' || (value?.length ?? 0) > 0
  const given = names.filter(name => isGiven(prices[name]))
  const choices = names.join(', ')
  if (given.length === 0) return refuse('price_missing', `Set one of ${choices}`, names[0])
  if (given.length > 1) return refuse('price_ambiguous', `Set only one of ${choices}`, given[1])
  return null
}

const isRising = (values: readonly bigint[]): boolean =>
  values.every((value, index) => index === 0 || value > (values[index - 1] as bigint))

const refuseSteps = ({ tiers, steps }: Pick<DemandCharge, 'tiers' | 'steps'>): Refusal | null => {
  if (!isRising((steps ?? []).map(({ from }) => from)))
    return refuse('steps_not_rising', 'from_kw must rise from step to step', 'steps')
  const bounds = (tiers ?? []).slice(0, -1).map(({ to }) => to)
  const isBounded = (to: bigint | null): to is bigint => to !== null
  if (!bounds.every(isBounded)) return refuse('steps_not_rising', 'Every tier except the last needs a to_kw', 'tiers')
  if (!isRising([0n, ...bounds])) return refuse('steps_not_rising', 'to_kw must rise from tier to tier', 'tiers')
  if (tiers?.at(-1)?.to !== undefined && tiers.at(-1)?.to !== null)
    return refuse('steps_not_rising', 'The last tier must not have a to_kw', `tiers[${tiers.length - 1}].to_kw`)
  return null
}

const refuseDemand = (charge: OwnTerms<DemandCharge>): Refusal | null => {
  if (!demandIntervals.includes(charge.intervalMinutes)) {
    const message = `interval_minutes must be one of ${demandIntervals.join(', ')}`
    return refuse('interval_not_supported', message, 'interval_minutes')
  }
  if (charge.per === 'DAY' && charge.over !== 'DAY') return refuse('charge_invalid', 'per DAY requires over DAY', 'per')
  if (charge.over === 'DAY' && charge.per !== 'DAY' && charge.prorate === 'NONE')
    return refuse('charge_invalid', 'over DAY with prorate NONE requires per DAY', 'prorate')
  const months = charge.history.map(({ month }) => month)
  const repeated = months.findIndex((month, index) => months.indexOf(month) !== index)
  if (repeated >= 0) return refuse('charge_invalid', 'history must name each month once', `history[${repeated}].month`)
  const { price, tiers, steps } = charge
  return refusePrices({ price, tiers, steps }) ?? refuseSteps(charge)
}

const isFixedRate = (schedule: readonly ScheduleEntry[]): boolean =>
  schedule.every(({ daysAndHours }) =>
    daysAndHours.every(({ hours }) =>
      hours.every(({ rate }) => rate.length === 1 && rate.every(one => one.to === null && hasOnlySurcharges(one, []))),
    ),
  )

const refuseUsage = ({ price, schedule }: OwnTerms<UsageCharge>): Refusal | null => {
  const refusal = refusePrices({ price, schedule })
  if (refusal !== null) return refusal
  if (isFixedRate(schedule ?? [])) return null
  return refuse('charge_invalid', 'A rate of a USAGE schedule must have one tier with fixed only', 'schedule')
}

const refuseSession = ({ windows }: OwnTerms<SessionCharge>): Refusal | null => {
  const index = windows.findIndex(({ weight }) => weight !== 0 && weight !== fullWeight)
  if (index < 0) return null
  return refuse('charge_invalid', 'weight of a SESSION window must be 0 or 1', `windows[${index}].weight`)
}

/** Refuse a base that no line can match: an empty list. */
const refuseBase = (base: ChargeBase): Refusal | null => {
  for (const name of ['kinds', 'components', 'directions'] as const)
    if (base[name]?.length === 0)
      return refuse(
        'base_empty',
        `base.${name} must name at least one value; leave it out to match all`,
        `base.${name}`,
      )
  return null
}

const refuseKind = (charge: ChargeTerms): Refusal | null => {
  if (charge.kind === 'FIXED') return null
  if (charge.kind === 'USAGE') return refuseUsage(charge)
  if (charge.kind === 'DEMAND') return refuseDemand(charge)
  return charge.kind === 'SESSION' ? refuseSession(charge) : refuseBase(charge.base)
}

/**
 * Return the reason to refuse a charge; null if it is valid. Numbers are within their limits, and the schedule of a
 * USAGE charge covers the calendar.
 */
export const validateCharge = (charge: ChargeTerms): Refusal | null => {
  const { startDay, endDay } = charge
  if (startDay !== null && endDay !== null && endDay <= startDay)
    return refuse('end_before_start', 'end_date must be after start_date', 'end_date')
  return refuseKind(charge)
}

/**
 * Return the reason to refuse the special days of a charge at a location; null if they are valid.
 * Refuses `calendar_required`, `day_type_not_found`, and `schedule_overlap` on days of several types.
 */
export const validateChargeDays = (terms: ChargeTerms, calendar: LocationCalendar | null): Refusal | null => {
  const refusal = 'windows' in terms ? validateWindowDays(terms.windows, calendar) : null
  const schedule = terms.kind === 'USAGE' ? terms.schedule : null
  if (refusal !== null || schedule === null) return refusal
  return validateSpecialDays(schedule, calendar) ?? null
}

/**
 * Return the reason to refuse windows at a location; null if they are valid. Windows that name Holidays or day types
 * need a calendar with these day types.
 */
export const validateWindowDays = (
  windows: readonly ChargeWindow[],
  calendar: LocationCalendar | null,
): Refusal | null => {
  for (const [index, { days }] of windows.entries()) {
    const special = days.filter(isSpecialDay)
    const field = `windows[${index}].days`
    if (special.length === 0) continue
    if (calendar === null)
      return refuse('calendar_required', `${special[0]} needs a calendar: set calendar_id of the location`, field)
    const missing = special.find(
      name => name !== 'Holidays' && calendar.dayTypes.every(type => `#${type.name}` !== name),
    )
    if (missing !== undefined)
      return refuse('day_type_not_found', `The calendar of the location has no day type ${missing}`, field)
  }
  return null
}
