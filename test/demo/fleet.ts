import {
  britishAddresses,
  type DemoAddress,
  danishAddresses,
  germanAddresses,
  norwegianAddresses,
} from './addresses.ts'

export const siteKinds = ['household', 'market', 'nordic', 'solar', 'charging', 'factory', 'unpriced'] as const
/**
 * Kind of a site: a British home with Economy 7; a German home with market prices; a Norwegian home with capacity steps;
 * a German home with a solar roof; a charging park; a factory; a Danish kiosk without a tariff.
 */
export type SiteKind = (typeof siteKinds)[number]

/** Site of the fleet. `name` is unique in the fleet. */
export type Site = {
  readonly kind: SiteKind
  readonly name: string
  readonly address: DemoAddress
  readonly chargers: number
}

type Place = { readonly word: string; readonly addresses: readonly DemoAddress[]; readonly currency: string }

/** Word in the names, addresses and currency of each kind. */
export const placesOf: Readonly<Record<SiteKind, Place>> = {
  household: { word: 'home', addresses: britishAddresses, currency: 'GBP' },
  market: { word: 'home', addresses: germanAddresses, currency: 'EUR' },
  nordic: { word: 'home', addresses: norwegianAddresses, currency: 'NOK' },
  solar: { word: 'solar home', addresses: germanAddresses, currency: 'EUR' },
  charging: { word: 'charging park', addresses: germanAddresses, currency: 'EUR' },
  factory: { word: 'factory', addresses: germanAddresses, currency: 'EUR' },
  unpriced: { word: 'kiosk', addresses: danishAddresses, currency: 'DKK' },
}

/** Shares of the sites in percent. One site has no tariff. All other sites are British homes. */
const shares: Readonly<Record<Exclude<SiteKind, 'household' | 'unpriced'>, number>> = {
  factory: 1,
  charging: 10,
  solar: 20,
  market: 20,
  nordic: 15,
}

const countsOf = (locations: number): Readonly<Record<SiteKind, number>> => {
  const share = (kind: keyof typeof shares): number => Math.max(1, Math.floor((locations * shares[kind]) / 100))
  const rest = {
    market: share('market'),
    nordic: share('nordic'),
    solar: share('solar'),
    charging: share('charging'),
    factory: share('factory'),
    unpriced: 1,
  }
  return { household: locations - Object.values(rest).reduce((sum, count) => sum + count, 0), ...rest }
}

/** Return the number of chargers. All homes with market prices and two thirds of the other homes have one charger. */
const chargersOf = (kind: SiteKind, index: number): number => {
  if (kind === 'charging') return 2 + (index % 3)
  if (kind === 'market') return 1
  return (kind === 'household' || kind === 'nordic') && index % 3 !== 0 ? 1 : 0
}

/** Name of a site by its place: "Leeds home", and "Leeds home 2" for the next one at this place. */
const nameOf = ({ word, addresses }: Place, index: number): string => {
  const round = Math.floor(index / addresses.length)
  return `${addresses[index % addresses.length]?.city} ${word}${round === 0 ? '' : ` ${round + 1}`}`
}

export const minLocations = siteKinds.length

/** Plan a fleet with at least one site of each kind. The same number of locations gives the same fleet. */
export const planFleet = (locations: number): readonly Site[] => {
  const counts = countsOf(locations)
  return siteKinds.flatMap(kind =>
    Array.from({ length: counts[kind] }, (_, index) => ({
      kind,
      name: nameOf(placesOf[kind], index),
      address: placesOf[kind].addresses[index % placesOf[kind].addresses.length] as DemoAddress,
      chargers: chargersOf(kind, index),
    })),
  )
}
