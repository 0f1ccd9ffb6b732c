import { z } from 'zod'
import type { AnswerOffset } from '../../domain/answer-offset.ts'
import { type OffsetInstant, writeInstant } from '../../domain/instant.ts'
import { accepted, type Result, refused } from '../../domain/refusal.ts'
import type { PriceBound } from '../../domain/schedule/limit.ts'
import type { TariffDirection } from '../../domain/tariff/tariff.ts'
import { exactDecimal, idText, instantText, orNull, storedMembers } from '../answer-field.ts'
import type { VersionRename } from '../earlier-api-version.ts'
import { instant, optional, scaledDecimal, word } from '../field.ts'
import { scaledNumber } from '../json/exact-number.ts'
import type { RequestedInterval } from '../prices/price-request.ts'

/** The longest windows, in days. Source: docs/rules/limits.md #objects. */
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

/** The members by which a window and its prices are chosen. */
export const windowBody = {
  start_time: optional(instant).describe('The present when left out; may be in the past.'),
  end_time: instant.describe(
    'At most 3 days after start_time, by the clock of the location; 90 in the earlier layout.',
  ),
  tariff_direction: optional(word(...directions)).describe('IMPORT when left out.'),
  segment: word('LOW', 'HIGH').describe('LOW: cheap time. HIGH: dear time.'),
} as const

const maxPrice = 1_000_000n * 10n ** BigInt(priceScale)

/** A bound of price, of which one member is required; absolute wins. */
export const boundBody = {
  absolute: optional(scaledDecimal({ scale: priceScale, min: -maxPrice, max: maxPrice, round: true })).describe(
    'A price in major units per kWh; wins over relative.',
  ),
  relative: optional(
    scaledDecimal({ scale: shareScale, min: 0n, max: 10n ** BigInt(shareScale), round: true }),
  ).describe('A share, 0 to 1, of the way from the lowest price of the span to the highest.'),
} as const

/** The rule that one of the two bounds is required, as JSON Schema says it. */
export const absoluteOrRelative = { anyOf: [{ required: ['absolute'] }, { required: ['relative'] }] } as const

export const boundShape = { absolute: orNull(exactDecimal), relative: orNull(exactDecimal) } as const

/** Write a bound as it was given; null members were not. */
export const boundToWire = ({ absolute, relative }: PriceBound) => ({
  absolute: absolute === null ? null : scaledNumber(absolute, priceScale),
  relative: relative === null ? null : scaledNumber(relative, shareScale),
})

type WindowBody = {
  readonly start_time?: OffsetInstant | undefined
  readonly end_time: OffsetInstant
  readonly tariff_direction?: TariffDirection | undefined
}

/**
 * Read the window of a request that arrived at `at` (ms). Refuses `end_before_start` for an empty one.
 * Source: docs/rules/schedules.md #windows.
 */
export const readWindow = (body: WindowBody, at: number): Result<RequestedInterval> => {
  const { start_time: from = { at, offsetMinutes: body.end_time.offsetMinutes }, end_time: to } = body
  if (to.at <= from.at) {
    const than = body.start_time === undefined ? 'the present, for start_time is left out' : 'start_time'
    return refused('end_before_start', `end_time must be after ${than}`, 'end_time')
  }
  const { tariff_direction: direction = 'IMPORT' } = body
  return accepted({
    start: from.at,
    end: to.at,
    startOffset: from.offsetMinutes,
    endOffset: to.offsetMinutes,
    direction,
  })
}

/** The members that schedules of a window share. */
export const sharedWindowShape = {
  live_mode: storedMembers.live_mode,
  location_id: idText('loc'),
  location_timezone: z.string(),
  currency_code: z.string(),
  tariff_direction: z.enum(directions),
} as const

export const windowRequestShape = {
  tariff_direction: z.enum(directions),
  segment: z.enum(['LOW', 'HIGH']),
  start_time: instantText,
  end_time: instantText,
} as const

export const unpricedShape = z
  .array(z.object({ start_time: instantText, end_time: instantText }).meta({ component: 'TimeSpan' }))
  .describe('Time without a price, which is never planned.')

/** A half-open span (ms). */
type Interval = { readonly start: number; readonly end: number }

/** Join spans that touch or overlap, such as those that imports and exports both lack. */
const joinIntervals = (intervals: readonly Interval[]): readonly Interval[] => {
  const all: Interval[] = []
  for (const { start, end } of intervals.toSorted((a, b) => a.start - b.start)) {
    const last = all.at(-1)
    if (last === undefined || last.end < start) all.push({ start, end })
    else all[all.length - 1] = { start: last.start, end: Math.max(last.end, end) }
  }
  return all
}

/** Write a span in the offsets of an answer. */
export const intervalToWire = ({ start, end }: Interval, offsetOf: AnswerOffset) => ({
  start_time: writeInstant(start, offsetOf(start)),
  end_time: writeInstant(end, offsetOf(end)),
})

/** Write the time that spans cover, each moment of it once. */
export const intervalsToWire = (intervals: readonly Interval[], offsetOf: AnswerOffset) =>
  joinIntervals(intervals).map(interval => intervalToWire(interval, offsetOf))

/** What every schedule is answered with; times in ms. */
export type ScheduleView = {
  readonly id: string
  readonly accountId: string
  readonly liveMode: boolean
  readonly locationId: string
  readonly timezone: string
  readonly currencyCode: string
  readonly unpriced: readonly Interval[]
  readonly createdAt: number
}

/** A schedule of a window; `nextUpdate` (ms) is null in the current layout. */
export type WindowView = ScheduleView & {
  readonly interval: RequestedInterval
  readonly offsetOf: AnswerOffset
  readonly segment: 'LOW' | 'HIGH'
  readonly nextUpdate: number | null
}

/** Write the members that schedules of a window share. */
export const sharedWindowToWire = (view: WindowView) => ({
  live_mode: view.liveMode,
  location_id: view.locationId,
  location_timezone: view.timezone,
  currency_code: view.currencyCode,
  tariff_direction: view.interval.direction,
  ...(view.nextUpdate === null ? {} : { next_update: writeInstant(view.nextUpdate) }),
})

/** Write the request of a window: each end in the offset it was written in. */
export const windowRequestToWire = ({ interval, segment }: WindowView) => ({
  tariff_direction: interval.direction,
  segment,
  start_time: writeInstant(interval.start, interval.startOffset),
  end_time: writeInstant(interval.end, interval.endOffset),
})

/** The differences between the layouts that schedules of a window share. Source: docs/rules/earlier-version.md #names. */
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

/** Where the example of every schedule is, and when. */
export const exampleView = {
  accountId: 'acc_0198c0ffee00112233445566',
  liveMode: false,
  locationId: 'loc_0198c0ffee00112233445566',
  timezone: 'Europe/Berlin',
  currencyCode: 'EUR',
  unpriced: [],
  createdAt: 1_757_844_100_000,
} as const
