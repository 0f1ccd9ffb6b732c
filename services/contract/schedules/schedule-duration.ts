import { z } from 'zod'
import { writeInstant } from '../../domain/instant.ts'
import type { Slot } from '../../domain/schedule/slot.ts'
import { count, exactDecimal, idText, instantText, storedMembers } from '../answer-field.ts'
import { confidenceScale } from '../costs/instant-cost.ts'
import { fields, integer, optional } from '../field.ts'
import { scaledNumber } from '../json/exact-number.ts'
import { defineOperation } from '../operation.ts'
import { locationOnly } from '../reference.ts'
import {
  exampleView,
  intervalsToWire,
  intervalToWire,
  priceScale,
  sharedWindowShape,
  sharedWindowToWire,
  unpricedShape,
  type WindowView,
  windowBody,
  windowRenames,
  windowRequestShape,
  windowRequestToWire,
} from './schedule-window.ts'

const durationBody = fields({
  ...windowBody,
  duration: integer({ min: 1, max: 1_000_000, unit: 'minutes' }).describe(
    'Minutes in all, no more than the window has.',
  ),
  contiguous: optional(z.boolean()).describe('True: in one run. Otherwise the time may be split.'),
})

const scheduleDurationShape = z.object({
  id: idText('sdu'),
  object: z.literal('schedule_duration'),
  ...sharedWindowShape,
  next_update: instantText.optional(),
  request: z.object({ ...windowRequestShape, duration: count, contiguous: z.boolean() }),
  data: z
    .array(
      z.object({
        start_time: instantText,
        end_time: instantText,
        price: z.object({
          average: exactDecimal.describe('Major units of the currency per kWh, weighed by time.'),
          confidence: exactDecimal.describe('0 to 1; 1 is known.'),
        }),
      }),
    )
    .describe('In the order of time; as long as the duration in all.'),
  unpriced: unpricedShape,
  time_created: storedMembers.time_created,
  account_id: storedMembers.account_id,
})

/** A schedule by duration (minutes) as it is answered. */
type DurationView = WindowView & {
  readonly duration: number
  readonly contiguous: boolean
  readonly slots: readonly Slot[]
}

/** Write a schedule by duration. */
export const scheduleDurationToWire = (view: DurationView): z.input<typeof scheduleDurationShape> => ({
  id: view.id,
  object: 'schedule_duration',
  ...sharedWindowToWire(view),
  request: { ...windowRequestToWire(view), duration: view.duration, contiguous: view.contiguous },
  data: view.slots.map(({ start, end, average, confidence }) => ({
    ...intervalToWire({ start, end }, view.offsetOf),
    price: {
      average: scaledNumber(average, priceScale),
      confidence: scaledNumber(BigInt(confidence), confidenceScale),
    },
  })),
  unpriced: intervalsToWire(view.unpriced, view.offsetOf),
  time_created: writeInstant(view.createdAt),
  account_id: view.accountId,
})

const start = 1_757_844_000_000
const hourMs = 3_600_000

const example = scheduleDurationToWire({
  ...exampleView,
  id: 'sdu_0198c0ffee00112233445566',
  interval: { start, end: start + 12 * hourMs, startOffset: 120, endOffset: 120, direction: 'IMPORT' },
  offsetOf: () => 120,
  segment: 'LOW',
  nextUpdate: null,
  duration: 180,
  contiguous: false,
  slots: [
    { start: start + hourMs, end: start + 3 * hourMs, average: 212_500_000n, confidence: 10_000 },
    { start: start + 5 * hourMs, end: start + 6 * hourMs, average: 231_900_000n, confidence: 10_000 },
  ],
})

export const scheduleDuration = defineOperation({
  id: 'schedule_duration_retrieve',
  summary: 'Schedule by duration',
  description:
    'Finds the cheapest or the dearest time of a given length in a window, split or in one run. The answer is the exact optimum and is bound to no grid; of equal ones it is that with pieces joined, then the earliest. Time without a price is left out and listed.',
  tag: 'Schedules',
  access: 'read',
  routes: {
    current: [{ method: 'POST', path: '/schedules/duration/{id}' }],
    earlier: [{ method: 'GET', path: '/slots/time/{id}', bodyInQuery: { numbers: ['duration'] } }],
  },
  references: { id: locationOnly },
  body: durationBody,
  answer: { name: 'ScheduleDuration', shape: scheduleDurationShape },
  status: 200,
  renames: {
    body: [...windowRenames.body, { current: 'contiguous' }],
    answer: [
      { current: 'id', earlier: 'id', prefixes: { sdu: 'sta' } },
      { current: 'object', earlier: 'object', values: { schedule_duration: 'slot_time' } },
      { current: 'request.contiguous' },
      { current: 'data.price.confidence', earlier: 'data.tariff.confidence' },
      ...windowRenames.answer,
    ],
  },
  refusals: [
    'end_before_start',
    'interval_too_long',
    'duration_too_long',
    'no_tariff_connected',
    'no_price_data',
    'pending_connect',
  ],
  examples: {
    body: {
      start_time: '2025-09-14T12:00:00+02:00',
      end_time: '2025-09-15T00:00:00+02:00',
      segment: 'LOW',
      duration: 180,
    },
    answer: example,
  },
})
