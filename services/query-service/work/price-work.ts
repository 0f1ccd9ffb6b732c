import type { Layout } from '../../contract/layout.ts'
import { type EarlierPrice, priceRetrieve, priceToWire } from '../../contract/price.ts'
import { priceAuditRetrieve, priceAuditToWire } from '../../contract/price-audit.ts'
import type { PriceSpan, PriceView } from '../../contract/price-request.ts'
import { scheduleDuration, scheduleDurationToWire } from '../../contract/schedule-duration.ts'
import { scheduleLimit, scheduleLimitToWire } from '../../contract/schedule-limit.ts'
import type { WindowView } from '../../contract/schedule-window.ts'
import { answerOffset } from '../../domain/answer-offset.ts'
import {
  type PriceRequest,
  type PriceSeries,
  priceAuditByDay,
  priceSeriesByDay,
  type UnpricedSpan,
} from '../../domain/price/price-series.ts'
import { openPricingCopy, type PricingCopy } from '../../domain/price/pricing-copy.ts'
import { scheduleDuration as chooseDuration } from '../../domain/schedule/duration.ts'
import { scheduleLimit as chooseLimit, type PriceBound } from '../../domain/schedule/limit.ts'
import { tierKey } from '../../domain/tariff/tier-count.ts'
import type { PausableWork } from '../../platform/work-thread/work-messages.ts'
import type { CountedSteps } from '../prices/price-counts.ts'
import { answerTexts, bytesOf, type LongAnswer } from './answer-bytes.ts'

/** What prices a span, as plain data. `firstContract`: time before it may be left out (ms); null where there never was a contract. */
export type PricedInput = {
  readonly pricing: PricingCopy
  readonly request: Omit<PriceRequest, 'counted'>
  readonly counted: CountedSteps
  readonly firstContract: number | null
}

/** What decides on the refusal of a series: how many elements it has, its first gap, and the first one that may not be left out. */
export type SeriesHead = { readonly elements: number; readonly unpriced: readonly UnpricedSpan[]; readonly isPossible: boolean }

/** Tell whether a gap may not be left out of a series. Source: docs/rules/prices-and-audits.md #time-without-a-price. */
export const isMissed =
  (firstContract: number | null) =>
  ({ end, missing }: UnpricedSpan): boolean =>
    missing === 'MARKET_PRICE' || firstContract === null || end > firstContract

const headOf = ({ elements, unpriced }: PriceSeries<unknown>, firstContract: number | null, isPossible = true): SeriesHead => {
  const gap = unpriced.find(isMissed(firstContract))
  const gaps = [...new Set([unpriced[0], gap])].filter(one => one !== undefined)
  return { elements: elements.length, unpriced: gaps, isPossible }
}

const requestOf = ({ request, counted }: PricedInput): PriceRequest => ({
  ...request,
  counted: (type, direction, countingStart) => counted.get(tierKey(type, direction, countingStart)) ?? [],
})

type View = Omit<PriceView<never>, 'elements' | 'offsetOf'>

export type PriceInput = PricedInput & { readonly view: View; readonly layout: Layout; readonly earlier: EarlierPrice | null }

/** The view of an answer with the offsets of its instants. */
const inOffsets = <V extends { readonly span: PriceSpan }>({ pricing, view }: { readonly pricing: PricingCopy; readonly view: V }) => ({
  ...view,
  offsetOf: answerOffset(pricing.timeZone, view.span.endOffset),
})

/** Price a span and write the answer. */
export function* priceWork(input: PriceInput): PausableWork {
  const { layout, earlier, firstContract } = input
  const view = inOffsets(input)
  const series = yield* priceSeriesByDay(openPricingCopy(input.pricing), requestOf(input))
  yield { head: headOf(series, firstContract) }
  const write: LongAnswer['write'] = (from, to) => priceToWire({ ...view, earlier, elements: series.elements.slice(from, to) })
  yield* bytesOf(answerTexts({ operation: priceRetrieve, layout, count: series.elements.length, write }))
}

/** Price a span with the parts of its prices and write the answer. */
export function* auditWork(input: Omit<PriceInput, 'earlier'>): PausableWork {
  const { layout, firstContract } = input
  const view = inOffsets(input)
  const series = yield* priceAuditByDay(openPricingCopy(input.pricing), requestOf(input))
  yield { head: headOf(series, firstContract) }
  const { elements, marketSourceIds } = series
  const write: LongAnswer['write'] = (from, to) =>
    priceAuditToWire({ ...view, layout, marketSourceIds, elements: elements.slice(from, to) })
  yield* bytesOf(answerTexts({ operation: priceAuditRetrieve, layout, count: elements.length, write }))
}

type Window = Omit<WindowView, 'unpriced' | 'offsetOf'>

/** `duration` in minutes. */
export type DurationInput = PricedInput & {
  readonly view: Window
  readonly layout: Layout
  readonly duration: number
  readonly contiguous: boolean
}

const minuteMs = 60_000

/** Unpriced time is written once, beside no element. */
const unpricedOf = ({ unpriced }: PriceSeries<unknown>, to: number) => ({ unpriced: to === 0 ? unpriced : [] })

/** Choose the cheapest or dearest time of a duration and write the answer. */
export function* durationWork(input: DurationInput): PausableWork {
  const { layout, duration, contiguous, firstContract } = input
  const view = inOffsets(input)
  const series = yield* priceSeriesByDay(openPricingCopy(input.pricing), requestOf(input))
  const slots = chooseDuration(series.elements, { segment: view.segment, duration: duration * minuteMs, contiguous })
  yield { head: headOf(series, firstContract, slots !== null) }
  const write: LongAnswer['write'] = (from, to) =>
    scheduleDurationToWire({ ...view, ...unpricedOf(series, to), duration, contiguous, slots: (slots ?? []).slice(from, to) })
  yield* bytesOf(answerTexts({ operation: scheduleDuration, layout, count: slots?.length ?? 0, write }))
}

export type LimitInput = PricedInput & { readonly view: Window; readonly layout: Layout; readonly bound: PriceBound }

/** Choose all time on one side of a price and write the answer. */
export function* limitWork(input: LimitInput): PausableWork {
  const { layout, bound, firstContract } = input
  const view = inOffsets(input)
  const series = yield* priceSeriesByDay(openPricingCopy(input.pricing), requestOf(input))
  yield { head: headOf(series, firstContract, series.elements.length > 0) }
  const slots = chooseLimit(series.elements, view.segment, bound)
  const durationMs = slots.reduce((sum, { start, end }) => sum + end - start, 0)
  const write: LongAnswer['write'] = (from, to) =>
    scheduleLimitToWire({ ...view, ...unpricedOf(series, to), bound, durationMs, slots: slots.slice(from, to) })
  yield* bytesOf(answerTexts({ operation: scheduleLimit, layout, count: slots.length, write }))
}
