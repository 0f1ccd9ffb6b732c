import { XMLParser, XMLValidator } from 'fast-xml-parser'
import { biddingZone } from './bidding-zones.ts'
import { type Feed, type FeedPage, type FeedSeries, onePage } from './feed.ts'
import { instantOf, listOf, type Members, membersOf, textOf } from './feed-json.ts'
import { type FeedPrice, feedPrice, type PriceUnit, unreadable } from './feed-price.ts'

/**
 * Day-ahead prices of the ENTSO-E transparency platform, document type A44.
 * Of several auctions of a zone only the first is the coupled day-ahead auction: others are held earlier or for other products, and
 * stand in the document in any order. Where a time is published in two resolutions, the finer one holds.
 * Source: ENTSO-E, RESTful API, https://transparency.entsoe.eu; IEC 62325-451-3 (publication document); IEC 62325-351 (curve types).
 */

const minuteMs = 60_000
const dailyContract = 'A01'
const variableBlocks = 'A03'
const maxPositions = 4_000

const resolutions: Readonly<Record<string, number>> = { PT15M: 15, PT30M: 30, PT60M: 60, PT1H: 60 }
const units: Readonly<Record<string, PriceUnit>> = { MWH: 'PER_MWH', KWH: 'PER_KWH' }

/** Every text as it was sent; entities are left alone, because none of these texts needs one and some are made to do harm. */
const parser = new XMLParser({
  ignoreAttributes: true,
  parseTagValue: false,
  processEntities: false,
  removeNSPrefix: true,
  isArray: name => name === 'TimeSeries' || name === 'Period' || name === 'Point' || name === 'Reason',
})

const parse = (text: string): Members => {
  const checked = XMLValidator.validate(text)
  if (checked !== true) throw unreadable(`it is no XML (line ${checked.err.line})`)
  return membersOf(parser.parse(text), 'the document')
}

/** Times stand without seconds. */
const timeOf = (value: unknown, what: string): number =>
  instantOf(textOf(value, what).replace(/^(\d{4}-\d\d-\d\dT\d\d:\d\d)Z$/, '$1:00Z'), what)

type Curve = { readonly unit: PriceUnit; readonly repeats: boolean }

/** The prices of a period by position from 1. A left-out position repeats the one before it in variable blocks, else it is a gap. */
const readPeriod = (period: Members, { unit, repeats }: Curve): readonly FeedPrice[] => {
  const interval = membersOf(period['timeInterval'], 'a timeInterval')
  const [start, end] = [
    timeOf(interval['start'], 'the start of a period'),
    timeOf(interval['end'], 'the end of a period'),
  ]
  const minutes = resolutions[textOf(period['resolution'], 'a resolution')]
  if (minutes === undefined) throw unreadable(`the resolution ${String(period['resolution'])} is not known`)
  const lengthMs = minutes * minuteMs
  const positions = (end - start) / lengthMs
  if (!(Number.isInteger(positions) && positions >= 1 && positions <= maxPositions))
    throw unreadable('a period is no number of steps')
  const values = readPoints(period, positions, unit)
  const prices: FeedPrice[] = []
  let value: bigint | undefined
  for (let position = 1; position <= positions; position += 1) {
    value = values.get(position) ?? (repeats ? value : undefined)
    if (value === undefined) continue
    const from = start + (position - 1) * lengthMs
    prices.push({ start: from, end: from + lengthMs, value })
  }
  return prices
}

const readPoints = (period: Members, positions: number, unit: PriceUnit): ReadonlyMap<number, bigint> => {
  const values = new Map<number, bigint>()
  for (const each of listOf(period['Point'] ?? [], 'Point')) {
    const point = membersOf(each, 'a point')
    const text = textOf(point['position'], 'a position')
    const position = /^\d{1,5}$/.test(text) ? Number(text) : 0
    if (position < 1 || position > positions || values.has(position))
      throw unreadable(`the position ${text} cannot be there`)
    values.set(position, feedPrice(textOf(point['price.amount'], 'a price.amount'), unit))
  }
  return values
}

