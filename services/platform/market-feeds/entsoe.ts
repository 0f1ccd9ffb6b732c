import { XMLParser, XMLValidator } from 'fast-xml-parser'
import { biddingZone } from '../../domain/market-feed/bidding-zones.ts'
import { readEntsoeDocument } from '../../domain/market-feed/entsoe-document.ts'
import { type Members, membersOf } from '../../domain/market-feed/feed-json.ts'
import { unreadable } from '../../domain/market-feed/feed-price.ts'
import { type Feed, onePage } from './feed.ts'

/**
 * Keeps each text as sent. Entities are not expanded: the documents need none, and some entities exhaust the memory.
 */
const parser = new XMLParser({
  ignoreAttributes: true,
  parseTagValue: false,
  processEntities: false,
  removeNSPrefix: true,
  isArray: name => name === 'TimeSeries' || name === 'Period' || name === 'Point' || name === 'Reason',
})

const parsed = (text: string): unknown => {
  try {
    return parser.parse(text)
  } catch {
    throw unreadable('it has an element with a name that is not allowed')
  }
}

const parse = (text: string): Members => {
  const checked = XMLValidator.validate(text)
  if (checked !== true) throw unreadable(`it is not XML (line ${checked.err.line})`)
  return membersOf(parsed(text), 'the document')
}

const compactTimestamp = (at: number): string => new Date(at).toISOString().replaceAll(/[-:T]/g, '').slice(0, 12)

/**
 * Day-ahead prices of the ENTSO-E transparency platform.
 * Source: ENTSO-E, RESTful API, https://transparency.entsoe.eu.
 */
export const entsoe: Feed = {
  baseUrl: 'https://web-api.tp.entsoe.eu',
  // Reading a week of quarter hours blocks the event loop for 15 ms. A month would delay other requests.
  maxDays: 7,
  serves: ({ area, currencyCode }, { entsoeToken }) =>
    entsoeToken !== null && biddingZone(area)?.currencyCode === currencyCode,
  urlOf: ({ area }, { from, to }, { baseUrl, entsoeToken }) => {
    const eic = biddingZone(area)?.eic ?? ''
    const query = new URLSearchParams({
      securityToken: entsoeToken ?? '',
      documentType: 'A44',
      in_Domain: eic,
      out_Domain: eic,
      periodStart: compactTimestamp(from),
      periodEnd: compactTimestamp(to),
    })
    return `${baseUrl}/api?${query}`
  },
  read: (text, { currencyCode }) => {
    const { prices, note } = readEntsoeDocument(parse(text), currencyCode)
    return onePage(prices, note)
  },
  readableStatuses: [400],
}
