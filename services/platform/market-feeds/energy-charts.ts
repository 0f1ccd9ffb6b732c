import { biddingZone } from './bidding-zones.ts'
import { type Feed, minuteText, onePage } from './feed.ts'
import { epochOf, listOf, membersOf, parseFeed, textOf } from './feed-json.ts'
import { type FeedPrice, feedPrice, intervalsFrom, unreadable } from './feed-price.ts'

const hourMs = 3_600_000
const zoneOf = (area: string): string | null => biddingZone(area)?.energyCharts ?? null

/**
 * Day-ahead prices of Energy-Charts (Fraunhofer ISE): two lists, starts in seconds and prices in EUR per MWh, in which null stands for a
 * price that is not known yet. Lengths are not said: each price lasts to the next start.
 * Source: https://api.energy-charts.info, operation price.
 */
export const energyCharts: Feed = {
  baseUrl: 'https://api.energy-charts.info',
  maxDays: 31,
  serves: ({ area, currencyCode }) => currencyCode === 'EUR' && zoneOf(area) !== null,
  urlOf: ({ area }, { from, to }, { baseUrl }) => {
    const query = new URLSearchParams({ bzn: zoneOf(area) ?? '', start: minuteText(from), end: minuteText(to) })
    return `${baseUrl}/price?${query}`
  },
  read: text => {
    const answer = membersOf(parseFeed(text), 'the answer')
    const unit = textOf(answer['unit'], 'unit').replaceAll(' ', '')
    if (unit !== 'EUR/MWh') throw unreadable(`its prices are in ${unit.slice(0, 20)}, not in EUR/MWh`)
    const starts = listOf(answer['unix_seconds'], 'unix_seconds').map(second => epochOf(second, 1_000, 'a start'))
    const prices = listOf(answer['price'], 'price')
    if (prices.length !== starts.length) throw unreadable(`it has ${starts.length} starts and ${prices.length} prices`)
    if (starts.some((start, index) => start <= (starts[index - 1] ?? -1))) throw unreadable('its starts do not ascend')
    const known = intervalsFrom(starts, hourMs).flatMap((interval, index): readonly FeedPrice[] => {
      const price = prices[index]
      return price === null ? [] : [{ ...interval, value: feedPrice(textOf(price, 'a price'), 'PER_MWH') }]
    })
    return onePage(known)
  },
  emptyStatuses: [404],
}
