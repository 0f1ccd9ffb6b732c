import { z } from 'zod'
import { type AnswerOffset, answerOffset } from '../../domain/answer-offset.ts'
import { calendarMonthOf } from '../../domain/charge/charge-days.ts'
import { writeMonth } from '../../domain/civil-date.ts'
import type { TimeZone } from '../../domain/civil-time.ts'
import { divideHalfEven, energyScale, type Money, moneyScale } from '../../domain/quantity.ts'
import type { AmountPlan, DevicePlan, PlanDemand } from '../../domain/schedule/amount.ts'
import {
  costShape,
  costToWire,
  exactDecimal,
  idText,
  instantText,
  objectShape,
  objectToWire,
  orNull,
} from '../answer-field.ts'
import { scaledNumber } from '../json/exact-number.ts'
import { defineOperation, type Operation, retrieval, sameRoute } from '../operation.ts'
import { deviceOnly, locationOnly } from '../reference.ts'
import { type EnergyInput, type PowerInput, powerShape, powerToWire } from './power.ts'
import { type AmountBody, amountBody } from './schedule-amount-request.ts'
import {
  boundShape,
  boundToWire,
  exampleView,
  intervalsToWire,
  intervalToWire,
  type ScheduleView,
  unpricedShape,
} from './schedule-window.ts'

const savingsShape = z
  .object({
    value: exactDecimal.describe(
      'Additional cost of the same energy if every device ran at full power from its start, without a limit for the location.',
    ),
    percentage: orNull(exactDecimal).describe('Savings in percent of that cost; null if that cost is not above 0.'),
  })
  .meta({ component: 'Savings' })
  .describe('Compared with running immediately.')

const elementShape = z.object({
  device_id: idText('dev'),
  tariff_direction: z.enum(['IMPORT', 'EXPORT']),
  start_time: instantText,
  end_time: instantText,
  max_power: powerShape,
  energy: z.object({ units: z.enum(['WH', 'KWH']), value: exactDecimal.describe('Planned energy.') }),
  cost: costShape.describe('Below 0 for a profit.'),
  savings: savingsShape,
  schedule: z.array(z.object({ start_time: instantText, end_time: instantText, power: powerShape })),
})

const planChargeShape = z.object({
  charge_id: idText('chg'),
  month: z
    .string()
    .meta({ examples: ['2026-01'] })
    .describe('Calendar month in the zone of the location.'),
  kw_before: exactDecimal.describe('Measured power of the stored records of the month.'),
  kw_after: exactDecimal.describe('Measured power if the plan is followed.'),
  amount: exactDecimal.describe('Change of the line of the month.'),
})

const scheduleAmountShape = objectShape('sae', 'schedule_amount', {
  location_id: idText('loc'),
  location_timezone: z.string(),
  currency_code: z.string(),
  max_power: orNull(powerShape),
  shaving_threshold: orNull(z.object(boundShape)),
  cost: costShape.describe('Imports less exports: the sum of all elements.'),
  savings: savingsShape,
  data: z.array(elementShape),
  unpriced: unpricedShape,
  charges: z.array(planChargeShape).optional().describe('DEMAND charges; only with respect_charges.'),
  bound: exactDecimal
    .optional()
    .describe(
      'Only with respect_charges: no plan has a lower sum of cost and amounts. The plan is the optimum if its sum equals the bound.',
    ),
})

/**
 * Data of a schedule by amount. The windows of `body` match the devices of `plan`. `zone` is the zone of the location.
 */
type AmountView = ScheduleView & { readonly body: AmountBody; readonly plan: AmountPlan; readonly zone: TimeZone }

const percentScale = 4
/** Decimals of power in kW. */
const powerScale = 9

const savingsToWire = (baseline: Money, cost: Money) => ({
  value: scaledNumber(baseline - cost, moneyScale),
  percentage:
    baseline <= 0n ? null : scaledNumber(divideHalfEven((baseline - cost) * 1_000_000n, baseline), percentScale),
})

