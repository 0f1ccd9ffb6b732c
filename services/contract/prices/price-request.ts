import { z } from 'zod'
import type { AnswerOffset } from '../../domain/answer-offset.ts'
import type { TimeZone } from '../../domain/civil-time.ts'
import { type OffsetInstant, writeInstant } from '../../domain/instant.ts'
import { isLongerThanDays } from '../../domain/price/day-limit.ts'
import { accepted, type Refusal, type Result, refused } from '../../domain/refusal.ts'
import type { TariffDirection } from '../../domain/tariff/tariff.ts'
import { idText, instantText, storedMembers } from '../answer-field.ts'
import type { ApiVersion } from '../api-version.ts'
import type { VersionRename } from '../earlier-api-version.ts'
import { fields, instant, optional, word } from '../field.ts'

/** The longest span of prices. Source: docs/rules/prices-and-audits.md #span. */
export const priceLimits = { days: 90 } as const

const directions = ['IMPORT', 'EXPORT', 'LOCAL'] as const

/** What is asked of a price or an audit. */
export const priceBody = fields({
  start_time: optional(instant).describe('The present when left out; may be in the past.'),
  end_time: instant.describe(`At most ${priceLimits.days} days after start_time, by the clock of the location.`),
  tariff_direction: optional(word(...directions)).describe('IMPORT when left out.'),
})

/** A half-open span (ms) that is asked for, with the offsets (minutes) in which its ends are written; that of the end decides on the answer's. */
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
 * Read the span of a request that arrived at `at` (ms). The earlier layout knows whole seconds.
 * Refuses `end_before_start` for an empty span.
 * Source: docs/rules/prices-and-audits.md #span; docs/rules/earlier-version.md #prices.
 */
export const readPriceInterval = (
  body: IntervalBody,
  apiVersion: ApiVersion,
  at: number,
): Result<RequestedInterval> => {
  const toVersionPrecision = (instantAt: number): number =>
    apiVersion === 'earlier' ? Math.floor(instantAt / 1000) * 1000 : instantAt
  const {
    start_time: from = { at, offsetMinutes: body.end_time.offsetMinutes },
    end_time: to,
    tariff_direction: direction = 'IMPORT',
  } = body
  const [start, end] = [toVersionPrecision(from.at), toVersionPrecision(to.at)]
  if (end <= start) {
    const than = body.start_time === undefined ? 'the present, for start_time is left out' : 'start_time'
    return refused('end_before_start', `end_time must be after ${than}`, 'end_time')
  }
  return accepted({ start, end, startOffset: from.offsetMinutes, endOffset: to.offsetMinutes, direction })
}

/** Refuse a span of more days than a limit, by the clock of its location (`interval_too_long`); null when it is short enough. */
export const refuseLongInterval = (span: RequestedInterval, zone: TimeZone, days: number): Refusal | null =>
  isLongerThanDays(zone, span, days)
    ? refused('interval_too_long', `end_time must be at most ${days} days after start_time`, 'end_time').refusal
    : null

/** The members that prices and audits share; `request` is the request, what it left out filled in. */
export const sharedPriceShape = {
  live_mode: storedMembers.live_mode,
  location_id: idText('loc'),
  location_timezone: z.string(),
  currency_code: z.string(),
  tariff_direction: z.enum(directions),
  last_updated: instantText.describe('When the location, its tariffs or its market prices last changed.'),
} as const

export const requestShape = {
  start_time: instantText,
  end_time: instantText,
  tariff_direction: z.enum(directions),
} as const

/** What prices and audits are answered with; times in ms. */
export type PriceView<Element> = {
  readonly id: string
  readonly accountId: string
  readonly liveMode: boolean
  readonly locationId: string
  readonly timezone: string
  readonly currencyCode: string
  readonly interval: RequestedInterval
  readonly offsetOf: AnswerOffset
  readonly lastUpdated: number
  readonly elements: readonly Element[]
  readonly createdAt: number
}

/** Write the members that prices and audits share. */
export const sharedPriceToWire = (view: PriceView<unknown>) => ({
  live_mode: view.liveMode,
  location_id: view.locationId,
  location_timezone: view.timezone,
  currency_code: view.currencyCode,
  tariff_direction: view.interval.direction,
  last_updated: writeInstant(view.lastUpdated),
})

/** Write the request of a span: each end in the offset it was written in. */
export const requestToWire = ({ start, end, startOffset, endOffset, direction }: RequestedInterval) => ({
  start_time: writeInstant(start, startOffset),
  end_time: writeInstant(end, endOffset),
  tariff_direction: direction,
})

/** The names of the direction in the earlier layout. */
export const directionVersionRenames = {
  body: [{ current: 'tariff_direction', earlier: 'direction' }],
  answer: [
    { current: 'tariff_direction', earlier: 'direction' },
    { current: 'request.tariff_direction', earlier: 'request.direction' },
  ],
} as const satisfies Readonly<Record<string, readonly VersionRename[]>>
