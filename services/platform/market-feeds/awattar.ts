import { type Feed, onePage } from './feed.ts'
import { epochOf, listOf, membersOf, parseFeed, textOf } from './feed-json.ts'
import { type FeedPrice, feedPrice, unreadable } from './feed-price.ts'

/** Countries by area; they differ in the last letters of the host's name alone. */
const countries: Readonly<Record<string, string>> = { AT: 'at', 'DE-LU': 'de' }

const readPrice = (each: unknown): FeedPrice => {
  const row = membersOf(each, 'a row')
  const [start, end] = [
    epochOf(row['start_timestamp'], 1, 'start_timestamp'),
    epochOf(row['end_timestamp'], 1, 'end_timestamp'),
  ]
  if (end <= start) throw unreadable('a row ends before it starts')
  const unit = textOf(row['unit'], 'unit').toUpperCase()
  if (unit !== 'EUR/MWH') throw unreadable(`its prices are in ${unit.slice(0, 20)}, not in EUR/MWh`)
  return { start, end, value: feedPrice(textOf(row['marketprice'], 'marketprice'), 'PER_MWH') }
}

/**
 * Day-ahead prices of aWATTar: a list of hours in ms with prices in EUR per MWh. In the address `{country}` stands for at or de.
 * Source: aWATTar, market data API v1, https://www.awattar.de/services/api.
 */
export const awattar: Feed = {
  baseUrl: 'https://api.awattar.{country}',
  maxDays: 7,
  serves: ({ area, currencyCode }) => currencyCode === 'EUR' && area in countries,
  urlOf: ({ area }, { from, to }, { baseUrl }) =>
    `${baseUrl.replace('{country}', countries[area] ?? '')}/v1/marketdata?start=${from}&end=${to}`,
  read: text => onePage(listOf(membersOf(parseFeed(text), 'the answer')['data'], 'data').map(readPrice)),
}
