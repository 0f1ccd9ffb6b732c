import type { AnswerOf, Outcome, RequestOf } from '../../contract/operation.ts'
import { type EarlierPriceOptions, priceRetrieve } from '../../contract/prices/price.ts'
import { priceAuditRetrieve } from '../../contract/prices/price-audit.ts'
import {
  priceLimits,
  type RequestedInterval,
  readPriceInterval,
  refuseLongInterval,
} from '../../contract/prices/price-request.ts'
import type { TimeZone } from '../../domain/civil-time.ts'
import { accepted, type Result } from '../../domain/refusal.ts'
import { type Binding, bind } from '../../platform/http/binding.ts'
import { newId } from '../../platform/ids/new-id.ts'
import { tenantOf } from '../change.ts'
import { answerSeries, seriesInputOf } from './answer-series.ts'
import { type GatheredPrices, gatherPrices, nextUpdateOf, type PriceDependencies } from './gather-prices.ts'

/** Members of a request that prices and audits use. */
type PriceSeriesRequest = Pick<
  RequestOf<typeof priceAuditRetrieve>,
  'caller' | 'at' | 'apiVersion' | 'id' | 'body' | 'signal'
>

type GatheredSeries = { readonly gathered: GatheredPrices; readonly interval: RequestedInterval }

const gatherSeries = async (
  dependencies: PriceDependencies,
  request: PriceSeriesRequest,
): Promise<Result<GatheredSeries>> => {
  const { at, apiVersion } = request
  const interval = readPriceInterval(request.body, apiVersion, at)
  if (!interval.ok) return interval
  const refuse = (zone: TimeZone) => refuseLongInterval(interval.value, zone, priceLimits.days)
  const gathered = await gatherPrices(dependencies, tenantOf(request), request.id, { ...interval.value, refuse })
  return gathered.ok ? accepted({ gathered: gathered.value, interval: interval.value }) : gathered
}

const viewOf = (
  kind: 'price' | 'priceAudit',
  { caller, at }: PriceSeriesRequest,
  { gathered, interval }: GatheredSeries,
) => ({
  id: newId(kind, at),
  accountId: caller.accountId,
  liveMode: caller.liveMode,
  locationId: gathered.location.id,
  timezone: gathered.location.timezone,
  currencyCode: gathered.location.currencyCode,
  interval,
  lastUpdated: gathered.changedAt,
  createdAt: at,
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
