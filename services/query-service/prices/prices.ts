import type { AnswerOf, Outcome, RequestOf } from '../../contract/operation.ts'
import { type EarlierPriceOptions, priceRetrieve } from '../../contract/prices/price.ts'
import { priceAuditRetrieve } from '../../contract/prices/price-audit.ts'
import { priceLimits, readPriceInterval } from '../../contract/prices/price-request.ts'
import type { Result } from '../../domain/refusal.ts'
import { type Binding, bind } from '../../platform/http/binding.ts'
import { answerSeries, seriesInputOf } from './answer-series.ts'
import {
  type GatheredPrices,
  gatherInterval,
  nextUpdateOf,
  type PriceDependencies,
  type PricedRequest,
  priceViewOf,
} from './gather-prices.ts'

/** Members of a request that prices and audits use. */
type PriceSeriesRequest = Pick<
  RequestOf<typeof priceAuditRetrieve>,
  'caller' | 'at' | 'apiVersion' | 'id' | 'body' | 'signal'
>

const gatherSeries = (dependencies: PriceDependencies, request: PriceSeriesRequest): Promise<Result<PricedRequest>> => {
  const { body, apiVersion, at } = request
  return gatherInterval(dependencies, request, readPriceInterval(body, apiVersion, at), priceLimits.days)
}

const viewOf = (kind: 'price' | 'priceAudit', request: PriceSeriesRequest, priced: PricedRequest) => ({
  ...priceViewOf(kind, request, priced),
  lastUpdated: priced.gathered.changedAt,
})

/** Load the members that only the earlier API version has. */
const earlierPriceOf = async (
  dependencies: PriceDependencies,
  { query, at }: RequestOf<typeof priceRetrieve>,
  gathered: GatheredPrices,
): Promise<EarlierPriceOptions> => ({
  includeTariff: query.include_tariff,
  includeCarbon: query.include_carbon,
  nextUpdate: await nextUpdateOf(dependencies, gathered, at),
})

/** Answer the prices of energy at a location in an interval. Source: docs/rules/prices-and-audits.md #elements. */
const retrievePrices = async (
  dependencies: PriceDependencies,
  request: RequestOf<typeof priceRetrieve>,
): Promise<Outcome<AnswerOf<typeof priceRetrieve>>> => {
  const series = await gatherSeries(dependencies, request)
  if (!series.ok) return series
  const { apiVersion } = request
  const { gathered } = series.value
  const earlier = apiVersion === 'current' ? null : await earlierPriceOf(dependencies, request, gathered)
  const input = { ...seriesInputOf(gathered), view: viewOf('price', request, series.value), apiVersion, earlier }
  return answerSeries(dependencies, request, series.value, { name: 'price', input })
}

/** Answer the components of the prices of an interval. Source: docs/rules/prices-and-audits.md #audit. */
const retrieveAudit = async (
  dependencies: PriceDependencies,
  request: RequestOf<typeof priceAuditRetrieve>,
): Promise<Outcome<AnswerOf<typeof priceAuditRetrieve>>> => {
  const series = await gatherSeries(dependencies, request)
  if (!series.ok) return series
  const input = {
    ...seriesInputOf(series.value.gathered),
    view: viewOf('priceAudit', request, series.value),
    apiVersion: request.apiVersion,
  }
  return answerSeries(dependencies, request, series.value, { name: 'audit', input })
}

/** Bind the operations on prices and price audits. */
export const priceOperations = (dependencies: PriceDependencies): readonly Binding[] => [
  bind(priceRetrieve, request => retrievePrices(dependencies, request)),
  bind(priceAuditRetrieve, request => retrieveAudit(dependencies, request)),
]
