import { z } from 'zod'
import { hourMs, minuteMs } from '../../domain/interval.ts'
import type { PriceBound, Slot } from '../../domain/schedule/slot.ts'
import { confidenceScale, count, exactDecimal, instantText, objectShape, objectToWire } from '../answer-field.ts'
import { fields, integer, optional, refuseField } from '../field.ts'
import { scaledNumber } from '../json/exact-number.ts'
import { defineOperation } from '../operation.ts'
import { locationPriceShape } from '../prices/price-request.ts'
import { locationOnly } from '../reference.ts'
import {
  absoluteOrRelative,
  boundBody,
  boundShape,
  boundToWire,
  exampleView,
  intervalsToWire,
  intervalToWire,
  priceScale,
  sharedWindowToWire,
  unpricedShape,
  type WindowView,
  windowBody,
  windowRenames,
  windowRequestShape,
  windowRequestToWire,
} from './schedule-window.ts'

const start = 1_757_844_000_000

const bodyExample = {
  start_time: '2025-09-14T12:00:00+02:00',
  end_time: '2025-09-15T00:00:00+02:00',
  segment: 'LOW',
}

const windowExample = {
  ...exampleView,
  interval: { start, end: start + 12 * hourMs, startOffset: 120, endOffset: 120, direction: 'IMPORT' },
  offsetOf: () => 120,
  segment: 'LOW',
  nextUpdate: null,
} as const

const durationBody = fields({
  ...windowBody,
  duration: integer({ min: 1, max: 1_000_000, unit: 'minutes' }).describe(
    'Total minutes, at most the length of the window.',
  ),
  contiguous: optional(z.boolean()).describe('True: one uninterrupted run. Default: the time may be split.'),
})

const scheduleDurationShape = objectShape('sdu', 'schedule_duration', {
  ...locationPriceShape,
  next_update: instantText.optional(),
  request: z.object({ ...windowRequestShape, duration: count, contiguous: z.boolean() }),
  data: z
    .array(
      z.object({
        start_time: instantText,
        end_time: instantText,
        price: z.object({
          average: exactDecimal.describe('Major units of the currency per kWh, weighted by time.'),
          confidence: exactDecimal.describe('0 to 1; 1 is known.'),
        }),
      }),
    )
    .describe('Ordered by time. The total length is the duration.'),
  unpriced: unpricedShape,
})

/** Data of a schedule by duration; `duration` in minutes. */
type DurationView = WindowView & {
  readonly duration: number
  readonly contiguous: boolean
  readonly slots: readonly Slot[]
}

/** Write a schedule by duration. */
export const scheduleDurationToWire = (view: DurationView): z.input<typeof scheduleDurationShape> =>
  objectToWire('schedule_duration', view, {
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
  })

const durationExample = scheduleDurationToWire({
  ...windowExample,
  id: 'sdu_0198c0ffee00112233445566',
  duration: 180,
  contiguous: false,
  slots: [
    { start: start + hourMs, end: start + 3 * hourMs, average: 212_500_000n, confidence: 10_000 },
    { start: start + 5 * hourMs, end: start + 6 * hourMs, average: 231_900_000n, confidence: 10_000 },
  ],
})

export const scheduleDuration = defineOperation({
  id: 'schedule_duration_retrieve',
  unaudited: 'Only calculates.',
  summary: 'Schedule by duration',
  description:
    'Finds the cheapest or most expensive time of a given length in a window, split or in one run. The answer is the exact optimum, without a time grid. Among equal results, joined parts have priority, then the earliest time. Time without a price is omitted and listed.',
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
      ...bodyExample,
      duration: 180,
    },
    answer: durationExample,
  },
})

const limitBody = fields({ ...windowBody, ...boundBody })
  .superRefine(({ absolute, relative }, context) => {
    if (absolute === undefined && relative === undefined) {
      refuseField(context, 'field_required', 'is required, unless relative is given', ['absolute'])
    }
  })
  .meta(absoluteOrRelative)

const scheduleLimitShape = objectShape('sli', 'schedule_limit', {
  ...locationPriceShape,
  next_update: instantText.optional(),
  duration: count.describe('Total length of all elements in whole minutes.'),
  request: z.object({ ...windowRequestShape, ...boundShape }),
  data: z
    .array(
      z.object({
        start_time: instantText,
        end_time: instantText,
        price: z.object({ average: exactDecimal.describe('Major units of the currency per kWh, weighted by time.') }),
      }),
    )
    .describe('Ordered by time. Adjacent times are one element.'),
  unpriced: unpricedShape,
})

/** Data of a schedule by limit; `durationMs` is the total length of its slots. */
type LimitView = WindowView & {
  readonly bound: PriceBound
  readonly durationMs: number
  readonly slots: readonly Slot[]
}

/** Write a schedule by limit. */
export const scheduleLimitToWire = (view: LimitView): z.input<typeof scheduleLimitShape> =>
  objectToWire('schedule_limit', view, {
    ...sharedWindowToWire(view),
    duration: Math.floor(view.durationMs / minuteMs),
    request: { ...windowRequestToWire(view), ...boundToWire(view.bound) },
    data: view.slots.map(({ start, end, average }) => ({
      ...intervalToWire({ start, end }, view.offsetOf),
      price: { average: scaledNumber(average, priceScale) },
    })),
    unpriced: intervalsToWire(view.unpriced, view.offsetOf),
  })

const limitExample = scheduleLimitToWire({
  ...windowExample,
  id: 'sli_0198c0ffee00112233445566',
  bound: { absolute: 220_000_000n, relative: null },
  durationMs: 2 * hourMs,
  slots: [{ start: start + hourMs, end: start + 3 * hourMs, average: 212_500_000n, confidence: 10_000 }],
})

export const scheduleLimit = defineOperation({
  id: 'schedule_limit_retrieve',
  unaudited: 'Only calculates.',
  summary: 'Schedule by price limit',
  description:
    'Finds all time of a window at or below a price (LOW), or at or above a price (HIGH). The limit is a price, or a position between the lowest and the highest price of the window. Time without a price is omitted and listed.',
  tag: 'Schedules',
  access: 'read',
  routes: {
    current: [{ method: 'POST', path: '/schedules/limit/{id}' }],
    earlier: [{ method: 'GET', path: '/slots/threshold/{id}', bodyInQuery: { numbers: ['absolute', 'relative'] } }],
  },
  references: { id: locationOnly },
  body: limitBody,
  answer: { name: 'ScheduleLimit', shape: scheduleLimitShape },
  status: 200,
  renames: {
    body: windowRenames.body,
    answer: [
      { current: 'id', earlier: 'id', prefixes: { sli: 'spl' } },
      { current: 'object', earlier: 'object', values: { schedule_limit: 'slot_threshold' } },
      ...windowRenames.answer,
    ],
  },
  refusals: ['end_before_start', 'interval_too_long', 'no_tariff_connected', 'no_price_data', 'pending_connect'],
  examples: {
    body: {
      ...bodyExample,
      absolute: 0.22,
    },
    answer: limitExample,
  },
})
