import type { TariffDirection, TariffType } from '../tariff/tariff.ts'
import type { ConnectApiVersion, ConnectPageName, SummaryName } from './page.ts'

/** What is known of an address; blank parts are absent. */
export type ConnectAddress = {
  readonly address_line1?: string
  readonly address_line2?: string
  readonly city?: string
  readonly state?: string
  readonly post_code?: string
  readonly country_code?: string
}

/** How a session was asked for; it does not change. */
export type ConnectConfig = {
  readonly layout: ConnectApiVersion
  readonly summaryName: SummaryName
  readonly direction: TariffDirection
  readonly type: TariffType
  readonly disconnect: boolean
  readonly edit: boolean
  /** Its token may change the tariff after the session is complete; absent in sessions of earlier versions, where `edit` decides. */
  readonly editsWhenComplete?: boolean
  readonly capturesAdvanced: boolean
  readonly capturesName: boolean
  readonly capturesTerm: boolean
}

export const structures = ['FIXED', 'TIME_OF_DAY', 'MARKET', 'ADVANCED'] as const
export type Structure = (typeof structures)[number]

/** The supplier that was chosen; without an id one that is known by its name alone. */
export type ChosenProvider = {
  readonly id: string | null
  readonly displayName: string
  readonly logoUrl: string | null
  /** Where a person logs in at the provider; null where that is not offered. */
  readonly loginUrl: string | null
  readonly hasLibrary: boolean
}

/** A period of the day with its price; `cost` is decimal text in major units per kWh, times are HH:MM:SS. */
export type CostPeriod = { readonly cost: string; readonly valid_from: string; readonly valid_to: string }

/** Decimal texts: `fixed` in major units per kWh, `percentage` in percent. */
export type Surcharge = { readonly fixed: string; readonly percentage: string }

export type ContractTermType = 'UNTIL_TERMINATED' | 'FIXED' | ''

/** Instants in ms; null is open. */
export type ContractTerm = {
  readonly start: number | null
  readonly end: number | null
  readonly type: ContractTermType
}

/** What was captured on the page for advanced tariffs: a schedule in the words of the wire, its numbers as texts. */
export type AdvancedTariff = { readonly marketRates: boolean; readonly schedule: unknown }

/**
 * What the summary is of: prices that were captured, a tariff of the provider's library, one that the provider gave,
 * or the one that the location had from the start. Null: nothing yet.
 */
export type TariffSource = 'captured' | 'library' | 'direct' | 'stored'

/** All that a session knows. Plain data: it is kept as JSON. */
export type ConnectState = {
  /** Null before the first start. */
  readonly page: ConnectPageName | null
  /** The pages that BACK leads to, the nearest last; none is in it twice. */
  readonly trail: readonly ConnectPageName[]
  readonly address: ConnectAddress
  /** Whether the address is complete and its place is known. */
  readonly isPlaced: boolean
  /** Market areas that fit the address. */
  readonly regions: readonly string[]
  /** Whether the location has a market source whatever its address. */
  readonly hasMarketSource: boolean
  readonly currencyCode: string | null
  readonly provider: ChosenProvider | null
  readonly source: TariffSource | null
  readonly libraryTariffId: string | null
  readonly structure: Structure | null
  readonly cost: string | null
  readonly hours: readonly CostPeriod[] | null
  readonly advanced: AdvancedTariff | null
  readonly region: string | null
  readonly surcharge: Surcharge | null
  readonly name: string | null
  readonly term: ContractTerm | null
  readonly isReported: boolean
}

/** A session that nobody has begun. */
export const newConnectState: ConnectState = {
  page: null,
  trail: [],
  address: {},
  isPlaced: false,
  regions: [],
  hasMarketSource: false,
  currencyCode: null,
  provider: null,
  source: null,
  libraryTariffId: null,
  structure: null,
  cost: null,
  hours: null,
  advanced: null,
  region: null,
  surcharge: null,
  name: null,
  term: null,
  isReported: false,
}

const requiredParts = ['address_line1', 'city', 'post_code', 'country_code'] as const

/** Tell whether an address has all that a location needs. */
export const isCompleteAddress = (address: ConnectAddress): boolean =>
  requiredParts.every(part => (address[part] ?? '') !== '')

/** Tell whether a tariff of this session may follow the market: only prices of energy that is bought or sold, where a market is known. */
export const mayFollowMarket = ({ type, direction }: ConnectConfig, state: ConnectState): boolean =>
  type === 'COMMODITY' && direction !== 'LOCAL' && (state.hasMarketSource || state.regions.length > 0)

/** List the structures that a person may choose from. */
export const structuresOf = (config: ConnectConfig, state: ConnectState): readonly Structure[] =>
  structures.filter(one =>
    one === 'MARKET' ? mayFollowMarket(config, state) : one !== 'ADVANCED' || config.capturesAdvanced,
  )

/** Tell whether it is open which market area a market tariff belongs to. */
export const isRegionOpen = (state: ConnectState): boolean =>
  !state.hasMarketSource && state.regions.length > 1 && state.region === null

/**
 * Name the region that holds all others, as GB holds GB-A …: it is right whatever the address; null where there is none.
 * Source: docs/rules/connect.md #market-regions.
 */
export const enclosingRegion = ([first, ...others]: readonly string[]): string | null =>
  first !== undefined && others.length > 0 && others.every(other => other.startsWith(`${first}-`)) ? first : null

/** Tell whether the captured prices follow the market. */
export const followsMarket = ({ structure, advanced }: ConnectState): boolean =>
  structure === 'MARKET' || (structure === 'ADVANCED' && advanced?.marketRates === true)

/** Tell whether all is known that a tariff needs. */
export const hasPrices = (state: ConnectState): boolean => {
  if (state.source === null || state.source !== 'captured') return state.source !== null
  if (state.provider === null || (followsMarket(state) && isRegionOpen(state))) return false
  switch (state.structure) {
    case 'FIXED':
      return state.cost !== null
    case 'TIME_OF_DAY':
      return state.hours !== null
    case 'ADVANCED':
      return state.advanced !== null
    case 'MARKET':
      return state.surcharge !== null
    default:
      return false
  }
}

/** What the caller who made the token asked for; it does not change. */
export type ConnectRequest = {
  /** Where the browser returns after a login at a provider; null where it goes to the callback. */
  readonly connectUrl: string | null
  readonly callbackUrl: string
  readonly customerId: string | null
  readonly customerReferenceId: string | null
  readonly locationId: string | null
  readonly locationReferenceId: string | null
  /** The tariff that is renewed. */
  readonly tariffId: string | null
  readonly addressType: 'RESIDENTIAL' | 'COMMERCIAL' | null
}
