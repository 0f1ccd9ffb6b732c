import { minuteMs } from '../interval.ts'
import { epochOf, instantOf, listOf, type Members, membersOf, parseFeed, textOf } from './feed-json.ts'
import { type FeedPrice, feedPrice, intervalsFrom, unreadable } from './feed-price.ts'

/** Names of the public feeds with JSON answers, in the configuration and in the state of a source. */
export const jsonFeedNames = [
  'energy-charts',
  'energi-data-service',
  'elpriset-just-nu',
  'hva-koster-strommen',
  'awattar',
  'octopus-agile',
] as const

export type JsonFeedName = (typeof jsonFeedNames)[number]

/**
 * Readers of the public JSON feeds: the text of an answer in, prices out. All of them throw `FeedFormatError`.
 * Member names of a provider's format appear only inside these functions. Types of the domain never contain them.
 * Addresses, status codes and retries belong to `platform/market-feeds`.
 */

const hourMs = 60 * minuteMs

const rowsOf = (text: string, member: string): readonly unknown[] =>
  listOf(membersOf(parseFeed(text), 'the answer')[member], member)

const requireOrder = (start: number, end: number, name: string): void => {
  if (end <= start) throw unreadable(`${name} ends before it starts`)
}

const requireEurPerMwh = (unit: string, expected: string): void => {
  if (unit !== expected) throw unreadable(`its prices are in ${unit.slice(0, 20)}, not in EUR/MWh`)
}

const readAwattarRow = (each: unknown): FeedPrice => {
  const row = membersOf(each, 'a row')
  const start = epochOf(row['start_timestamp'], 1, 'start_timestamp')
  const end = epochOf(row['end_timestamp'], 1, 'end_timestamp')
  requireOrder(start, end, 'a row')
  requireEurPerMwh(textOf(row['unit'], 'unit').toUpperCase(), 'EUR/MWH')
  return { start, end, value: feedPrice(textOf(row['marketprice'], 'marketprice'), 'PER_MWH') }
}

/**
 * Read a list of hours in ms with prices in EUR per MWh.
 * Source: aWATTar, market data API v1, https://www.awattar.de/services/api.
 */
export const readAwattar = (text: string): readonly FeedPrice[] => rowsOf(text, 'data').map(readAwattarRow)

/**
 * Read two lists: starts in seconds, and prices in EUR per MWh. A null price is not known yet and leaves a gap.
 * The format has no ends: each price is valid until the next start.
 * Source: https://api.energy-charts.info, operation price.
 */
export const readEnergyCharts = (text: string): readonly FeedPrice[] => {
  const answer = membersOf(parseFeed(text), 'the answer')
  requireEurPerMwh(textOf(answer['unit'], 'unit').replaceAll(' ', ''), 'EUR/MWh')
  const starts = listOf(answer['unix_seconds'], 'unix_seconds').map(second => epochOf(second, 1_000, 'a start'))
  const prices = listOf(answer['price'], 'price')
  if (prices.length !== starts.length) throw unreadable(`it has ${starts.length} starts and ${prices.length} prices`)
  if (starts.some((start, index) => start <= (starts[index - 1] ?? -1))) throw unreadable('its starts do not ascend')
  return intervalsFrom(starts, hourMs).flatMap((interval, index): readonly FeedPrice[] => {
    const price = prices[index]
    return price === null ? [] : [{ ...interval, value: feedPrice(textOf(price, 'a price'), 'PER_MWH') }]
  })
}

/**
 * A data set of Energi Data Service: its columns, and the length of its intervals.
 * The price column ends with the currency.
 */
type Dataset = { readonly name: string; readonly time: string; readonly price: string; readonly lengthMs: number }

