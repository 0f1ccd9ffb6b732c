import { z } from 'zod'
import type { AnswerOffset } from '../../domain/answer-offset.ts'
import { writeInstant } from '../../domain/instant.ts'
import { type Interval, unionOfIntervals } from '../../domain/interval.ts'
import type { PriceBound } from '../../domain/schedule/slot.ts'
import type { OwnedObject } from '../../domain/tenant.ts'
import { exactDecimal, instantText, orNull } from '../answer-field.ts'
import type { VersionRename } from '../earlier-api-version.ts'
import { instant, oneOf, optional, scaledDecimal } from '../field.ts'
import { scaledNumber } from '../json/exact-number.ts'
import { locationPriceToWire, type RequestedInterval } from '../prices/price-request.ts'

/** Limits of schedules; windows in days. Source: docs/rules/limits.md #objects. */
export const scheduleLimits = {
  windowDays: { current: 3, earlier: 90 },
  amountDays: 7,
  devices: 1_000,
  windows: 2_000,
} as const

const directions = ['IMPORT', 'EXPORT', 'LOCAL'] as const
/** Digits after the point of a price and of a share. */
export const priceScale = 9
const shareScale = 9

/** Members of a request that select a window and its prices. */
export const windowBody = {
  start_time: optional(instant).describe('Default: now. May be in the past.'),
  end_time: instant.describe(
    'At most 3 days after start_time, by the clock of the location; 90 days in the earlier API version.',
  ),
  tariff_direction: optional(oneOf(...directions)).describe('Default: IMPORT.'),
  segment: oneOf('LOW', 'HIGH').describe('LOW: cheap time. HIGH: expensive time.'),
} as const

const maxPrice = 1_000_000n * 10n ** BigInt(priceScale)

/** Price bound. One member is required; `absolute` has priority. */
export const boundBody = {
  absolute: optional(scaledDecimal({ scale: priceScale, min: -maxPrice, max: maxPrice, round: true })).describe(
    'A price in major units per kWh; has priority over relative.',
  ),
  relative: optional(
    scaledDecimal({ scale: shareScale, min: 0n, max: 10n ** BigInt(shareScale), round: true }),
  ).describe('Position between the lowest price of the period (0) and the highest price (1).'),
} as const

/** JSON Schema of the rule that one of the two bounds is required. */
export const absoluteOrRelative = { anyOf: [{ required: ['absolute'] }, { required: ['relative'] }] } as const

export const boundShape = { absolute: orNull(exactDecimal), relative: orNull(exactDecimal) } as const

/** Write a bound; absent members are null. */
export const boundToWire = ({ absolute, relative }: PriceBound) => ({
  absolute: absolute === null ? null : scaledNumber(absolute, priceScale),
  relative: relative === null ? null : scaledNumber(relative, shareScale),
})

export const windowRequestShape = {
  tariff_direction: z.enum(directions),
  segment: z.enum(['LOW', 'HIGH']),
  start_time: instantText,
  end_time: instantText,
} as const

export const unpricedShape = z
  .array(z.object({ start_time: instantText, end_time: instantText }).meta({ component: 'TimeSpan' }))
  .describe('Time without a price. Nothing is planned in this time.')

/** Write an interval in the offsets of an answer. */
export const intervalToWire = ({ start, end }: Interval, offsetOf: AnswerOffset) => ({
  start_time: writeInstant(start, offsetOf(start)),
  end_time: writeInstant(end, offsetOf(end)),
})

/** Write the time that intervals cover, without overlaps. */
export const intervalsToWire = (intervals: readonly Interval[], offsetOf: AnswerOffset) =>
  unionOfIntervals(intervals).map(interval => intervalToWire(interval, offsetOf))

/** Data of every schedule; times in ms. */
export type ScheduleView = OwnedObject & {
  readonly locationId: string
  readonly timezone: string
  readonly currencyCode: string
  readonly unpriced: readonly Interval[]
}

/** Data of a schedule of a window; `nextUpdate` (ms) is null in the current API version. */
export type WindowView = ScheduleView & {
  readonly interval: RequestedInterval
  readonly offsetOf: AnswerOffset
  readonly segment: 'LOW' | 'HIGH'
  readonly nextUpdate: number | null
}

/** Write the members that schedules of a window share. */
export const sharedWindowToWire = (view: WindowView) => ({
  ...locationPriceToWire(view),
  ...(view.nextUpdate === null ? {} : { next_update: writeInstant(view.nextUpdate) }),
})

/** Write the request of a window, each end in its own offset. */
export const windowRequestToWire = ({ interval, segment }: WindowView) => ({
  tariff_direction: interval.direction,
  segment,
  start_time: writeInstant(interval.start, interval.startOffset),
  end_time: writeInstant(interval.end, interval.endOffset),
})

/**
 * Differences between the API versions that schedules of a window share. Source: docs/rules/earlier-version.md #names.
 */
export const windowRenames = {
  body: [
    { current: 'tariff_direction', earlier: 'tariff' },
    { current: 'tariff_direction', earlier: 'direction' },
  ],
  answer: [
    { current: 'tariff_direction', earlier: 'direction' },
    { current: 'request.tariff_direction', earlier: 'request.tariff' },
    { earlier: 'next_update', inRequest: true },
    { current: 'data.price.average', earlier: 'data.tariff.rate_avg_' },
    { current: 'data.price.average', earlier: 'data.tariff.rate_avg' },
  ],
} as const satisfies Readonly<Record<string, readonly VersionRename[]>>

/** Data of the examples of all schedules. */
export const exampleView = {
  accountId: 'acc_0198c0ffee00112233445566',
  liveMode: false,
  locationId: 'loc_0198c0ffee00112233445566',
  timezone: 'Europe/Berlin',
  currencyCode: 'EUR',
  unpriced: [],
  createdAt: 1_757_844_100_000,
} as const
