import { z } from 'zod'
import type { AnswerOffset } from '../../domain/answer-offset.ts'
import { isLongerThanDays, type TimeZone } from '../../domain/civil-time.ts'
import { type OffsetInstant, writeInstant } from '../../domain/instant.ts'
import { accepted, type Refusal, type Result, refused } from '../../domain/refusal.ts'
import type { TariffDirection } from '../../domain/tariff/tariff.ts'
import type { OwnedObject } from '../../domain/tenant.ts'
import { idText, instantText } from '../answer-field.ts'
import type { ApiVersion } from '../api-version.ts'
import type { VersionRename } from '../earlier-api-version.ts'
import { fields, instant, oneOf, optional } from '../field.ts'

/** Maximum interval of prices. Source: docs/rules/prices-and-audits.md #span. */
export const priceLimits = { days: 90 } as const

const directions = ['IMPORT', 'EXPORT', 'LOCAL'] as const

/** Query of the earlier API version, in which clients repeat the location of the path. */
export const repeatedLocation = { numbers: [], repeatedId: 'location_id' } as const

/** Body of a price or audit request. */
export const priceBody = fields({
  start_time: optional(instant).describe('Default: now. May be in the past.'),
  end_time: instant.describe(`At most ${priceLimits.days} days after start_time, by the clock of the location.`),
  tariff_direction: optional(oneOf(...directions)).describe('Default: IMPORT.'),
})

/**
 * Half-open interval (ms) of a request, with the offsets (minutes) of its two texts. The answer has the offset of the
 * end.
 */
export type RequestedInterval = {
  readonly start: number
  readonly end: number
  readonly startOffset: number
  readonly endOffset: number
  readonly direction: TariffDirection
}

type IntervalBody = {
  readonly start_time?: OffsetInstant | undefined
  readonly end_time: OffsetInstant
  readonly tariff_direction?: TariffDirection | undefined
}

/**
 * Read the interval of a request that arrived at `at` (ms). Both ends are rounded down to `precisionMs`.
 * Refuses `end_before_start` for an empty interval.
 * Source: docs/rules/prices-and-audits.md #span; docs/rules/schedules.md #windows.
 */
export const readInterval = (body: IntervalBody, at: number, precisionMs = 1): Result<RequestedInterval> => {
  const {
    start_time: from = { at, offsetMinutes: body.end_time.offsetMinutes },
    end_time: to,
    tariff_direction: direction = 'IMPORT',
  } = body
  const [start = 0, end = 0] = [from, to].map(one => Math.floor(one.at / precisionMs) * precisionMs)
  if (end <= start) {
    const than = body.start_time === undefined ? 'now, because start_time is absent' : 'start_time'
    return refused('end_before_start', `end_time must be after ${than}`, 'end_time')
  }
  return accepted({ start, end, startOffset: from.offsetMinutes, endOffset: to.offsetMinutes, direction })
}

/**
 * Read the interval of a price or audit request. The earlier API version rounds down to whole seconds.
 * Source: docs/rules/earlier-version.md #prices.
 */
export const readPriceInterval = (body: IntervalBody, apiVersion: ApiVersion, at: number): Result<RequestedInterval> =>
  readInterval(body, at, apiVersion === 'earlier' ? 1000 : 1)

/** Refuse an interval of more than `days` local days (`interval_too_long`). Returns null for a shorter interval. */
export const refuseLongInterval = (interval: RequestedInterval, zone: TimeZone, days: number): Refusal | null =>
  isLongerThanDays(zone, interval, days)
    ? refused('interval_too_long', `end_time must be at most ${days} days after start_time`, 'end_time').refusal
    : null

/** Members that prices, audits and schedules share. */
export const locationPriceShape = {
  location_id: idText('loc'),
  location_timezone: z.string(),
  currency_code: z.string(),
  tariff_direction: z.enum(directions),
} as const

/** Members that prices and audits share. */
export const sharedPriceShape = {
  ...locationPriceShape,
  last_updated: instantText.describe('Time of the last change of the location, its tariffs or its market prices.'),
} as const

export const requestShape = {
  start_time: instantText,
  end_time: instantText,
  tariff_direction: z.enum(directions),
} as const

/** Data of a price or audit answer; times in ms. */
export type PriceView<Element> = OwnedObject & {
  readonly locationId: string
  readonly timezone: string
  readonly currencyCode: string
  readonly interval: RequestedInterval
  readonly offsetOf: AnswerOffset
  readonly lastUpdated: number
  readonly elements: readonly Element[]
}

/** Write the members that prices, audits and schedules share. */
export const locationPriceToWire = (
  view: Pick<PriceView<unknown>, 'locationId' | 'timezone' | 'currencyCode' | 'interval'>,
) => ({
  location_id: view.locationId,
  location_timezone: view.timezone,
  currency_code: view.currencyCode,
  tariff_direction: view.interval.direction,
})

/** Write the members that prices and audits share. */
export const sharedPriceToWire = (view: PriceView<unknown>) => ({
  ...locationPriceToWire(view),
  last_updated: writeInstant(view.lastUpdated),
})

/** Write the interval of a request, each end in its own offset. */
export const requestToWire = ({ start, end, startOffset, endOffset, direction }: RequestedInterval) => ({
  start_time: writeInstant(start, startOffset),
  end_time: writeInstant(end, endOffset),
  tariff_direction: direction,
})

/** Names of the direction in the earlier API version. */
export const directionVersionRenames = {
  body: [{ current: 'tariff_direction', earlier: 'direction' }],
  answer: [
    { current: 'tariff_direction', earlier: 'direction' },
    { current: 'request.tariff_direction', earlier: 'request.direction' },
  ],
} as const satisfies Readonly<Record<string, readonly VersionRename[]>>
