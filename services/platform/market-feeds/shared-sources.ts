import { biddingZones } from './bidding-zones.ts'
import { areaOfRegion, gridRegions } from './octopus-agile.ts'

/** A source that the operator keeps for all accounts: one area's prices in one currency. */
export type SharedSource = {
  readonly area: string
  readonly currencyCode: string
  readonly displayName: string
  readonly resolutionMinutes: number
}

/** Currencies in which an area's prices are published beside that of its auction. */
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
 * The sources of market prices that every installation has: each bidding zone in the currency of its auction, Nordic ones in their own
 * currency too, Great Britain and its grid regions. Whether they are filled, and from where, is the operator's choice.
 * Source: docs/rules/markets-and-forecasts.md #market-sources.
 */
export const sharedSources: readonly SharedSource[] = [
  ...ofZones,
  { ...agile('GB'), displayName: 'Great Britain' },
  ...gridRegions.map(region => agile(areaOfRegion(region))),
]

/** The clock that the days of delivery of an area follow, and the local minute of the day at which the next day is published. */
export type MarketClock = { readonly timeZone: string; readonly publishedAtMinute: number }

const coupledClock: MarketClock = { timeZone: 'Europe/Brussels', publishedAtMinute: 12 * 60 + 55 }

/** British days of delivery begin at 23:00, with those of the continent; their retail prices come out in the late afternoon. */
const britishClock: MarketClock = { ...coupledClock, publishedAtMinute: 17 * 60 + 10 }

const clocks: ReadonlyMap<string, MarketClock> = new Map(
  biddingZones.map(({ area, timeZone }) => [area, { ...coupledClock, timeZone }] as const),
)

/** Give the market clock of an area. */
export const marketClock = (area: string): MarketClock =>
  clocks.get(area) ?? (/^GB(-|$)/.test(area) ? britishClock : coupledClock)