/** Data sets of day-ahead prices: hours until the end of September 2025, quarter hours after that. */
export const energiDatasets: Readonly<Record<'quarters' | 'hours', Dataset>> = {
  quarters: { name: 'DayAheadPrices', time: 'TimeUTC', price: 'DayAheadPrice', lengthMs: 15 * minuteMs },
  hours: { name: 'Elspotprices', time: 'HourUTC', price: 'SpotPrice', lengthMs: hourMs },
}

/** Times of these columns are in UTC, without an offset in the text. */
const readEnergiRow = (
  row: Members,
  { time, price, lengthMs }: Dataset,
  currencyCode: string,
): readonly FeedPrice[] => {
  const start = instantOf(`${textOf(row[time], time)}Z`, time)
  const name = `${price}${currencyCode}`
  if (row[name] === null) return []
  return [{ start, end: start + lengthMs, value: feedPrice(textOf(row[name], name), 'PER_MWH') }]
}

/**
 * Read the prices of one area in DKK or EUR per MWh.
 * Source: https://www.energidataservice.dk, Elspotprices, DayAheadPrices.
 */
export const readEnergiDataService = (
  text: string,
  { area, currencyCode }: { readonly area: string; readonly currencyCode: string },
): readonly FeedPrice[] => {
  const answer = membersOf(parseFeed(text), 'the answer')
  const dataset = Object.values(energiDatasets).find(({ name }) => name === answer['dataset'])
  if (dataset === undefined) throw unreadable('its data set is unknown')
  const rows = listOf(answer['records'], 'records').map(each => membersOf(each, 'a record'))
  return rows.filter(row => row['PriceArea'] === area).flatMap(row => readEnergiRow(row, dataset, currencyCode))
}

/**
 * Read a list of prices per kWh of one local day.
 * Source: https://www.elprisetjustnu.se and https://www.hvakosterstrommen.no, v1.
 */
export const readDailyPrices = (text: string, currencyCode: string): readonly FeedPrice[] => {
  const name = `${currencyCode}_per_kWh`
  return listOf(parseFeed(text), 'the answer').map(each => {
    const row = membersOf(each, 'a row')
    const [start, end] = [instantOf(row['time_start'], 'time_start'), instantOf(row['time_end'], 'time_end')]
    requireOrder(start, end, 'a row')
    return { start, end, value: feedPrice(textOf(row[name], name), 'PER_KWH') }
  })
}

/** Return whether a rate applies to direct debit or to all payment methods. Rates of other methods would overlap. */
const isForDirectDebit = (rate: Members): boolean => {
  const method = rate['payment_method'] ?? null
  return method === null || method === 'DIRECT_DEBIT'
}

/** A rate without an end belongs to a fixed tariff and not to a half hour. */
const readOctopusRate = (rate: Members, isVatIncluded: boolean): readonly FeedPrice[] => {
  if (rate['valid_to'] === null) return []
  const [start, end] = [instantOf(rate['valid_from'], 'valid_from'), instantOf(rate['valid_to'], 'valid_to')]
  requireOrder(start, end, 'a rate')
  const name = isVatIncluded ? 'value_inc_vat' : 'value_exc_vat'
  return [{ start, end, value: feedPrice(textOf(rate[name], name), 'HUNDREDTH_PER_KWH') }]
}

/**
 * Read half-hourly retail prices in pence per kWh, and the address of the next page (null on the last page).
 * Source: Octopus Energy, standard unit rates of a product, https://developer.octopus.energy/rest/.
 */
export const readOctopusAgile = (
  text: string,
  isVatIncluded: boolean,
): { readonly prices: readonly FeedPrice[]; readonly next: string | null } => {
  const answer = membersOf(parseFeed(text), 'the answer')
  const rates = listOf(answer['results'], 'results').map(each => membersOf(each, 'a rate'))
  const next = answer['next'] ?? null
  return {
    prices: rates.filter(isForDirectDebit).flatMap(rate => readOctopusRate(rate, isVatIncluded)),
    next: next === null ? null : textOf(next, 'next'),
  }
}
