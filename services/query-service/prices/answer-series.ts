import type { Operation, Outcome, RequestOf } from '../../contract/operation.ts'
import type { PriceSpan } from '../../contract/price-request.ts'
import { tariffListUrl } from '../../contract/tariff.ts'
import { answerOffset } from '../../domain/answer-offset.ts'
import { copyPricing, mostPieces } from '../../domain/price/pricing-copy.ts'
import { withoutPrice } from '../../domain/schedule/infeasible.ts'
import type { WorkThread } from '../../platform/work-thread/work-thread.ts'
import type { PricedInput, SeriesHead } from '../work/price-work.ts'
import { leaveWork, runWork, type Work } from '../work/run-work.ts'
import { firstContract, type GatheredPrices, refuseSeries } from './price-reads.ts'

/** So many pieces are priced and written at once, in some ms. */
const fewPieces = 1_500

/** Give what prices a span as plain data. */
export const pricedInput = ({ held: { snapshot }, request, counted }: GatheredPrices): PricedInput => ({
  pricing: copyPricing(snapshot, [request.direction], request),
  request,
  counted,
  firstContract: firstContract(snapshot, request.direction),
})

type SeriesName = 'price' | 'audit' | 'duration' | 'limit'

/**
 * Price a span and answer with what is made of it, or refuse what has no price.
 * Source: docs/rules/prices-and-audits.md #time-without-a-price; docs/rules/schedules.md #time-without-a-price.
 */
export const answerSeries = async <Name extends SeriesName>(
  { thread }: { readonly thread: Pick<WorkThread, 'begin'> },
  request: Pick<RequestOf<Operation>, 'caller' | 'at' | 'layout' | 'signal'>,
  { gathered, span }: { readonly gathered: GatheredPrices; readonly span: PriceSpan },
  { name, input }: Pick<Work<Name>, 'name' | 'input'>,
): Promise<Outcome<never>> => {
  const { caller, signal, layout, at } = request
  const isSmall = mostPieces(gathered.held.snapshot, span.direction, span) <= fewPieces
  const begun = await runWork(thread, { name, input, isSmall, account: caller.accountId, signal })
  if (!begun.ok) return begun
  const { elements, unpriced, isPossible } = begun.value.head as SeriesHead
  const isWindow = name === 'duration' || name === 'limit'
  if (isWindow ? isPossible : elements > 0) {
    const refusal = isWindow ? null : refuseSeries(gathered, { elements, unpriced }, { span, layout, at })
    if (refusal === null) return { ok: true, written: begun.value.answer }
  }
  await leaveWork(begun.value)
  const first = unpriced[0] ?? { start: span.start, end: span.end, missing: 'TARIFF' }
  const refusal = refuseSeries(gathered, { elements, unpriced }, { span, layout, at })
  const { snapshot } = gathered.held
  const words = { path: tariffListUrl(layout), offsetOf: answerOffset(snapshot.timeZone, span.endOffset) }
  return { ok: false, refusal: refusal ?? withoutPrice(snapshot, first, span.direction, words) }
}
