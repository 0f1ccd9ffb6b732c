import { type Feed, type FeedSeries, type FeedSettings, minuteText } from './feed.ts'
import { instantOf, listOf, membersOf, parseFeed, textOf } from './feed-json.ts'
import { type FeedPrice, feedPrice, unreadable } from './feed-price.ts'

/** The regions of Great Britain's grid by the letters of its supply points; I and O are not used. */
export const gridRegions: readonly string[] = [...'ABCDEFGHJKLMNP']

/** The market area of a region's retail price. */
export const areaOfRegion = (region: string): string => `GB-${region}`

const pageSize = 1_500

/** The region whose prices stand for an area; the whole of Great Britain has those of the region that configuration names. */
const regionOf = ({ area }: FeedSeries, { octopus }: FeedSettings): string | null =>
  area === 'GB' ? octopus.region : (gridRegions.find(region => areaOfRegion(region) === area) ?? null)

/** A price without end, such as of a fixed tariff, is none of half an hour and is left out. */
const readPrice = (each: unknown, { octopus }: FeedSettings): readonly FeedPrice[] => {
  const row = membersOf(each, 'a rate')
  if (row['valid_to'] === null) return []
  const [start, end] = [instantOf(row['valid_from'], 'valid_from'), instantOf(row['valid_to'], 'valid_to')]
  if (end <= start) throw unreadable('a rate ends before it starts')
  const name = octopus.isVatIncluded ? 'value_inc_vat' : 'value_exc_vat'
  return [{ start, end, value: feedPrice(textOf(row[name], name), 'HUNDREDTH_PER_KWH') }]
}

/** Rates that differ by how a customer pays would overlap: those of direct debit, and those for all, are read. */
const isForAll = (each: unknown): boolean => {
  const method = membersOf(each, 'a rate')['payment_method'] ?? null
  return method === null || method === 'DIRECT_DEBIT'
}

/**
 * Half-hourly retail prices of Agile Octopus, by region of the grid, in pence per kWh with or without VAT, in pages, newest first.
 * Source: Octopus Energy, standard unit rates of a product, https://developer.octopus.energy/rest/.
 */
export const octopusAgile: Feed = {
  baseUrl: 'https://api.octopus.energy',
  maxDays: 31,
  serves: (series, settings) => series.currencyCode === 'GBP' && regionOf(series, settings) !== null,
  urlOf: (series, { from, to }, settings) => {
    const { product } = settings.octopus
    const tariff = `E-1R-${product}-${regionOf(series, settings) ?? ''}`
    const query = new URLSearchParams({
      period_from: minuteText(from),
      period_to: minuteText(to),
      page_size: String(pageSize),
    })
    return `${settings.baseUrl}/v1/products/${encodeURIComponent(product)}/electricity-tariffs/${encodeURIComponent(tariff)}/standard-unit-rates/?${query}`
  },
  read: (text, _, settings) => {
    const answer = membersOf(parseFeed(text), 'the answer')
    const rates = listOf(answer['results'], 'results').filter(isForAll)
    const next = answer['next'] ?? null
    return {
      prices: rates.flatMap(rate => readPrice(rate, settings)),
      next: next === null ? null : textOf(next, 'next'),
      note: null,
    }
  },
}
