import { readFileSync } from 'node:fs'
import type { ApiVersion, Client } from '../system/client.ts'
import { makeOne } from '../system/home.ts'
import { allHours } from '../tariffs/all-hours.ts'
import { addTariffs, type CaseRecord, type CaseTariff, prepareCase } from './cost-cases.ts'

type Segment = { readonly valid_from: string; readonly valid_to: string; readonly price: number }
type PriceInterval = { readonly start_time: string; readonly end_time: string; readonly tariff_direction?: string }

/** A tariff and its prices in an interval. */
export type SeriesCase = {
  readonly id: string
  readonly tariffs: readonly CaseTariff[]
  readonly request: PriceInterval
  readonly expected: { readonly segments: readonly Segment[] }
  readonly tolerance: { readonly abs: number }
}

/** A market price with surcharges, and the resulting price. */
export type FormulaCase = {
  readonly id: string
  readonly market_price: number
  readonly surcharge_fixed: number
  readonly surcharge_percentage: number
  readonly expected_price: number
  readonly convention: string
  readonly tolerance: number
}

type Market = {
  readonly unit: string
  readonly start: string
  readonly step_minutes: number
  readonly values: readonly number[]
}

/** Records at market prices or over a clock change, and their total cost. */
export type MarketCase = {
  readonly id: string
  readonly tariffs: readonly CaseTariff[]
  readonly market?: Market
  readonly records: readonly CaseRecord[]
  readonly expected: { readonly total_cost: number }
  readonly tolerance: { readonly abs: number }
}

/** Start and end in minutes from a base, and the price between them. */
type Step = readonly [number, number, number]
export type HandlingCase = { readonly id: string; readonly input: readonly Step[]; readonly expected: readonly Step[] }

type Cases = {
  readonly price_series: readonly SeriesCase[]
  readonly price_formula: readonly FormulaCase[]
  readonly market_and_dst: readonly MarketCase[]
  readonly series_handling: readonly HandlingCase[]
}

/** Read the published price cases. */
export const priceCases = (): Cases => JSON.parse(readFileSync('test/acceptance/price_cases.json', 'utf8')) as Cases

/** Return the reason why the API cannot express a case; null if the API can. */
export const inexpressible = (one: {
  readonly id: string
  readonly convention?: string
  readonly input?: unknown
}): string | null => {
  if (one.id === 'agile-cap-formula') return 'tariffs have no price cap'
  if (one.convention === 'market*(1+pct)+fixed') return 'the percentage applies to the whole price'
  return 'input' in one && !Array.isArray(one.input) ? 'prices are not averaged over hours' : null
}

type Element = {
  readonly valid_from: string
  readonly valid_to: string
  readonly price?: { readonly value: number }
  readonly tariff?: { readonly rate: number }
}

/** Request prices in an API version. Return start and end (ms) and price of each element. */
export const askPrices = async (
  client: Client,
  apiVersion: ApiVersion,
  locationId: string,
  { tariff_direction: direction = 'IMPORT', ...span }: PriceInterval,
): Promise<readonly { readonly from: number; readonly to: number; readonly price: number }[]> => {
  const query = new URLSearchParams({ ...span, direction })
  const { data } = (await (apiVersion === 'current'
    ? client.ask('POST', `/prices/${locationId}`, { ...span, tariff_direction: direction })
    : client.ask('GET', `/tariffs/rates/${locationId}?${query}`))) as { data: readonly Element[] }
  return data.map(({ valid_from, valid_to, price, tariff }) => ({
    from: Date.parse(valid_from),
    to: Date.parse(valid_to),
    price: price?.value ?? tariff?.rate ?? Number.NaN,
  }))
}

const iso = (at: number): string => new Date(at).toISOString()

const marketTariff = (surcharges: Pick<FormulaCase, 'surcharge_fixed' | 'surcharge_percentage'>): CaseTariff => ({
  direction: 'IMPORT',
  type: 'COMMODITY',
  timezone: 'UTC',
  currency_code: 'EUR',
  market_rates: true,
  schedule: allHours([{ fixed: null, to_kwh: null, ...surcharges }]),
})

const freeCommodity = ({ timezone, currency_code }: CaseTariff): CaseTariff => ({
  direction: 'IMPORT',
  type: 'COMMODITY',
  timezone,
  currency_code,
  market_rates: false,
  schedule: allHours([{ fixed: 0, to_kwh: null, surcharge_fixed: 0, surcharge_percentage: 0 }]),
})

/** Create the location of a series. If the series has grid fees only, energy is free. */
export const createSeries = (client: Client, { tariffs }: SeriesCase, apiVersion: ApiVersion): Promise<string> => {
  const [first] = tariffs as [CaseTariff]
  return prepareCase(
    client,
    tariffs.some(({ type }) => type === 'COMMODITY') ? tariffs : [...tariffs, freeCommodity(first)],
    apiVersion,
  )
}

/**
 * Create a location with tariffs that follow its own market prices.
 * A price has a start and an end in ms, and is in major units per kWh.
 */
const createMarketTariff = async (
  client: Client,
  apiVersion: ApiVersion,
  tariffs: readonly CaseTariff[],
  prices: readonly Step[],
): Promise<string> => {
  const [{ currency_code, timezone }] = tariffs as [CaseTariff]
  const source = await makeOne(client, '/markets', { display_name: 'published prices', currency_code })
  const body = prices.map(([from, to, value]) => ({ start_time: iso(from), end_time: iso(to), value }))
  await client.ask('PUT', `/markets/${source}/prices`, body)
  const locationId = await makeOne(client, '/locations', {
    timezone,
    currency_code,
    market_sources: { import: source },
  })
  await addTariffs(client, locationId, tariffs, apiVersion)
  return locationId
}

/** Create a location with market prices in minutes from a base (ms), with or without surcharges. */
export const createSteps = (
  client: Client,
  apiVersion: ApiVersion,
  steps: readonly Step[],
  base: number,
  surcharges = { surcharge_fixed: 0, surcharge_percentage: 0 },
): Promise<string> =>
  createMarketTariff(
    client,
    apiVersion,
    [marketTariff(surcharges)],
    steps.map(([from, to, value]) => [base + from * 60_000, base + to * 60_000, value]),
  )

/** Create the location of a market case. The market prices of the case are per MWh. */
export const createMarketCase = (
  client: Client,
  apiVersion: ApiVersion,
  { tariffs, market }: MarketCase,
): Promise<string> => {
  if (market === undefined) return prepareCase(client, tariffs, apiVersion)
  const start = Date.parse(market.start)
  const stepMs = market.step_minutes * 60_000
  const prices = market.values.map(
    (value, index): Step => [start + index * stepMs, start + (index + 1) * stepMs, Number(`${value}e-3`)],
  )
  return createMarketTariff(client, apiVersion, tariffs, prices)
}
