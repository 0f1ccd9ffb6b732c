import { addresses, type DemoAddress } from './addresses.ts'

export const siteKinds = ['household', 'market', 'solar', 'charging', 'factory'] as const
/** What a site is: a home on a day and night tariff, on market prices, or with a solar roof; a charging site; a factory. */
export type SiteKind = (typeof siteKinds)[number]

/** A site of the fleet; `name` is unique in the fleet and stays the same for the same number. */
export type Site = {
  readonly kind: SiteKind
  readonly name: string
  readonly address: DemoAddress
  readonly chargers: number
}

/** Shares of a fleet in sites of a hundred; homes on day and night tariffs make up the rest. */
const shares: Readonly<Record<Exclude<SiteKind, 'household'>, number>> = {
  factory: 1,
  charging: 15,
  solar: 25,
  market: 20,
}

const countsOf = (locations: number): Readonly<Record<SiteKind, number>> => {
  const share = (kind: keyof typeof shares): number => Math.max(1, Math.floor((locations * shares[kind]) / 100))
  const rest = {
    market: share('market'),
    solar: share('solar'),
    charging: share('charging'),
    factory: share('factory'),
  }
  return { household: locations - rest.market - rest.solar - rest.charging - rest.factory, ...rest }
}

/** Two of three homes on day and night tariffs, and every home on market prices, charge a car. */
const chargersOf = (kind: SiteKind, place: number): number => {
  if (kind === 'charging') return 2 + (place % 3)
  if (kind === 'market') return 1
  return kind === 'household' && place % 3 !== 0 ? 1 : 0
}

export const minLocations = siteKinds.length

/** Plan a fleet of `locations` sites, at least one of each kind; the same number gives the same fleet. */
export const planFleet = (locations: number): readonly Site[] => {
  const counts = countsOf(locations)
  return siteKinds.flatMap((kind, group) =>
    Array.from({ length: counts[kind] }, (_, place) => ({
      kind,
      name: `${kind}-${place + 1}`,
      address: addresses[(group * 7 + place) % addresses.length] as DemoAddress,
      chargers: chargersOf(kind, place),
    })),
  )
}
