import type { AnswerOf, Outcome, RequestOf } from '../../contract/operation.ts'
import { type EarlierPrice, priceRetrieve } from '../../contract/price.ts'
import { priceAuditRetrieve } from '../../contract/price-audit.ts'
import { type PriceSpan, priceLimits, readPriceSpan, refuseLongSpan } from '../../contract/price-request.ts'
import type { TimeZone } from '../../domain/civil-time.ts'
import { accepted, type Result } from '../../domain/refusal.ts'
import { type Binding, bind } from '../../platform/http/binding.ts'
import { mint } from '../../platform/mint.ts'
import { tenantOf } from '../change.ts'
import { answerSeries, pricedInput } from './answer-series.ts'
import { type GatheredPrices, gatherPrices, nextUpdateOf, type PriceReads } from './price-reads.ts'

/** What both readings need of a request. */
type Asked = Pick<RequestOf<typeof priceAuditRetrieve>, 'caller' | 'at' | 'layout' | 'id' | 'body' | 'signal'>

type Gathered = { readonly gathered: GatheredPrices; readonly span: PriceSpan }

const gather = async (reads: PriceReads, asked: Asked): Promise<Result<Gathered>> => {
  const { at, layout } = asked
  const span = readPriceSpan(asked.body, layout, at)
  if (!span.ok) return span
  const refuse = (zone: TimeZone) => refuseLongSpan(span.value, zone, priceLimits.days)
  const gathered = await gatherPrices(reads, tenantOf(asked), asked.id, { ...span.value, refuse })
  return gathered.ok ? accepted({ gathered: gathered.value, span: span.value }) : gathered
}

const viewOf = (kind: 'price' | 'priceAudit', { caller, at }: Asked, { gathered, span }: Gathered) => ({
  id: mint(kind, at),
  accountId: caller.accountId,
  liveMode: caller.liveMode,
  locationId: gathered.location.id,
  timezone: gathered.location.timezone,
  currencyCode: gathered.location.currencyCode,
  span,
  lastUpdated: gathered.changedAt,
  createdAt: at,
})

/** What the earlier layout tells besides. */
const earlierOf = async (
  reads: PriceReads,
  { query, at }: RequestOf<typeof priceRetrieve>,
  gathered: GatheredPrices,
): Promise<EarlierPrice> => ({
  includeTariff: query.include_tariff,
  includeCarbon: query.include_carbon,
  nextUpdate: await nextUpdateOf(reads, gathered, at),
})

/** Answer what energy costs at a location over a span. Source: docs/rules/prices-and-audits.md #elements. */
const retrievePrices = async (
  reads: PriceReads,
  request: RequestOf<typeof priceRetrieve>,
): Promise<Outcome<AnswerOf<typeof priceRetrieve>>> => {
  const found = await gather(reads, request)
  if (!found.ok) return found
  const { layout } = request
  const { gathered } = found.value
  const earlier = layout === 'current' ? null : await earlierOf(reads, request, gathered)
  const input = { ...pricedInput(gathered), view: viewOf('price', request, found.value), layout, earlier }
  return answerSeries(reads, request, found.value, { name: 'price', input })
}

/** Answer how the prices of a span are made up. Source: docs/rules/prices-and-audits.md #audit. */
const retrieveAudit = async (
  reads: PriceReads,
  request: RequestOf<typeof priceAuditRetrieve>,
): Promise<Outcome<AnswerOf<typeof priceAuditRetrieve>>> => {
  const found = await gather(reads, request)
  if (!found.ok) return found
  const input = { ...pricedInput(found.value.gathered), view: viewOf('priceAudit', request, found.value), layout: request.layout }
  return answerSeries(reads, request, found.value, { name: 'audit', input })
}

/** Bind the readings of prices. */
export const priceOperations = (reads: PriceReads): readonly Binding[] => [
  bind(priceRetrieve, request => retrievePrices(reads, request)),
  bind(priceAuditRetrieve, request => retrieveAudit(reads, request)),
]
