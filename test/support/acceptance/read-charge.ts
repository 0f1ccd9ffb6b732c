import { readTariffTerms } from '../../../services/contract/tariffs/read-tariff-terms.ts'
import {
  type Charge,
  type ChargeBase,
  type ChargeKind,
  type ChargeWindow,
  type DemandCharge,
  defaultComponents,
  defaultSequences,
} from '../../../services/domain/charge/charge.ts'
import { monthNumberOf } from '../../../services/domain/charge/charge-days.ts'
import { dayNumber } from '../../../services/domain/civil-date.ts'
import { readDecimal } from '../../../services/domain/quantity.ts'
import { monthNames, secondsPerDay } from '../../../services/domain/tariff/day-pattern.ts'
import type { ScheduleEntry } from '../../../services/domain/tariff/tariff.ts'
import { acceptedValue } from '../accepted-value.ts'
import type { WireObject } from './bill-cases.ts'

const limit = 10n ** 30n

/** Read a decimal text as an integer of 1e-9. */
export const nanoOf = (text: unknown): bigint =>
  acceptedValue(readDecimal(String(text), { scale: 9, min: -limit, max: limit }, 'number'))

const orNull = (text: unknown): bigint | null => (text === undefined ? null : nanoOf(text))
const orZero = (text: unknown): bigint => orNull(text) ?? 0n

/** Return the day number of a date text. */
export const dayOf = (text: string): number => {
  const [year = 0, month = 0, date = 0] = text.split('-').map(Number)
  return dayNumber(year, month, date)
}

const dayOrNull = (text: unknown): number | null => (text === undefined ? null : dayOf(String(text)))

const monthOf = (text: string): number => {
  const [year = 0, month = 0] = text.split('-').map(Number)
  return monthNumberOf(year, month)
}

const secondOf = (text: string): number => {
  const [hour = 0, minute = 0, second = 0] = text.split(':').map(Number)
  return hour * 3600 + minute * 60 + second
}

const list = <T>(value: unknown): readonly T[] => (value ?? []) as readonly T[]

const windowOf = (wire: WireObject): ChargeWindow => ({
  months: list(wire['months']),
  dates: list<string>(wire['dates']).map(Number),
  days: list(wire['days']),
  hours: list<{ readonly valid_from: string; readonly valid_to: string }>(wire['hours']).map(one => ({
    validFrom: secondOf(one.valid_from),
    validTo: secondOf(one.valid_to) || secondsPerDay,
  })),
  weight: Number(orNull(wire['weight']) ?? 1_000_000_000n),
})

const baseOf = (wire: WireObject = {}): ChargeBase => ({
  kinds: (wire['kinds'] ?? null) as ChargeBase['kinds'],
  components: (wire['components'] ?? null) as ChargeBase['components'],
  directions: (wire['directions'] ?? ['IMPORT']) as ChargeBase['directions'],
})

const scheduleOf = (schedule: unknown): readonly ScheduleEntry[] | null => {
  if (schedule === undefined) return null
  const terms = { direction: 'IMPORT', type: 'COMMODITY', marketRates: false } as const
  const input = { ...terms, contractStart: null, contractEnd: null, schedule: schedule as never }
  return acceptedValue(readTariffTerms(input)).schedule
}

const pairs = (value: unknown): readonly WireObject[] => list<WireObject>(value)