const energyToWire = (energy: bigint, units: EnergyInput['units']) => ({
  units,
  value: scaledNumber(energy, units === 'KWH' ? energyScale + 3 : energyScale),
})

const elementToWire = (
  plan: DevicePlan,
  requested: AmountBody['data'][number],
  sitePower: PowerInput | undefined,
  offsetOf: AnswerOffset,
) => {
  const units = (requested.max_power ?? sitePower)?.units ?? 'W'
  return {
    device_id: plan.device.deviceId,
    tariff_direction: plan.device.direction,
    ...intervalToWire(plan.device, offsetOf),
    max_power: powerToWire(plan.device.power, units),
    energy: energyToWire(plan.energy, requested.energy.units),
    cost: costToWire(plan),
    savings: savingsToWire(plan.baseline, plan.cost),
    schedule: plan.pieces.map(({ start, end, power }) => ({
      ...intervalToWire({ start, end }, offsetOf),
      power: powerToWire(power, units),
    })),
  }
}

const demandToWire = ({ charges, bound }: PlanDemand) => ({
  charges: charges.map(({ chargeId, month, before, after, amount }) => ({
    charge_id: chargeId,
    month: writeMonth(Math.floor(month / 12), calendarMonthOf(month)),
    kw_before: scaledNumber(before, powerScale),
    kw_after: scaledNumber(after, powerScale),
    amount: scaledNumber(amount, moneyScale),
  })),
  bound: scaledNumber(bound, moneyScale),
})

/** Write a schedule by amount. Elements have the order of the request, and the offset of their own end_time. */
export const scheduleAmountToWire = ({ body, plan, zone, ...view }: AmountView): z.input<typeof scheduleAmountShape> =>
  objectToWire('schedule_amount', view, {
    location_id: view.locationId,
    location_timezone: view.timezone,
    currency_code: view.currencyCode,
    max_power: body.max_power === undefined ? null : powerToWire(body.max_power.power, body.max_power.units),
    shaving_threshold:
      body.shaving_threshold === undefined
        ? null
        : boundToWire({
            absolute: body.shaving_threshold.absolute ?? null,
            relative: body.shaving_threshold.relative ?? null,
          }),
    cost: costToWire(plan),
    savings: savingsToWire(plan.baseline, plan.cost),
    data: body.data.flatMap((requested, index) => {
      const devicePlan = plan.devices[index]
      return devicePlan === undefined
        ? []
        : [elementToWire(devicePlan, requested, body.max_power, answerOffset(zone, requested.end_time.offsetMinutes))]
    }),
    unpriced: intervalsToWire(view.unpriced, answerOffset(zone, body.data[0]?.end_time.offsetMinutes ?? 0)),
    ...(plan.demand === null ? {} : demandToWire(plan.demand)),
  })

const exampleDevice = {
  device_id: 'dev_0198c0ffee00112233445566',
  tariff_direction: 'IMPORT',
  max_power: { units: 'KW', value: 7.4 },
}
const exampleBody = {
  max_power: { units: 'KW', value: 11 },
  data: [
    {
      ...exampleDevice,
      start_time: '2025-09-14T18:00:00+02:00',
      end_time: '2025-09-15T07:00:00+02:00',
      energy: { units: 'KWH', value: 22.2 },
    },
    {
      ...exampleDevice,
      start_time: '2025-09-15T09:00:00+02:00',
      end_time: '2025-09-15T16:00:00+02:00',
      energy: { units: 'KWH', value: 14.8 },
    },
  ],
}

/**
 * Planned run of each example window, in hours after its start, its price, and the price of an immediate run (1e-4 per
 * kWh).
 */
const exampleRunTimes = [
  { from: 8, to: 11, price: 2_125n, priceAtOnce: 3_800n },
  { from: 3, to: 5, price: 950n, priceAtOnce: 2_400n },
]

