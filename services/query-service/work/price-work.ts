import type { ApiVersion } from '../../contract/api-version.ts'
import { type EarlierPriceOptions, priceRetrieve, priceToWire } from '../../contract/prices/price.ts'
import { priceAuditRetrieve, priceAuditToWire } from '../../contract/prices/price-audit.ts'
import type { PriceView, RequestedInterval } from '../../contract/prices/price-request.ts'
import { scheduleDuration, scheduleDurationToWire } from '../../contract/schedules/schedule-duration.ts'
import { scheduleLimit, scheduleLimitToWire } from '../../contract/schedules/schedule-limit.ts'
import type { WindowView } from '../../contract/schedules/schedule-window.ts'
import { answerOffset } from '../../domain/answer-offset.ts'
import {
  type PriceRequest,
  type PriceSeries,
  priceAuditByDay,
  priceSeriesByDay,
  type UnpricedInterval,
} from '../../domain/price/price-series.ts'
import { type PricingCopy, snapshotFromCopy } from '../../domain/price/pricing-copy.ts'
import { scheduleDuration as chooseDuration } from '../../domain/schedule/duration.ts'
import { scheduleLimit as chooseLimit, type PriceBound } from '../../domain/schedule/limit.ts'
import { accumulatorKey } from '../../domain/tariff/accumulator.ts'
import type { PausableWork } from '../../platform/work-thread/work-messages.ts'
import type { CountedSteps } from '../prices/counted-steps.ts'
import { answerTexts, encodeTexts, type LongAnswer } from './answer-bytes.ts'

/** What prices a span, as plain data. `firstContract`: time before it may be left out (ms); null where there never was a contract. */
export type SeriesInput = {
  readonly pricing: PricingCopy
  readonly request: Omit<PriceRequest, 'counted'>
  readonly counted: CountedSteps
  readonly firstContract: number | null
}

/** What decides on the refusal of a series: how many elements it has, its first gap, and the first one that may not be left out. */
export type SeriesHead = {
  readonly elements: number
  readonly unpriced: readonly UnpricedInterval[]
  readonly hasSlots: boolean
}

/** Tell whether a gap may not be left out of a series. Source: docs/rules/prices-and-audits.md #time-without-a-price. */
export const decidesRefusal =
  (firstContract: number | null) =>
  ({ end, missing }: UnpricedInterval): boolean =>
    missing === 'MARKET_PRICE' || firstContract === null || end > firstContract

const headOf = (
  { elements, unpriced }: PriceSeries<unknown>,
  firstContract: number | null,
  hasSlots = true,
): SeriesHead => {
  const gap = unpriced.find(decidesRefusal(firstContract))
  const gaps = [...new Set([unpriced[0], gap])].filter(one => one !== undefined)
  return { elements: elements.length, unpriced: gaps, hasSlots }
}

const priceRequestOf = ({ request, counted }: SeriesInput): PriceRequest => ({
  ...request,
  counted: (type, direction, countingStart) => counted.get(accumulatorKey(type, direction, countingStart)) ?? [],
})

type View = Omit<PriceView<never>, 'elements' | 'offsetOf'>

export type PriceInput = SeriesInput & {
  readonly view: View
  readonly apiVersion: ApiVersion
  readonly earlier: EarlierPriceOptions | null
}

/** The view of an answer with the offsets of its instants. */
const withOffsets = <ViewWithInterval extends { readonly interval: RequestedInterval }>({
  pricing,
  view,
}: {
  readonly pricing: PricingCopy
  readonly view: ViewWithInterval
}) => ({
  ...view,
  offsetOf: answerOffset(pricing.timeZone, view.interval.endOffset),
})

/** Price a span and write the answer. */
export function* priceWork(input: PriceInput): PausableWork {
  const { apiVersion, earlier, firstContract } = input
  const view = withOffsets(input)
  const series = yield* priceSeriesByDay(snapshotFromCopy(input.pricing), priceRequestOf(input))
  yield { head: headOf(series, firstContract) }
  const write: LongAnswer['write'] = (from, to) =>
    priceToWire({ ...view, earlier, elements: series.elements.slice(from, to) })
  yield* encodeTexts(answerTexts({ operation: priceRetrieve, apiVersion, count: series.elements.length, write }))
}

/** Price a span with the parts of its prices and write the answer. */
export function* auditWork(input: Omit<PriceInput, 'earlier'>): PausableWork {
  const { apiVersion, firstContract } = input
  const view = withOffsets(input)
  const series = yield* priceAuditByDay(snapshotFromCopy(input.pricing), priceRequestOf(input))
  yield { head: headOf(series, firstContract) }
  const { elements, marketSourceIds } = series
  const write: LongAnswer['write'] = (from, to) =>
    priceAuditToWire({ ...view, apiVersion, marketSourceIds, elements: elements.slice(from, to) })
  yield* encodeTexts(answerTexts({ operation: priceAuditRetrieve, apiVersion, count: elements.length, write }))
}

type WindowBase = Omit<WindowView, 'unpriced' | 'offsetOf'>

/** `duration` in minutes. */
export type DurationInput = SeriesInput & {
  readonly view: WindowBase
  readonly apiVersion: ApiVersion
  readonly duration: number
  readonly contiguous: boolean
}

const minuteMs = 60_000

/** Unpriced time is written once, beside no element. */
const unpricedOf = ({ unpriced }: PriceSeries<unknown>, to: number) => ({ unpriced: to === 0 ? unpriced : [] })

/** Choose the cheapest or dearest time of a duration and write the answer. */
export function* durationWork(input: DurationInput): PausableWork {
  const { apiVersion, duration, contiguous, firstContract } = input
  const view = withOffsets(input)
  const series = yield* priceSeriesByDay(snapshotFromCopy(input.pricing), priceRequestOf(input))
  const slots = chooseDuration(series.elements, {
    segment: view.segment,
    durationMs: duration * minuteMs,
    isContiguous: contiguous,
  })
  yield { head: headOf(series, firstContract, slots !== null) }
  const write: LongAnswer['write'] = (from, to) =>
    scheduleDurationToWire({
      ...view,
      ...unpricedOf(series, to),
      duration,
      contiguous,
      slots: (slots ?? []).slice(from, to),
    })
  yield* encodeTexts(answerTexts({ operation: scheduleDuration, apiVersion, count: slots?.length ?? 0, write }))
}

export type LimitInput = SeriesInput & {
  readonly view: WindowBase
  readonly apiVersion: ApiVersion
  readonly bound: PriceBound
}

/** Choose all time on one side of a price and write the answer. */
export function* limitWork(input: LimitInput): PausableWork {
  const { apiVersion, bound, firstContract } = input
  const view = withOffsets(input)
  const series = yield* priceSeriesByDay(snapshotFromCopy(input.pricing), priceRequestOf(input))
  yield { head: headOf(series, firstContract, series.elements.length > 0) }
  const slots = chooseLimit(series.elements, view.segment, bound)
  const durationMs = slots.reduce((sum, { start, end }) => sum + end - start, 0)
  const write: LongAnswer['write'] = (from, to) =>
    scheduleLimitToWire({ ...view, ...unpricedOf(series, to), bound, durationMs, slots: slots.slice(from, to) })
  yield* encodeTexts(answerTexts({ operation: scheduleLimit, apiVersion, count: slots.length, write }))
}
