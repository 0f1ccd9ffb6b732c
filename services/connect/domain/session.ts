import type { TariffDirection, TariffType } from '../../domain/tariff/tariff.ts'
import type { ConnectApiVersion, ConnectPageName, SummaryName } from './page.ts'
import type { StandingCharge } from './standing-charge.ts'

/** Known parts of an address; blank parts are absent. */
export type ConnectAddress = {
  readonly address_line1?: string
  readonly address_line2?: string
  readonly city?: string
  readonly state?: string
  readonly post_code?: string
  readonly country_code?: string
}

/** Settings of a session. They do not change. */
export type ConnectConfig = {
  readonly layout: ConnectApiVersion
  readonly summaryName: SummaryName
  readonly direction: TariffDirection
  readonly type: TariffType
  readonly disconnect: boolean
  readonly edit: boolean
  /**
   * Allows the token to change the tariff until the session expires. Absent in sessions of earlier versions, where
   * `edit` decides.
   */
  readonly editsWhenComplete?: boolean
  readonly capturesAdvanced: boolean
  readonly capturesName: boolean
  readonly capturesTerm: boolean
}

export const structures = ['FIXED', 'TIME_OF_DAY', 'MARKET', 'ADVANCED'] as const
export type Structure = (typeof structures)[number]

/** Chosen provider. Without an id only its name is known. */
export type ChosenProvider = {
  readonly id: string | null
  readonly displayName: string
  readonly logoUrl: string | null
  /** URL of the provider's login; null if the provider has none. */
  readonly loginUrl: string | null
  readonly hasLibrary: boolean
}

/** Period of the day with its price. `cost` is decimal text in major units per kWh; times are HH:MM:SS. */
export type CostPeriod = { readonly cost: string; readonly valid_from: string; readonly valid_to: string }

/** Surcharge as decimal texts: `fixed` in major units per kWh, `percentage` in percent. */
export type Surcharge = { readonly fixed: string; readonly percentage: string }

export type ContractTermType = 'UNTIL_TERMINATED' | 'FIXED' | ''

/** Contract term in ms; null is open. */
export type ContractTerm = {
  readonly start: number | null
  readonly end: number | null
  readonly type: ContractTermType
}

/** Values of the page for advanced tariffs: a schedule with the names of the API, its numbers as texts. */
export type AdvancedTariff = { readonly marketRates: boolean; readonly schedule: unknown }

/**
 * Source of the tariff in the summary: captured prices, a library tariff, a tariff from the provider, or the tariff
 * that the location had before the session.
 */
export type TariffSource = 'captured' | 'library' | 'direct' | 'stored'

/** State of a session. Plain data: it is stored as JSON. */
export type ConnectState = {
  /** Null before the first start. */
  readonly page: ConnectPageName | null
  /** Pages that BACK returns to, the nearest last, each once. */
  readonly trail: readonly ConnectPageName[]
  readonly address: ConnectAddress
  /** True if the address is complete and its coordinates are known. */
  readonly isPlaced: boolean
  /** Market areas that fit the address. */
  readonly regions: readonly string[]
  /** True if the location has its own market source. */
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
  /** Absent in sessions of earlier versions. */
  readonly standingCharge?: StandingCharge | null
  readonly isReported: boolean
}

/** State of a session that was not started. */
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
  standingCharge: null,
  isReported: false,
}

const requiredParts = ['address_line1', 'city', 'post_code', 'country_code'] as const

/** Check if an address has all parts that a location needs. */
export const isCompleteAddress = (address: ConnectAddress): boolean =>
  requiredParts.every(part => (address[part] ?? '') !== '')

/**
 * Check if a tariff of this session can follow the market: only commodity prices for IMPORT or EXPORT, if a market is
 * known.
 */
export const mayFollowMarket = ({ type, direction }: ConnectConfig, state: ConnectState): boolean =>
  type === 'COMMODITY' && direction !== 'LOCAL' && (state.hasMarketSource || state.regions.length > 0)

/** List the structures that a person can choose. */
export const structuresOf = (config: ConnectConfig, state: ConnectState): readonly Structure[] =>
  structures.filter(one =>
    one === 'MARKET' ? mayFollowMarket(config, state) : one !== 'ADVANCED' || config.capturesAdvanced,
  )

/** Check if the market area of a market tariff is not decided yet. */
export const isRegionOpen = (state: ConnectState): boolean =>
  !state.hasMarketSource && state.regions.length > 1 && state.region === null

/** Check if the captured prices follow the market. */
export const followsMarket = ({ structure, advanced }: ConnectState): boolean =>
  structure === 'MARKET' || (structure === 'ADVANCED' && advanced?.marketRates === true)

/** Check if the state has all values that a tariff needs. */
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

/** Request of the caller who created the token. It does not change. */
export type ConnectRequest = {
  /** URL to which the browser returns after a provider login; null for the callback URL. */
  readonly connectUrl: string | null
  readonly callbackUrl: string
  readonly customerId: string | null
  readonly customerReferenceId: string | null
  readonly locationId: string | null
  readonly locationReferenceId: string | null
  /** Tariff to renew. */
  readonly tariffId: string | null
  readonly addressType: 'RESIDENTIAL' | 'COMMERCIAL' | null
}
