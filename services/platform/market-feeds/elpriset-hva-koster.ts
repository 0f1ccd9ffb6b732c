import { localFields } from '../../domain/civil-time.ts'
import { timeZone } from '../time-zone.ts'
import { type Feed, onePage } from './feed.ts'
import { instantOf, listOf, membersOf, parseFeed, textOf } from './feed-json.ts'
import { type FeedPrice, feedPrice, unreadable } from './feed-price.ts'

/** Where the prices of a country's areas are. Both sites follow one pattern. */
type CountryFeed = {
  readonly baseUrl: string
  readonly currencyCode: string
  readonly areas: RegExp
  readonly timeZone: string
}

const twoDigits = (value: number): string => String(value).padStart(2, '0')

const dayOf = (at: number, zoneName: string): string => {
  const zone = timeZone(zoneName)
  if (zone === null) throw new RangeError(`there is no zone ${zoneName}`)
  const { year, month, date } = localFields(zone, at)
  return `${year}/${twoDigits(month)}-${twoDigits(date)}`
}

const readPrice = (each: unknown, currencyCode: string): FeedPrice => {
  const row = membersOf(each, 'a row')
  const [start, end] = [instantOf(row['time_start'], 'time_start'), instantOf(row['time_end'], 'time_end')]
  if (end <= start) throw unreadable('a row ends before it starts')
  const name = `${currencyCode}_per_kWh`
  return { start, end, value: feedPrice(textOf(row[name], name), 'PER_KWH') }
}

/** A file for each local day and area, not there before it is published: a list of prices per kWh in the country's currency and in euros. */
const dailyPriceFeed = (country: CountryFeed): Feed => ({
  baseUrl: country.baseUrl,
  maxDays: 1,
  serves: ({ area, currencyCode }) => currencyCode === country.currencyCode && country.areas.test(area),
  urlOf: ({ area }, { from }, { baseUrl }) => `${baseUrl}/api/v1/prices/${dayOf(from, country.timeZone)}_${area}.json`,
  read: (text, { currencyCode }) =>
    onePage(listOf(parseFeed(text), 'the answer').map(each => readPrice(each, currencyCode))),
  emptyStatuses: [404],
})

/** Day-ahead prices of the Swedish areas in Swedish kronor. Source: https://www.elprisetjustnu.se/elpris-api, v1. */
export const elprisetJustNu = dailyPriceFeed({
  baseUrl: 'https://www.elprisetjustnu.se',
  currencyCode: 'SEK',
  areas: /^SE[1-4]$/,
  timeZone: 'Europe/Stockholm',
})

/** Day-ahead prices of the Norwegian areas in Norwegian kroner. Source: https://www.hvakosterstrommen.no/strompris-api, v1. */
export const hvaKosterStrommen = dailyPriceFeed({
  baseUrl: 'https://www.hvakosterstrommen.no',
  currencyCode: 'NOK',
  areas: /^NO[1-5]$/,
  timeZone: 'Europe/Oslo',
})
