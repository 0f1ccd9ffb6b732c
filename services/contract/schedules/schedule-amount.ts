import { z } from 'zod'
import { type AnswerOffset, answerOffset } from '../../domain/answer-offset.ts'
import type { TimeZone } from '../../domain/civil-time.ts'
import { writeInstant } from '../../domain/instant.ts'
import { divideHalfEven, energyScale, type Money, moneyScale } from '../../domain/quantity.ts'
import type { AmountPlan, DevicePlan } from '../../domain/schedule/amount.ts'
import { exactDecimal, idText, instantText, orNull, storedMembers } from '../answer-field.ts'
import { costShape, costToWire } from '../costs/instant-cost.ts'
import { scaledNumber } from '../json/exact-number.ts'
import { defineOperation, type Operation, sameRoute } from '../operation.ts'
import { deviceOnly, locationOnly } from '../reference.ts'
import { type AmountBody, amountBody, type EnergyInput, type PowerInput } from './schedule-amount-request.ts'
import {
  boundShape,
  boundToWire,
  exampleView,
  intervalsToWire,
  intervalToWire,
  type ScheduleView,
  unpricedShape,
} from './schedule-window.ts'

const powerShape = z.object({ units: z.enum(['W', 'KW']), value: exactDecimal }).meta({ component: 'Power' })

const savingsShape = z
  .object({
    value: exactDecimal.describe(
      'What the same energy would cost more if every device ran at full power from its start, without a cap.',
    ),
    percentage: orNull(exactDecimal).describe('Percent of that cost; null where it is not above 0.'),
  })
  .meta({ component: 'Savings' })
  .describe('Compared with running at once.')

const elementShape = z.object({
  device_id: idText('dev'),
  tariff_direction: z.enum(['IMPORT', 'EXPORT']),
  start_time: instantText,
  end_time: instantText,
  max_power: powerShape,
  energy: z.object({ units: z.enum(['WH', 'KWH']), value: exactDecimal.describe('What is planned.') }),
  cost: costShape.describe('Below 0 where it earns.'),
  savings: savingsShape,
  schedule: z.array(z.object({ start_time: instantText, end_time: instantText, power: powerShape })),
})

const scheduleAmountShape = z.object({
  id: idText('sae'),
  object: z.literal('schedule_amount'),
  live_mode: storedMembers.live_mode,
  location_id: idText('loc'),
  location_timezone: z.string(),
  currency_code: z.string(),
  max_power: orNull(powerShape),
  shaving_threshold: orNull(z.object(boundShape)),
  cost: costShape.describe('Imports less exports: the sum of all elements.'),
  savings: savingsShape,
  data: z.array(elementShape),
  unpriced: unpricedShape,
  time_created: storedMembers.time_created,
  account_id: storedMembers.account_id,
})

/** A schedule by amount as it is answered; `body` is what was asked for, element by element of the plan. `zone` is that of the location. */
type AmountView = ScheduleView & { readonly body: AmountBody; readonly plan: AmountPlan; readonly zone: TimeZone }

const percentScale = 4

const savingsToWire = (baseline: Money, cost: Money) => ({
  value: scaledNumber(baseline - cost, moneyScale),
  percentage:
    baseline <= 0n ? null : scaledNumber(divideHalfEven((baseline - cost) * 1_000_000n, baseline), percentScale),
})

const powerToWire = (power: bigint, units: PowerInput['units']) => ({
  units,
  value: scaledNumber(power, units === 'KW' ? energyScale + 3 : energyScale),
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

/** Write a schedule by amount: elements in the order of the request, each in the offsets that its own end_time asks for. */
export const scheduleAmountToWire = ({
  body,
  plan,
  zone,
  ...view
}: AmountView): z.input<typeof scheduleAmountShape> => ({
  id: view.id,
  object: 'schedule_amount',
  live_mode: view.liveMode,
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
  time_created: writeInstant(view.createdAt),
  account_id: view.accountId,
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

/** What each window of the example runs at in the end, in hours from its start and 1e-4 per kWh, and what it would pay at once. */
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
  const plan = { devices, cost: sumOf('cost'), baseline: sumOf('baseline'), confidence: 10_000, unpriced: [] }
  return scheduleAmountToWire({ ...exampleView, id: 'sae_0198c0ffee00112233445566', zone: exampleZone, body, plan })
}

/** How long a schedule by amount can be read again, in ms. */
export const scheduleRetentionMs = 86_400_000

const renames: Operation['renames'] = {
  body: [{ current: 'data.tariff_direction', earlier: 'data.direction' }],
  answer: [
    { current: 'cost', earlier: 'tariff' },
    { current: 'data.tariff_direction', earlier: 'data.direction' },
    { current: 'data.cost', earlier: 'data.tariff' },
  ],
}

export const scheduleAmount = defineOperation({
  id: 'schedule_amount_create',
  summary: 'Schedule by amount of energy',
  description:
    'Plans when the devices of a location take or give their energy, at the least cost of all of them together, under the power of each and of the location. The plan is the exact optimum, and the same request gives the same plan. Estimates of own generation (LOCAL records with a confidence below 1) supply imports outside the cap. A plan that cannot be is refused, naming the devices and hours that bind. The event schedule.created tells of the plan.',
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
    'device_not_found',
    'end_before_start',
    'interval_too_long',
    'no_tariff_connected',
    'no_price_data',
    'pending_connect',
    'schedule_infeasible',
  ],
  examples: { body: exampleBody, answer: example() },
})

export const scheduleAmountRetrieve = defineOperation({
  id: 'schedule_amount_retrieve',
  summary: 'Retrieve a schedule by amount',
  description:
    'Gives a schedule by amount as it was made, for 24 hours. Its instants stand in the offsets of the request that made it.',
  tag: 'Schedules',
  access: 'read',
  routes: sameRoute('GET', '/schedules/{id}'),
  answer: scheduleAmount.answer,
  status: 200,
  renames: { answer: renames?.answer ?? [] },
  examples: { answer: example() },
})
