import type { AnswerOf, Outcome, RequestOf } from '../../contract/operation.ts'
import { type EarlierPrice, priceRetrieve, priceToWire } from '../../contract/price.ts'
import { priceAuditRetrieve, priceAuditToWire } from '../../contract/price-audit.ts'
import { type PriceSpan, type PriceView, priceLimits, readPriceSpan, refuseLongSpan } from '../../contract/price-request.ts'
import type { TimeZone } from '../../domain/civil-time.ts'
import { type PriceRequest, type PriceSeries, priceAudit, priceSeries } from '../../domain/price/price-series.ts'
import { accepted, type Result } from '../../domain/refusal.ts'
import type { PricingSnapshot } from '../../domain/tariff/snapshot.ts'
import { type Binding, bind } from '../../platform/http/binding.ts'
import { mint } from '../../platform/mint.ts'
import { tenantOf } from '../change.ts'
import { type GatheredPrices, gatherPrices, nextUpdateOf, type PriceReads, refuseSeries } from './price-reads.ts'

/** What both readings need of a request. */
type Asked = Pick<RequestOf<typeof priceAuditRetrieve>, 'caller' | 'at' | 'layout' | 'id' | 'body'>

type Priced<Element> = { readonly gathered: GatheredPrices; readonly series: PriceSeries<Element>; readonly span: PriceSpan }

const priced = async <Element>(
  reads: PriceReads,
  asked: Asked,
  read: (snapshot: PricingSnapshot, request: PriceRequest) => PriceSeries<Element>,
): Promise<Result<Priced<Element>>> => {
  const { at, layout } = asked
  const span = readPriceSpan(asked.body, layout, at)
  if (!span.ok) return span
  const refuse = (zone: TimeZone) => refuseLongSpan(span.value, zone, priceLimits.days)
  const gathered = await gatherPrices(reads, tenantOf(asked), asked.id, { ...span.value, refuse })
  if (!gathered.ok) return gathered
  const series = read(gathered.value.held.snapshot, gathered.value.request)
  const refusal = refuseSeries(gathered.value, series, { span: span.value, layout, at })
  return refusal === null ? accepted({ gathered: gathered.value, series, span: span.value }) : { ok: false, refusal }
}

const viewOf = <Element>(
  kind: 'price' | 'priceAudit',
  { caller, at }: Asked,
  { gathered, series, span }: Priced<Element>,
): PriceView<Element> => ({
  id: mint(kind, at),
  accountId: caller.accountId,
  liveMode: caller.liveMode,
  locationId: gathered.location.id,
  timezone: gathered.location.timezone,
  currencyCode: gathered.location.currencyCode,
  span,
  lastUpdated: gathered.changedAt,
  elements: series.elements,
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

/** Answer what energy costs at a location over a span. Source: contract decisions 11 and 17. */
const retrievePrices = async (
  reads: PriceReads,
  request: RequestOf<typeof priceRetrieve>,
): Promise<Outcome<AnswerOf<typeof priceRetrieve>>> => {
  const found = await priced(reads, request, priceSeries)
  if (!found.ok) return found
  const earlier = request.layout === 'current' ? null : await earlierOf(reads, request, found.value.gathered)
  return accepted(priceToWire({ ...viewOf('price', request, found.value), earlier }))
}

/** Answer how the prices of a span are made up. Source: contract decisions 11. */
const retrieveAudit = async (
  reads: PriceReads,
  request: RequestOf<typeof priceAuditRetrieve>,
): Promise<Outcome<AnswerOf<typeof priceAuditRetrieve>>> => {
  const found = await priced(reads, request, priceAudit)
  if (!found.ok) return found
  const { marketSourceIds } = found.value.series
  return accepted(priceAuditToWire({ ...viewOf('priceAudit', request, found.value), layout: request.layout, marketSourceIds }))
}

/** Bind the readings of prices. */
export const priceOperations = (reads: PriceReads): readonly Binding[] => [
  bind(priceRetrieve, request => retrievePrices(reads, request)),
  bind(priceAuditRetrieve, request => retrieveAudit(reads, request)),
]
