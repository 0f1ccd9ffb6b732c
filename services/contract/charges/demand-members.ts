import { z } from 'zod'
import type {
  DemandCharge,
  GivenPower,
  OwnTerms,
  PowerRounding,
  PowerStep,
  PowerTier,
  Ratchet,
} from '../../domain/charge/charge.ts'
import { calendarMonthOf, monthNumberOf } from '../../domain/charge/charge-days.ts'
import { demandIntervals } from '../../domain/charge/validate-charge.ts'
import { writeMonth } from '../../domain/civil-date.ts'
import { monthNames } from '../../domain/tariff/day-pattern.ts'
import type { Month } from '../../domain/tariff/tariff.ts'
import { integer, refuseField } from '../field.ts'
import {
  moneyFormat,
  optionalList,
  powerFormat,
  prorationFormat,
  selectionMembers,
  unitFormat,
} from './charge-formats.ts'
import { monthSetFormat, windowsFormat } from './charge-window.ts'
import {
  choiceFormat,
  decimalFormat,
  flagFormat,
  listFormat,
  type Members,
  mapFormat,
  member,
  nullable,
  objectFormat,
  one,
  type WireFormat,
  wholeNumberFormat,
  withDefault,
} from './wire-format.ts'

const monthNumber: WireFormat<number> = {
  request: z
    .string()
    .transform((text, context) => {
      const match = /^(\d{4})-(0[1-9]|1[0-2])$/.exec(text)
      return match === null
        ? refuseField(context, 'charge_invalid', 'must be a month of the form YYYY-MM')
        : monthNumberOf(Number(match[1]), Number(match[2]))
    })
    .meta({ type: 'string', examples: ['2026-01'] }),
  answer: z.string().meta({ examples: ['2026-01'] }),
  write: month => writeMonth(Math.floor(month / 12), calendarMonthOf(month)),
}

/** The rules of the charge refuse other lengths than those of `demandIntervals`. */
const intervalMinutes: WireFormat<number> = {
  ...wholeNumberFormat(1, 1_000_000),
  request: integer({ min: 1, max: 1_000_000, unit: 'minutes' }).meta({ type: 'integer', enum: [...demandIntervals] }),
}

const ratchet: WireFormat<Ratchet> = objectFormat('Ratchet', {
  share: member('share', decimalFormat(0n, 2n * one)),
  months: member('months', wholeNumberFormat(1, 24), 'Number of calendar months before the period.'),
  inMonths: member(
    'in_months',
    withDefault(
      mapFormat<readonly Month[], readonly number[]>(
        monthSetFormat,
        names => names.map(name => monthNames.indexOf(name) + 1),
        months => months.flatMap(month => monthNames[month - 1] ?? []),
      ),
      [],
    ),
    'Only these months set the ratchet: Jan … Dec. Default: all months.',
  ),
})

const rounding: WireFormat<PowerRounding> = objectFormat('PowerRounding', {
  to: member(
    'to',
    withDefault(decimalFormat(1n, 1_000_000n * one), one),
    'The power is rounded to multiples of this number of kW. Default: 1.',
  ),
  mode: member(
    'mode',
    withDefault(choiceFormat('HALF_UP', 'HALF_EVEN', 'UP', 'DOWN'), 'HALF_UP'),
    'HALF_UP rounds halves away from zero. Default: HALF_UP.',
  ),
})

const givenPower: WireFormat<GivenPower> = objectFormat('GivenPower', {
  month: member('month', monthNumber),
  power: member('kw', powerFormat),
})

const powerTier: WireFormat<PowerTier> = objectFormat('PowerTier', {
  to: member('to_kw', nullable(powerFormat), 'Upper bound; absent in the last tier.'),
  price: member('price', moneyFormat, 'Price of each kW in this tier.'),
})

const powerStep: WireFormat<PowerStep> = objectFormat('PowerStep', {
  from: member('from_kw', powerFormat),
  amount: member('amount', moneyFormat, 'Amount from this power on.'),
})

const maxTiers = 50
const maxSteps = 50
const maxHistory = 24

/** Members of a DEMAND charge. */
export const demandMembers: Members<OwnTerms<DemandCharge>> = {
  ...selectionMembers,
  intervalMinutes: member(
    'interval_minutes',
    withDefault(intervalMinutes, 60),
    'Length of the intervals of the measured power: 15, 30 or 60. Default: 60.',
  ),
  windows: member(
    'windows',
    windowsFormat,
    'Times that count. The first window that contains a time gives its weight.',
  ),
  highest: member(
    'highest',
    withDefault(wholeNumberFormat(1, 100), 1),
    'The measured power is the mean of this number of highest values. Default: 1.',
  ),
  hasDistinctDays: member(
    'distinct_days',
    withDefault(flagFormat, false),
    'Only the highest value of each day counts. Default: false.',
  ),
  over: member(
    'over',
    withDefault(choiceFormat('PERIOD', 'DAY', 'ROLLING'), 'PERIOD'),
    'PERIOD measures the billing period, DAY each day, ROLLING the billing period and the months before it. Default: PERIOD.',
  ),
  rollingMonths: member(
    'rolling_months',
    withDefault(wholeNumberFormat(2, 24), 12),
    'Number of months of ROLLING. Default: 12.',
  ),
  rolling: member('rolling', withDefault(choiceFormat('MEAN', 'MAX'), 'MEAN'), 'Value of ROLLING. Default: MEAN.'),
  monthFloor: member(
    'month_floor_kw',
    withDefault(powerFormat, 0n),
    'Minimum measured power of the period and of each month of ROLLING. Default: 0.',
  ),
  ratchet: member(
    'ratchet',
    nullable(ratchet),
    'The billed power is at least this share of the highest power of earlier months.',
  ),
  floor: member('floor_kw', withDefault(powerFormat, 0n), 'Minimum billed power. Default: 0.'),
  above: member('above_kw', withDefault(powerFormat, 0n), 'Only the power above this value is billed. Default: 0.'),
  rounding: member('round_kw', nullable(rounding), 'Rounding of the billed power. Default: 9 decimals.'),
  history: member('history', withDefault(listFormat(givenPower, maxHistory), []), 'Power of months without records.'),
  price: member('price', nullable(moneyFormat), 'Price of a kW. Set price, tiers or steps.'),
  tiers: member('tiers', optionalList(listFormat(powerTier, maxTiers)), 'Prices of a kW by tier, the lowest first.'),
  steps: member('steps', optionalList(listFormat(powerStep, maxSteps)), 'Amounts by power, the lowest first.'),
  stepEdge: member(
    'step_edge',
    withDefault(choiceFormat('LOWER_INCLUSIVE', 'LOWER_EXCLUSIVE'), 'LOWER_INCLUSIVE'),
    'LOWER_INCLUSIVE: a power equal to from_kw belongs to this step; LOWER_EXCLUSIVE: to the step below. Default: LOWER_INCLUSIVE.',
  ),
  per: member(
    'per',
    withDefault(unitFormat, 'MONTH'),
    'Unit of time of the price. DAY requires over DAY. Default: MONTH.',
  ),
  yearBasis: member(
    'year_basis',
    withDefault(choiceFormat('MONTHS', 'DAYS'), 'MONTHS'),
    'Price per YEAR: MONTHS bills a twelfth each month, DAYS by the days of the year. Default: MONTHS.',
  ),
  prorate: member(
    'prorate',
    prorationFormat,
    'DAYS bills the paid days only, NONE always the whole price. Default: DAYS.',
  ),
}
