import { addresses, type DemoAddress } from './addresses.ts'

export const siteKinds = ['household', 'market', 'solar', 'charging', 'factory'] as const
/**
 * Kind of a site: a home with a day and night tariff, with market prices or with a solar roof; a charging site; a
 * factory.
 */
export type SiteKind = (typeof siteKinds)[number]

/** Site of the fleet. `name` is unique in the fleet. */
export type Site = {
  readonly kind: SiteKind
  readonly name: string
  readonly address: DemoAddress
  readonly chargers: number
}

/** Shares of the sites in percent. All other sites are homes with day and night tariffs. */
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

/** Return the number of chargers. All homes with market prices and two thirds of the other homes have one charger. */
const chargersOf = (kind: SiteKind, index: number): number => {
  if (kind === 'charging') return 2 + (index % 3)
  if (kind === 'market') return 1
  return kind === 'household' && index % 3 !== 0 ? 1 : 0
}

export const minLocations = siteKinds.length

/** Plan a fleet with at least one site of each kind. The same number of locations gives the same fleet. */
export const planFleet = (locations: number): readonly Site[] => {
  const counts = countsOf(locations)
  return siteKinds.flatMap((kind, group) =>
    Array.from({ length: counts[kind] }, (_, index) => ({
      kind,
      name: `${kind}-${index + 1}`,
      address: addresses[(group * 7 + index) % addresses.length] as DemoAddress,
      chargers: chargersOf(kind, index),
    })),
  )
}
