import type { ApiVersion } from '../../contract/api-version.ts'
import { marketPriceList, marketPricesToWire } from '../../contract/markets/market-price.ts'
import { type EarlierPriceOptions, priceRetrieve, priceToWire } from '../../contract/prices/price.ts'
import { priceAuditRetrieve, priceAuditToWire } from '../../contract/prices/price-audit.ts'
import type { PriceView, RequestedInterval } from '../../contract/prices/price-request.ts'
import {
  scheduleDuration,
  scheduleDurationToWire,
  scheduleLimit,
  scheduleLimitToWire,
} from '../../contract/schedules/schedule-slots.ts'
import type { WindowView } from '../../contract/schedules/schedule-window.ts'
import { answerOffset } from '../../domain/answer-offset.ts'
import { minuteMs } from '../../domain/interval.ts'
import { type PriceRequest, type PriceSeries, priceAudit, priceSeries } from '../../domain/price/price-series.ts'
import { type PricingCopy, snapshotFromCopy } from '../../domain/price/pricing-copy.ts'
import {
  scheduleDuration as chooseDuration,
  scheduleLimit as chooseLimit,
  type PriceBound,
} from '../../domain/schedule/slot.ts'
import { accumulatorKey } from '../../domain/tariff/accumulator.ts'
import type { UnpricedInterval } from '../../domain/tariff/evaluate.ts'
import { pricesFrom } from '../../platform/postgres/pricing/price-block.ts'
import type { WorkResult } from '../../platform/work-thread/work-messages.ts'
import type { CountedSteps } from '../prices/counted-steps.ts'
import { answerTexts, encodeTexts, type LongAnswer } from './answer-bytes.ts'

/**
 * Pricing of an interval as plain data. `firstContract`: start of the first contract (ms); null if there never was a
 * contract. Time before the first contract may be left out.
 */
export type SeriesInput = {
  readonly pricing: PricingCopy
  readonly request: Omit<PriceRequest, 'counted'>
  readonly counted: CountedSteps
  readonly firstContract: number | null
}

/**
 * Facts that decide on the refusal of a series: its number of elements, its first gap, and the first gap that is not
 * allowed.
 */
export type SeriesHead = {
  readonly elements: number
  readonly unpriced: readonly UnpricedInterval[]
  readonly hasSlots: boolean
}

/** Return whether a gap is not allowed in a series. Source: docs/rules/prices-and-audits.md #time-without-a-price. */
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
  const gaps = [...new Set([unpriced[0], gap])].filter(interval => interval !== undefined)
  return { elements: elements.length, unpriced: gaps, hasSlots }
}

const priceRequestOf = ({ request, counted }: SeriesInput): PriceRequest => ({
  ...request,
  counted: (type, direction, countingStart) => counted.get(accumulatorKey(type, direction, countingStart)) ?? [],
})

type View = Omit<PriceView<never>, 'elements' | 'offsetOf'>

/** Input of prices. `earlier`: options of the earlier API version; null in the current version. */
export type PriceInput = SeriesInput & {
  readonly view: View
  readonly apiVersion: ApiVersion
  readonly earlier: EarlierPriceOptions | null
}

/** Add the offsets of the instants to the view of an answer. */
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

/** Calculate the prices of an interval and write the answer. */
export const priceWork = (input: PriceInput): WorkResult => {
  const { apiVersion, earlier, firstContract } = input
  const view = withOffsets(input)
  const series = priceSeries(snapshotFromCopy(input.pricing), priceRequestOf(input))
  const head = headOf(series, firstContract)
  const write: LongAnswer['write'] = (from, to) =>
    priceToWire({ ...view, earlier, elements: series.elements.slice(from, to) })
  return {
    head,
    chunks: encodeTexts(answerTexts({ operation: priceRetrieve, apiVersion, count: series.elements.length, write })),
  }
}

