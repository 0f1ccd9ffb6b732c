import type { Operation, Outcome, RequestOf } from '../../contract/operation.ts'
import type { RequestedInterval } from '../../contract/prices/price-request.ts'
import { tariffListUrl } from '../../contract/tariffs/tariff.ts'
import { answerOffset } from '../../domain/answer-offset.ts'
import { copyPricing, maxPieces } from '../../domain/price/pricing-copy.ts'
import { refuseMissingPrice } from '../../domain/schedule/refuse-infeasible.ts'
import type { WorkThread } from '../../platform/work-thread/work-thread.ts'
import type { SeriesHead, SeriesInput } from '../work-thread/price-work.ts'
import { discardWork, runWork, type Work } from '../work-thread/run-work.ts'
import { firstContract, type GatheredPrices, refuseSeries } from './gather-prices.ts'

/** Maximum number of pieces that the request thread prices and writes, which takes some ms. */
const maxInlinePieces = 1_500

/** Copy the prices of an interval as plain data for the work thread. */
export const seriesInputOf = ({ cachedPricing: { snapshot }, request, counted }: GatheredPrices): SeriesInput => ({
  pricing: copyPricing(snapshot, [request.direction], request),
  request,
  counted,
  firstContract: firstContract(snapshot, request.direction),
})

type SeriesName = 'price' | 'audit' | 'duration' | 'limit'

/**
 * Price an interval and answer with the result of the work. Refuses time without a price.
 * Source: docs/rules/prices-and-audits.md #time-without-a-price; docs/rules/schedules.md #time-without-a-price.
 */
export const answerSeries = async <Name extends SeriesName>(
  { thread }: { readonly thread: Pick<WorkThread, 'begin'> },
  request: Pick<RequestOf<Operation>, 'caller' | 'at' | 'apiVersion' | 'signal'>,
  { gathered, interval }: { readonly gathered: GatheredPrices; readonly interval: RequestedInterval },
  { name, input }: Pick<Work<Name>, 'name' | 'input'>,
): Promise<Outcome<never>> => {
  const { caller, signal, apiVersion, at } = request
  const isSmall = maxPieces(gathered.cachedPricing.snapshot, interval.direction, interval) <= maxInlinePieces
  const started = await runWork(thread, { name, input, isSmall, account: caller.accountId, signal })
  if (!started.ok) return started
  const { elements, unpriced, hasSlots } = started.value.head as SeriesHead
  const isWindow = name === 'duration' || name === 'limit'
  if (isWindow ? hasSlots : elements > 0) {
    const refusal = isWindow ? null : refuseSeries(gathered, { elements, unpriced }, { interval, apiVersion, at })
    if (refusal === null) return { ok: true, serialized: started.value.answer }
  }
  await discardWork(started.value)
  const firstGap = unpriced[0] ?? { start: interval.start, end: interval.end, missing: 'TARIFF' }
  const refusal = refuseSeries(gathered, { elements, unpriced }, { interval, apiVersion, at })
  const { snapshot } = gathered.cachedPricing
  const context = { path: tariffListUrl(apiVersion), offsetOf: answerOffset(snapshot.timeZone, interval.endOffset) }
  return { ok: false, refusal: refusal ?? refuseMissingPrice(snapshot, firstGap, interval.direction, context) }
}
