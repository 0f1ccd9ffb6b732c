import { biddingZones } from './bidding-zones.ts'

/** Grid regions of Great Britain, by the letters of their supply points. I and O are not used. */
export const gridRegions: readonly string[] = [...'ABCDEFGHJKLMNP']

/** Return the market area of the retail prices of a grid region. */
export const areaOfRegion = (region: string): string => `GB-${region}`

/** A market source of the operator that all accounts can use: prices of one area in one currency. */
export type SharedSource = {
  readonly area: string
  readonly currencyCode: string
  readonly displayName: string
  readonly resolutionMinutes: number
}

/** National currencies in which prices are published in addition to the currency of the auction. */
const localCurrencies: readonly (readonly [RegExp, string])[] = [
  [/^DK[12]$/, 'DKK'],
  [/^NO[1-5]$/, 'NOK'],
  [/^SE[1-4]$/, 'SEK'],
]

const dayAhead = (area: string, currencyCode: string, resolutionMinutes: number): SharedSource => ({
  area,
  currencyCode,
  displayName: `Day-ahead ${area} in ${currencyCode}`,
  resolutionMinutes,
})

const ofZones = biddingZones.flatMap(({ area, currencyCode, resolutionMinutes }) => {
  const local = localCurrencies.filter(([areas]) => areas.test(area)).map(([, currency]) => currency)
  return [currencyCode, ...local].map(currency => dayAhead(area, currency, resolutionMinutes))
})

const agile = (area: string): SharedSource => ({
  area,
  currencyCode: 'GBP',
  displayName: `Agile ${area}`,
  resolutionMinutes: 30,
})

/**
 * Market sources of every installation: each bidding zone in the currency of its auction, Nordic zones also in their
 * national currency,
 * and Great Britain with its grid regions. The operator decides which feeds fill them.
 * Source: docs/rules/markets-and-forecasts.md #market-sources.
 */
export const sharedSources: readonly SharedSource[] = [
  ...ofZones,
  { ...agile('GB'), displayName: 'Great Britain' },
  ...gridRegions.map(region => agile(areaOfRegion(region))),
]

/** Time zone of the delivery days of an area, and the local minute of the day at which the next day is published. */
export type MarketClock = { readonly timeZone: string; readonly publishedAtMinute: number }

const coupledClock: MarketClock = { timeZone: 'Europe/Brussels', publishedAtMinute: 12 * 60 + 55 }

/**
 * British delivery days start at 23:00 local time, together with the continent. Retail prices are published at 17:10.
 */
const britishClock: MarketClock = { ...coupledClock, publishedAtMinute: 17 * 60 + 10 }

const clocks: ReadonlyMap<string, MarketClock> = new Map(
  biddingZones.map(({ area, timeZone }) => [area, { ...coupledClock, timeZone }] as const),
)

/** Return the market clock of an area. */
export const marketClock = (area: string): MarketClock =>
  clocks.get(area) ?? (/^GB(-|$)/.test(area) ? britishClock : coupledClock)