/** Calculate the prices of an interval with their components and write the answer. */
export const auditWork = (input: Omit<PriceInput, 'earlier'>): WorkResult => {
  const { apiVersion, firstContract } = input
  const view = withOffsets(input)
  const series = priceAudit(snapshotFromCopy(input.pricing), priceRequestOf(input))
  const head = headOf(series, firstContract)
  const { elements, marketSourceIds } = series
  const write: LongAnswer['write'] = (from, to) =>
    priceAuditToWire({ ...view, apiVersion, marketSourceIds, elements: elements.slice(from, to) })
  return {
    head,
    chunks: encodeTexts(answerTexts({ operation: priceAuditRetrieve, apiVersion, count: elements.length, write })),
  }
}

type WindowBase = Omit<WindowView, 'unpriced' | 'offsetOf'>

/** Input of a schedule by duration. `duration` in minutes. */
export type DurationInput = SeriesInput & {
  readonly view: WindowBase
  readonly apiVersion: ApiVersion
  readonly duration: number
  readonly contiguous: boolean
}

/** Return the unpriced intervals for the part without elements, so that they are written once. */
const unpricedOf = ({ unpriced }: PriceSeries<unknown>, to: number) => ({ unpriced: to === 0 ? unpriced : [] })

/** Choose the cheapest or most expensive time of a duration and write the answer. */
export const durationWork = (input: DurationInput): WorkResult => {
  const { apiVersion, duration, contiguous, firstContract } = input
  const view = withOffsets(input)
  const series = priceSeries(snapshotFromCopy(input.pricing), priceRequestOf(input))
  const slots = chooseDuration(series.elements, {
    segment: view.segment,
    durationMs: duration * minuteMs,
    isContiguous: contiguous,
  })
  const head = headOf(series, firstContract, slots !== null)
  const write: LongAnswer['write'] = (from, to) =>
    scheduleDurationToWire({
      ...view,
      ...unpricedOf(series, to),
      duration,
      contiguous,
      slots: (slots ?? []).slice(from, to),
    })
  return {
    head,
    chunks: encodeTexts(answerTexts({ operation: scheduleDuration, apiVersion, count: slots?.length ?? 0, write })),
  }
}

/** Input of a schedule by price limit. */
export type LimitInput = SeriesInput & {
  readonly view: WindowBase
  readonly apiVersion: ApiVersion
  readonly bound: PriceBound
}

/** Choose all time below or above a price limit and write the answer. */
export const limitWork = (input: LimitInput): WorkResult => {
  const { apiVersion, bound, firstContract } = input
  const view = withOffsets(input)
  const series = priceSeries(snapshotFromCopy(input.pricing), priceRequestOf(input))
  const head = headOf(series, firstContract, series.elements.length > 0)
  const slots = chooseLimit(series.elements, view.segment, bound)
  const durationMs = slots.reduce((sum, { start, end }) => sum + end - start, 0)
  const write: LongAnswer['write'] = (from, to) =>
    scheduleLimitToWire({ ...view, ...unpricedOf(series, to), bound, durationMs, slots: slots.slice(from, to) })
  return {
    head,
    chunks: encodeTexts(answerTexts({ operation: scheduleLimit, apiVersion, count: slots.length, write })),
  }
}

/** Stored prices of a market as PostgreSQL returned them, and the offset of the answer in minutes. */
type MarketPricesInput = {
  readonly view: { readonly id: string; readonly liveMode: boolean; readonly currencyCode: string }
  readonly blocks: readonly string[]
  readonly offsetMinutes: number
  readonly apiVersion: ApiVersion
}

/** Write the stored prices of a market. */
export const marketPricesWork = ({ view, blocks, offsetMinutes, apiVersion }: MarketPricesInput): WorkResult => {
  const head = null
  const prices = pricesFrom(blocks)
  const write = (from: number, to: number) =>
    marketPricesToWire({ ...view, prices: prices.slice(from, to) }, offsetMinutes)
  return {
    head,
    chunks: encodeTexts(answerTexts({ operation: marketPriceList, apiVersion, count: prices.length, write })),
  }
}