/** Whether a series is of the auction whose price is the zone's day-ahead price. */
const isDayAhead = (series: Members): boolean =>
  (series['contract_MarketAgreement.type'] ?? dailyContract) === dailyContract &&
  (series['classificationSequence_AttributeInstanceComponent.position'] ?? '1') === '1'

const currencyOf = (series: Members): string => textOf(series['currency_Unit.name'], 'currency_Unit.name')

/** Keep the series of one currency: some zones are published in two. Throws where there are others alone. */
const inCurrency = (all: readonly Members[], currencyCode: string): readonly Members[] => {
  const own = all.filter(series => currencyOf(series) === currencyCode)
  const [other] = all
  if (own.length > 0 || other === undefined) return own
  throw unreadable(`its prices are in ${currencyOf(other).slice(0, 10)}, not in ${currencyCode}`)
}

const readSeries = (series: Members): readonly FeedPrice[] => {
  const unit = units[textOf(series['price_Measure_Unit.name'], 'price_Measure_Unit.name')]
  if (unit === undefined) throw unreadable('its prices are neither per MWh nor per kWh')
  const repeats = series['curveType'] === variableBlocks
  return listOf(series['Period'] ?? [], 'Period').flatMap(period =>
    readPeriod(membersOf(period, 'a period'), { unit, repeats }),
  )
}

/** Lay finer prices over coarser ones; parts that a finer one leaves keep the coarser. */
const finestFirst = (prices: readonly FeedPrice[]): readonly FeedPrice[] => {
  const taken: FeedPrice[] = []
  const byLength = Map.groupBy(prices, ({ start, end }) => end - start)
  for (const [, group] of [...byLength].toSorted(([a], [b]) => a - b)) {
    const finer = taken.toSorted((a, b) => a.start - b.start)
    // Of two that claim one time in one resolution the later in the document is the newer.
    const newest = [...new Map(group.map(price => [price.start, price])).values()]
    for (const price of newest) taken.push(...without(price, finer))
  }
  return taken.toSorted((a, b) => a.start - b.start)
}

const without = (price: FeedPrice, finer: readonly FeedPrice[]): readonly FeedPrice[] => {
  const left: FeedPrice[] = []
  let from = price.start
  for (const { start, end } of finer) {
    if (end <= from || start >= price.end) continue
    if (start > from) left.push({ ...price, start: from, end: start })
    from = Math.max(from, end)
  }
  if (from < price.end) left.push({ ...price, start: from })
  return left
}

/** Read an answer; one that acknowledges without prices says why in its note. */
const read = (text: string, { currencyCode }: FeedSeries): FeedPage => {
  const document = parse(text)
  const acknowledgement = document['Acknowledgement_MarketDocument']
  if (acknowledgement !== undefined) {
    const reasons = listOf(membersOf(acknowledgement, 'the acknowledgement')['Reason'] ?? [], 'Reason')
    const reasonTexts = reasons
      .map(reason => membersOf(reason, 'a reason')['text'])
      .filter(reason => typeof reason === 'string')
    return onePage([], reasonTexts.join(' ').slice(0, 300) || 'no data')
  }
  const publication = membersOf(document['Publication_MarketDocument'], 'Publication_MarketDocument')
  const series = listOf(publication['TimeSeries'] ?? [], 'TimeSeries').map(each => membersOf(each, 'a time series'))
  return onePage(finestFirst(inCurrency(series.filter(isDayAhead), currencyCode).flatMap(readSeries)))
}

const compactTimestamp = (at: number): string => new Date(at).toISOString().replaceAll(/[-:T]/g, '').slice(0, 12)

export const entsoe: Feed = {
  baseUrl: 'https://web-api.tp.entsoe.eu',
  // A week of quarter hours is read in some 15 ms; a month would keep requests waiting.
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
  read,
  readableStatuses: [400],
}