const demandOf = (wire: WireObject) => {
  const [ratchet, rounding] = [wire['ratchet'], wire['round_kw']] as (WireObject | undefined)[]
  return {
    intervalMinutes: Number(wire['interval_minutes'] ?? 60),
    windows: pairs(wire['windows']).map(windowOf),
    highest: Number(wire['highest'] ?? 1),
    hasDistinctDays: wire['distinct_days'] === true,
    over: (wire['over'] ?? 'PERIOD') as DemandCharge['over'],
    rollingMonths: Number(wire['rolling_months'] ?? 12),
    rolling: (wire['rolling'] ?? 'MEAN') as DemandCharge['rolling'],
    monthFloor: orZero(wire['month_floor_kw']),
    ratchet:
      ratchet === undefined
        ? null
        : {
            share: nanoOf(ratchet['share']),
            months: Number(ratchet['months']),
            inMonths: list<string>(ratchet['in_months']).map(name => monthNames.indexOf(name as never) + 1),
          },
    floor: orZero(wire['floor_kw']),
    above: orZero(wire['above_kw']),
    rounding:
      rounding === undefined
        ? null
        : { to: nanoOf(rounding['to'] ?? '1'), mode: (rounding['mode'] ?? 'HALF_UP') as 'UP' },
    history: pairs(wire['history']).map(one => ({ month: monthOf(String(one['month'])), power: nanoOf(one['kw']) })),
    price: orNull(wire['price']),
    tiers:
      wire['tiers'] === undefined
        ? null
        : pairs(wire['tiers']).map(one => ({ to: orNull(one['to_kw']), price: nanoOf(one['price']) })),
    steps:
      wire['steps'] === undefined
        ? null
        : pairs(wire['steps']).map(one => ({ from: nanoOf(one['from_kw']), amount: nanoOf(one['amount']) })),
    stepEdge: (wire['step_edge'] ?? 'LOWER_INCLUSIVE') as DemandCharge['stepEdge'],
    per: (wire['per'] ?? 'MONTH') as DemandCharge['per'],
    yearBasis: (wire['year_basis'] ?? 'MONTHS') as DemandCharge['yearBasis'],
    prorate: (wire['prorate'] ?? 'DAYS') as DemandCharge['prorate'],
  }
}

const membersOf: { readonly [Kind in ChargeKind]: (wire: WireObject) => WireObject } = {
  FIXED: wire => ({
    price: nanoOf(wire['price']),
    per: wire['per'] ?? 'DAY',
    quantity: nanoOf(wire['quantity'] ?? '1'),
    unit: wire['unit'] ?? null,
    prorate: wire['prorate'] ?? 'DAYS',
  }),
  USAGE: wire => ({ price: orNull(wire['price']), schedule: scheduleOf(wire['schedule']) }),
  DEMAND: demandOf,
  SESSION: wire => ({
    price: nanoOf(wire['price']),
    per: wire['per'] ?? 'SESSION',
    while: wire['while'] ?? 'CONNECTED',
    afterMs: Number(wire['after_minutes'] ?? 0) * 60_000,
    count: wire['count'] ?? 'EXACT',
    maxAmount: orNull(wire['max_amount']),
    windows: pairs(wire['windows']).map(windowOf),
  }),
  MINIMUM: wire => ({
    amount: orZero(wire['amount']),
    per: wire['per'] ?? 'PERIOD',
    perKwh: orZero(wire['per_kwh']),
    base: baseOf(wire['base'] as WireObject | undefined),
  }),
  MAXIMUM: wire => membersOf.MINIMUM(wire),
  PERCENTAGE: wire => ({
    rate: nanoOf(wire['rate']),
    base: baseOf(wire['base'] as WireObject | undefined),
    isTax: wire['tax'] !== false,
  }),
}

/** Read a posted charge. `id` is its id. Defaults are those of the API. */
export const chargeOf = (wire: WireObject, id: string): Charge => {
  const kind = wire['kind'] as ChargeKind
  return {
    id,
    planId: null,
    kind,
    name: wire['name'],
    component: wire['component'] ?? defaultComponents[kind],
    startDay: dayOrNull(wire['start_date']),
    endDay: dayOrNull(wire['end_date']),
    sequence: Number(wire['sequence'] ?? defaultSequences[kind]),
    counts: wire['counts'] ?? 'IMPORT',
    deviceIds: wire['device_ids'] ?? null,
    ...membersOf[kind](wire),
  } as unknown as Charge
}
