import { z } from 'zod'
import { writeInstant } from '../../domain/instant.ts'
import type { PriceBound } from '../../domain/schedule/limit.ts'
import type { Slot } from '../../domain/schedule/slot.ts'
import { count, exactDecimal, idText, instantText, storedMembers } from '../answer-field.ts'
import { fields, refuseField } from '../field.ts'
import { scaledNumber } from '../json/exact-number.ts'
import { defineOperation } from '../operation.ts'
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
  sharedWindowShape,
  sharedWindowToWire,
  unpricedShape,
  type WindowView,
  windowBody,
  windowRenames,
  windowRequestShape,
  windowRequestToWire,
} from './schedule-window.ts'

const limitBody = fields({ ...windowBody, ...boundBody })
  .superRefine(({ absolute, relative }, context) => {
    if (absolute === undefined && relative === undefined) {
      refuseField(context, 'field_required', 'is required, unless relative is given', ['absolute'])
    }
  })
  .meta(absoluteOrRelative)

const scheduleLimitShape = z.object({
  id: idText('sli'),
  object: z.literal('schedule_limit'),
  ...sharedWindowShape,
  next_update: instantText.optional(),
  duration: count.describe('Whole minutes of all elements.'),
  request: z.object({ ...windowRequestShape, ...boundShape }),
  data: z
    .array(
      z.object({
        start_time: instantText,
        end_time: instantText,
        price: z.object({ average: exactDecimal.describe('Major units of the currency per kWh, weighed by time.') }),
      }),
    )
    .describe('In the order of time; adjacent time is one element.'),
  unpriced: unpricedShape,
  time_created: storedMembers.time_created,
  account_id: storedMembers.account_id,
})

/** A schedule by limit as it is answered; `durationMs` is the length of all its slots. */
type LimitView = WindowView & {
  readonly bound: PriceBound
  readonly durationMs: number
  readonly slots: readonly Slot[]
}

const minuteMs = 60_000

/** Write a schedule by limit. */
export const scheduleLimitToWire = (view: LimitView): z.input<typeof scheduleLimitShape> => ({
  id: view.id,
  object: 'schedule_limit',
  ...sharedWindowToWire(view),
  duration: Math.floor(view.durationMs / minuteMs),
  request: { ...windowRequestToWire(view), ...boundToWire(view.bound) },
  data: view.slots.map(({ start, end, average }) => ({
    ...intervalToWire({ start, end }, view.offsetOf),
    price: { average: scaledNumber(average, priceScale) },
  })),
  unpriced: intervalsToWire(view.unpriced, view.offsetOf),
  time_created: writeInstant(view.createdAt),
  account_id: view.accountId,
})

const start = 1_757_844_000_000
const hourMs = 3_600_000

const example = scheduleLimitToWire({
  ...exampleView,
  id: 'sli_0198c0ffee00112233445566',
  interval: { start, end: start + 12 * hourMs, startOffset: 120, endOffset: 120, direction: 'IMPORT' },
  offsetOf: () => 120,
  segment: 'LOW',
  nextUpdate: null,
  bound: { absolute: 220_000_000n, relative: null },
  durationMs: 2 * hourMs,
  slots: [{ start: start + hourMs, end: start + 3 * hourMs, average: 212_500_000n, confidence: 10_000 }],
})

export const scheduleLimit = defineOperation({
  id: 'schedule_limit_retrieve',
  summary: 'Schedule by price limit',
  description:
    'Finds all time of a window at or below a price (LOW), or at or above it (HIGH). The limit is a price, or a share of the way from the lowest price of the window to the highest. Time without a price is left out and listed.',
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
      start_time: '2025-09-14T12:00:00+02:00',
      end_time: '2025-09-15T00:00:00+02:00',
      segment: 'LOW',
      absolute: 0.22,
    },
    answer: example,
  },
})
