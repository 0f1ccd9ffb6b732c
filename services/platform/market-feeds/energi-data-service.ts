import { type Feed, type FeedSeries, onePage } from './feed.ts'
import { instantOf, listOf, type Members, membersOf, parseFeed, textOf } from './feed-json.ts'
import { type FeedPrice, feedPrice, unreadable } from './feed-price.ts'

const minuteMs = 60_000

/** A set of prices and the names of its columns; that of a price goes on with its currency. */
type Dataset = { readonly name: string; readonly time: string; readonly price: string; readonly lengthMs: number }

const quarters: Dataset = { name: 'DayAheadPrices', time: 'TimeUTC', price: 'DayAheadPrice', lengthMs: 15 * minuteMs }
const hours: Dataset = { name: 'Elspotprices', time: 'HourUTC', price: 'SpotPrice', lengthMs: 60 * minuteMs }

/** The first day of delivery in quarter hours; the sets meet here. */
const quartersSince = Date.parse('2025-09-30T22:00:00Z')

const areas: ReadonlySet<string> = new Set(['DK1', 'DK2'])
const currencies: ReadonlySet<string> = new Set(['DKK', 'EUR'])

/** Times of these columns are in UTC and are written without saying so. */
const readPrice = (row: Members, { time, price, lengthMs }: Dataset, currencyCode: string): readonly FeedPrice[] => {
  const start = instantOf(`${textOf(row[time], time)}Z`, time)
  const name = `${price}${currencyCode}`
  return row[name] === null
    ? []
    : [{ start, end: start + lengthMs, value: feedPrice(textOf(row[name], name), 'PER_MWH') }]
}

const read = (text: string, { area, currencyCode }: FeedSeries): readonly FeedPrice[] => {
  const answer = membersOf(parseFeed(text), 'the answer')
  const dataset = [hours, quarters].find(({ name }) => name === answer['dataset'])
  if (dataset === undefined) throw unreadable('its data set is not known')
  const rows = listOf(answer['records'], 'records').map(each => membersOf(each, 'a record'))
  return rows.filter(row => row['PriceArea'] === area).flatMap(row => readPrice(row, dataset, currencyCode))
}

/**
 * Day-ahead prices of Energi Data Service (Energinet), in Danish kroner and euros per MWh: hours until the end of September 2025, quarter
 * hours since. Source: https://www.energidataservice.dk, data sets Elspotprices and DayAheadPrices.
 */
export const energiDataService: Feed = {
  baseUrl: 'https://api.energidataservice.dk',
  maxDays: 31,
  cutsAt: [quartersSince],
  serves: ({ area, currencyCode }) => areas.has(area) && currencies.has(currencyCode),
  urlOf: ({ area }, { from, to }, { baseUrl }) => {
    const minute = (at: number): string => new Date(at).toISOString().slice(0, 16)
    const query = new URLSearchParams({
      start: minute(from),
      end: minute(to),
      timezone: 'UTC',
      filter: JSON.stringify({ PriceArea: [area] }),
      limit: '0',
    })
    return `${baseUrl}/dataset/${(to <= quartersSince ? hours : quarters).name}?${query}`
  },
  read: (text, series) => onePage(read(text, series)),
}
