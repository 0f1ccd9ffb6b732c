import { localFields } from '../../domain/civil-time.ts'
import { biddingZone } from '../../domain/market-feed/bidding-zones.ts'
import {
  energiDatasets,
  type JsonFeedName,
  readAwattar,
  readDailyPrices,
  readEnergiDataService,
  readEnergyCharts,
  readOctopusAgile,
} from '../../domain/market-feed/json-feeds.ts'
import { areaOfRegion, gridRegions } from '../../domain/market-feed/shared-sources.ts'
import { timeZone } from '../time-zone.ts'
import { type Feed, type FeedSeries, type FeedSettings, onePage } from './feed.ts'

/** Write an instant as the feeds take it: 2025-10-01T00:00Z. */
const minuteText = (at: number): string => `${new Date(at).toISOString().slice(0, 16)}Z`

/** Top-level domain of the host by market area. */
const awattarCountries: Readonly<Record<string, string>> = { AT: 'at', 'DE-LU': 'de' }

/** Day-ahead prices of aWATTar. `{country}` in the address is replaced by `at` or `de`. */
const awattar: Feed = {
  baseUrl: 'https://api.awattar.{country}',
  maxDays: 7,
  serves: ({ area, currencyCode }) => currencyCode === 'EUR' && area in awattarCountries,
  urlOf: ({ area }, { from, to }, { baseUrl }) =>
    `${baseUrl.replace('{country}', awattarCountries[area] ?? '')}/v1/marketdata?start=${from}&end=${to}`,
  read: text => onePage(readAwattar(text)),
}

const energyChartsZone = (area: string): string | null => biddingZone(area)?.energyCharts ?? null

/** Day-ahead prices of Energy-Charts (Fraunhofer ISE). */
const energyCharts: Feed = {
  baseUrl: 'https://api.energy-charts.info',
  maxDays: 31,
  serves: ({ area, currencyCode }) => currencyCode === 'EUR' && energyChartsZone(area) !== null,
  urlOf: ({ area }, { from, to }, { baseUrl }) => {
    const query = new URLSearchParams({
      bzn: energyChartsZone(area) ?? '',
      start: minuteText(from),
      end: minuteText(to),
    })
    return `${baseUrl}/price?${query}`
  },
  read: text => onePage(readEnergyCharts(text)),
  emptyStatuses: [404],
}

/** First day of delivery in quarter hours. The data set of hours ends here. */
const quartersSince = Date.parse('2025-09-30T22:00:00Z')

const danishAreas: ReadonlySet<string> = new Set(['DK1', 'DK2'])
const danishCurrencies: ReadonlySet<string> = new Set(['DKK', 'EUR'])

/** Day-ahead prices of Energi Data Service (Energinet) for Denmark. */
const energiDataService: Feed = {
  baseUrl: 'https://api.energidataservice.dk',
  maxDays: 31,
  cutsAt: [quartersSince],
  serves: ({ area, currencyCode }) => danishAreas.has(area) && danishCurrencies.has(currencyCode),
  urlOf: ({ area }, { from, to }, { baseUrl }) => {
    const minute = (at: number): string => new Date(at).toISOString().slice(0, 16)
    const query = new URLSearchParams({
      start: minute(from),
      end: minute(to),
      timezone: 'UTC',
      filter: JSON.stringify({ PriceArea: [area] }),
      limit: '0',
    })
    return `${baseUrl}/dataset/${energiDatasets[to <= quartersSince ? 'hours' : 'quarters'].name}?${query}`
  },
  read: (text, series) => onePage(readEnergiDataService(text, series)),
}

/** Site with the prices of one country. The Swedish and the Norwegian site have the same format. */
type CountryFeed = {
  readonly baseUrl: string
  readonly currencyCode: string
  readonly areas: RegExp
  readonly timeZone: string
}

const twoDigits = (value: number): string => String(value).padStart(2, '0')

const dayOf = (at: number, zoneName: string): string => {
  const zone = timeZone(zoneName)
  if (zone === null) throw new RangeError(`Unknown time zone ${zoneName}`)
  const { year, month, date } = localFields(zone, at)
  return `${year}/${twoDigits(month)}-${twoDigits(date)}`
}

/** A file for each local day and area. The site answers 404 until the day is published. */
const dailyPriceFeed = (country: CountryFeed): Feed => ({
  baseUrl: country.baseUrl,
  maxDays: 1,
  serves: ({ area, currencyCode }) => currencyCode === country.currencyCode && country.areas.test(area),
  urlOf: ({ area }, { from }, { baseUrl }) => `${baseUrl}/api/v1/prices/${dayOf(from, country.timeZone)}_${area}.json`,
  read: (text, { currencyCode }) => onePage(readDailyPrices(text, currencyCode)),
  emptyStatuses: [404],
})

/** Day-ahead prices of the Swedish areas in SEK. */
const elprisetJustNu = dailyPriceFeed({
  baseUrl: 'https://www.elprisetjustnu.se',
  currencyCode: 'SEK',
  areas: /^SE[1-4]$/,
  timeZone: 'Europe/Stockholm',
})

/** Day-ahead prices of the Norwegian areas in NOK. */
const hvaKosterStrommen = dailyPriceFeed({
  baseUrl: 'https://www.hvakosterstrommen.no',
  currencyCode: 'NOK',
  areas: /^NO[1-5]$/,
  timeZone: 'Europe/Oslo',
})

const octopusPageSize = 1_500

/** Return the grid region of an area. The area GB has the prices of the configured region, or none. */
const regionOf = ({ area }: FeedSeries, { octopus }: FeedSettings): string | null =>
  area === 'GB' ? octopus.region : (gridRegions.find(region => areaOfRegion(region) === area) ?? null)

/** Half-hourly retail prices of Agile Octopus by grid region. Pages are ordered newest first. */
const octopusAgile: Feed = {
  baseUrl: 'https://api.octopus.energy',
  maxDays: 31,
  serves: (series, settings) => series.currencyCode === 'GBP' && regionOf(series, settings) !== null,
  urlOf: (series, { from, to }, settings) => {
    const { product } = settings.octopus
    const tariff = `E-1R-${product}-${regionOf(series, settings) ?? ''}`
    const query = new URLSearchParams({
      period_from: minuteText(from),
      period_to: minuteText(to),
      page_size: String(octopusPageSize),
    })
    const rates = `electricity-tariffs/${encodeURIComponent(tariff)}/standard-unit-rates`
    return `${settings.baseUrl}/v1/products/${encodeURIComponent(product)}/${rates}/?${query}`
  },
  read: (text, _, { octopus }) => ({ ...readOctopusAgile(text, octopus.isVatIncluded), note: null }),
}

/** Public feeds with JSON answers, by name. */
export const jsonFeeds: Readonly<Record<JsonFeedName, Feed>> = {
  'energy-charts': energyCharts,
  'energi-data-service': energiDataService,
  'elpriset-just-nu': elprisetJustNu,
  'hva-koster-strommen': hvaKosterStrommen,
  awattar,
  'octopus-agile': octopusAgile,
}