const exampleZone = { name: 'Europe/Berlin', changes: [], offsets: [7_200_000] }

const example = (): z.input<typeof scheduleAmountShape> => {
  const body = amountBody.parse(exampleBody)
  const devices = body.data.map((requested, index): DevicePlan => {
    const { from, to, price, priceAtOnce } = exampleRunTimes[index] ?? { from: 0, to: 0, price: 0n, priceAtOnce: 0n }
    const start = requested.start_time.at
    const { energy } = requested.energy
    const power = requested.max_power?.power ?? 0n
    return {
      device: { deviceId: requested.device_id, direction: 'IMPORT', start, end: requested.end_time.at, power, energy },
      pieces: [{ start: start + from * 3_600_000, end: start + to * 3_600_000, power }],
      energy,
      cost: (energy * price) / 10_000n,
      baseline: (energy * priceAtOnce) / 10_000n,
      confidence: 10_000,
    }
  })
  const sumOf = (name: 'cost' | 'baseline'): Money => devices.reduce((sum, one) => sum + one[name], 0n)
  const plan = {
    devices,
    cost: sumOf('cost'),
    baseline: sumOf('baseline'),
    confidence: 10_000,
    unpriced: [],
    demand: null,
  }
  return scheduleAmountToWire({ ...exampleView, id: 'sae_0198c0ffee00112233445566', zone: exampleZone, body, plan })
}

/** Time in ms for which a schedule by amount is stored. */
export const scheduleRetentionMs = 86_400_000

const renames: Operation['renames'] = {
  body: [{ current: 'data.tariff_direction', earlier: 'data.direction' }, { current: 'respect_charges' }],
  answer: [
    { current: 'charges' },
    { current: 'bound' },
    { current: 'cost', earlier: 'tariff' },
    { current: 'data.tariff_direction', earlier: 'data.direction' },
    { current: 'data.cost', earlier: 'data.tariff' },
  ],
}

export const scheduleAmount = defineOperation({
  id: 'schedule_amount_create',
  unaudited: 'Only calculates. Its event is schedule.created.',
  summary: 'Schedule by amount of energy',
  description:
    'Plans when the devices of a location import or export their energy, at the minimum total cost, within the maximum power of each device and of the location. The plan is the exact optimum, and the same request returns the same plan. Estimates of local generation (LOCAL records with a confidence below 1) supply imports that do not count towards max_power. If no plan is possible, the refusal names the devices and hours that prevent it. With respect_charges, the plan also minimises the change of the DEMAND charges of the location. The plan creates the event schedule.created.',
  tag: 'Schedules',
  access: 'all',
  routes: {
    current: [{ method: 'POST', path: '/schedules/amount/{id}' }],
    earlier: [
      {
        method: 'POST',
        path: '/schedules',
        parametersInBody: { id: 'location_id' },
        numbersAsText: ['max_power.value', 'data.max_power.value'],
      },
    ],
  },
  references: { id: locationOnly, body: { 'data.device_id': deviceOnly } },
  body: amountBody,
  answer: { name: 'ScheduleAmount', shape: scheduleAmountShape },
  status: 200,
  idempotent: true,
  endsWithClient: true,
  renames,
  refusals: [
    'location_not_found',
    'device_not_found',
    'end_before_start',
    'interval_too_long',
    'no_tariff_connected',
    'no_price_data',
    'pending_connect',
    'schedule_infeasible',
    'too_many_records',
  ],
  examples: { body: exampleBody, answer: example() },
})

export const scheduleAmountRetrieve = defineOperation({
  id: 'schedule_amount_retrieve',
  summary: 'Retrieve a schedule by amount',
  description:
    'Returns a schedule by amount for 24 hours after its creation. Its times have the offsets of the request that created it.',
  tag: 'Schedules',
  ...retrieval(scheduleAmount.answer, example()),
  routes: sameRoute('GET', '/schedules/{id}'),
  renames: { answer: renames?.answer ?? [] },
})
