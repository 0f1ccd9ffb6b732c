import { minuteMs } from '../interval.ts'
import { instantOf, listOf, type Members, membersOf, textOf } from './feed-json.ts'
import { type FeedPrice, feedPrice, type PriceUnit, unreadable } from './feed-price.ts'

const dailyContract = 'A01'
const variableBlocks = 'A03'
const maxPositions = 4_000

const resolutions: Readonly<Record<string, number>> = { PT15M: 15, PT30M: 30, PT60M: 60, PT1H: 60 }
const units: Readonly<Record<string, PriceUnit>> = { MWH: 'PER_MWH', KWH: 'PER_KWH' }

/** Read an instant. Texts of this document have no seconds. */
const timeOf = (value: unknown, what: string): number =>
  instantOf(textOf(value, what).replace(/^(\d{4}-\d\d-\d\dT\d\d:\d\d)Z$/, '$1:00Z'), what)

/** Unit of the prices, and whether a missing position repeats the previous price. */
type Curve = { readonly unit: PriceUnit; readonly repeats: boolean }

/**
 * Read the prices of a period. Positions count from 1.
 * A missing position repeats the previous price in a curve of variable blocks. In other curves it leaves a gap.
 */
const readPeriod = (period: Members, { unit, repeats }: Curve): readonly FeedPrice[] => {
  const interval = membersOf(period['timeInterval'], 'a timeInterval')
  const [start, end] = [
    timeOf(interval['start'], 'the start of a period'),
    timeOf(interval['end'], 'the end of a period'),
  ]
  const minutes = resolutions[textOf(period['resolution'], 'a resolution')]
  if (minutes === undefined) throw unreadable(`the resolution ${String(period['resolution'])} is unknown`)
  const lengthMs = minutes * minuteMs
  const positions = (end - start) / lengthMs
  if (!(Number.isInteger(positions) && positions >= 1 && positions <= maxPositions))
    throw unreadable('the length of a period is not a multiple of its resolution')
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
      throw unreadable(`the position ${text} is invalid or a duplicate`)
    values.set(position, feedPrice(textOf(point['price.amount'], 'a price.amount'), unit))
  }
  return values
}

/** Return whether a series belongs to the coupled day-ahead auction of the zone. */
const isDayAhead = (series: Members): boolean =>
  (series['contract_MarketAgreement.type'] ?? dailyContract) === dailyContract &&
  (series['classificationSequence_AttributeInstanceComponent.position'] ?? '1') === '1'

const currencyOf = (series: Members): string => textOf(series['currency_Unit.name'], 'currency_Unit.name')

/** Return the series of one currency. Some zones publish two currencies. Throws if all series have another currency. */
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

/** Replace coarser prices by finer prices of the same time. The rest of a coarser price stays. */
const preferFinest = (prices: readonly FeedPrice[]): readonly FeedPrice[] => {
  const taken: FeedPrice[] = []
  const byLength = Map.groupBy(prices, ({ start, end }) => end - start)
  for (const [, group] of [...byLength].toSorted(([a], [b]) => a - b)) {
    const finer = taken.toSorted((a, b) => a.start - b.start)
    // If two prices have the same time and resolution, the last one in the document is the newest.
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

/**
 * Read a parsed ENTSO-E document of type A44: day-ahead prices of one currency, ordered by start.
 * A zone can have several auctions, in any order. Only the first auction is the coupled day-ahead auction.
 * If a time has prices in two resolutions, the finer resolution applies.
 * An acknowledgement has no prices: `note` gives its reason. Throws `FeedFormatError`.
 * Source:
 * ENTSO-E, RESTful API, https://transparency.entsoe.eu; IEC 62325-451-3 (publication document); IEC 62325-351 (curve
 * types).
 */
export const readEntsoeDocument = (
  document: Members,
  currencyCode: string,
): { readonly prices: readonly FeedPrice[]; readonly note: string | null } => {
  const acknowledgement = document['Acknowledgement_MarketDocument']
  if (acknowledgement !== undefined) {
    const reasons = listOf(membersOf(acknowledgement, 'the acknowledgement')['Reason'] ?? [], 'Reason')
    const reasonTexts = reasons
      .map(reason => membersOf(reason, 'a reason')['text'])
      .filter(reason => typeof reason === 'string')
    return { prices: [], note: reasonTexts.join(' ').slice(0, 300) || 'no data' }
  }
  const publication = membersOf(document['Publication_MarketDocument'], 'Publication_MarketDocument')
  const series = listOf(publication['TimeSeries'] ?? [], 'TimeSeries').map(each => membersOf(each, 'a time series'))
  const dayAhead = inCurrency(series.filter(isDayAhead), currencyCode)
  return { prices: preferFinest(dayAhead.flatMap(readSeries)), note: null }
}
