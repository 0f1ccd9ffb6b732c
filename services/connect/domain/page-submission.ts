import { enclosingRegion } from '../../domain/geocoding/market-areas.ts'
import { accepted, type Result, refused } from '../../domain/refusal.ts'
import {
  type AdvancedTariff,
  type ChosenProvider,
  type ConnectAddress,
  type ConnectConfig,
  type ConnectState,
  type ContractTerm,
  type CostPeriod,
  followsMarket,
  mayFollowMarket,
  type Structure,
  type Surcharge,
  structuresOf,
} from './session.ts'
import type { StandingCharge } from './standing-charge.ts'

/** Result of a login at a provider: `again` if the person may retry, `another` if the person wants another provider. */
export type LoginOutcome = 'connected' | 'pending' | 'skipped' | 'again' | 'another'

/** Standing charge of a page with prices; null removes it, absent leaves it. */
type WithStandingCharge = { readonly standingCharge?: StandingCharge | null }

/** Values of a submitted page after parsing and look-ups. Null is a skipped page. */
export type PageSubmission =
  | {
      readonly page: 'address'
      readonly address: ConnectAddress
      readonly regions: readonly string[]
      readonly hasMarketSource: boolean
      readonly currencyCode: string
    }
  | { readonly page: 'provider' | 'provider_name'; readonly provider: ChosenProvider }
  | { readonly page: 'library'; readonly tariffId: string; readonly name: string }
  | { readonly page: 'structure'; readonly structure: Structure }
  | ({ readonly page: 'fixed'; readonly cost: string } & WithStandingCharge)
  | ({ readonly page: 'time_of_day'; readonly hours: readonly CostPeriod[] } & WithStandingCharge)
  | ({ readonly page: 'advanced'; readonly advanced: AdvancedTariff; readonly term: ContractTerm } & WithStandingCharge)
  | { readonly page: 'region'; readonly region: string | null }
  // A null region was requested and not chosen. An absent region leaves the choice to the service.
  | ({
      readonly page: 'surcharge'
      readonly surcharge: Surcharge
      readonly region?: string | null
    } & WithStandingCharge)
  | { readonly page: 'name'; readonly name: string | null }
  | { readonly page: 'term'; readonly term: ContractTerm | null }
  | { readonly page: 'login'; readonly outcome: LoginOutcome }

/**
 * Store the values of a page in the state. Captured prices replace those of a library, a provider or a stored tariff.
 * Refuses `option_not_supported` and `market_region_invalid`.
 */
export const applySubmission = (
  config: ConnectConfig,
  state: ConnectState,
  submission: PageSubmission,
): Result<ConnectState> => {
  const withPrices = (more: Partial<ConnectState>): Result<ConnectState> =>
    accepted({ ...state, source: 'captured', ...more, ...standingChargeOf(submission) })
  switch (submission.page) {
    case 'address': {
      const { page: _, ...place } = submission
      const region = state.region !== null && place.regions.includes(state.region) ? state.region : null
      return accepted({ ...state, ...place, region, isPlaced: true })
    }
    case 'provider':
    case 'provider_name':
      return accepted({ ...state, provider: submission.provider, source: null, libraryTariffId: null })
    case 'library':
      return accepted({ ...state, source: 'library', libraryTariffId: submission.tariffId, name: submission.name })
    case 'structure':
      return structuresOf(config, state).includes(submission.structure)
        ? accepted({ ...state, source: null, structure: submission.structure })
        : structureNotOffered(submission.structure)
    case 'fixed':
      return withPrices({ structure: 'FIXED', cost: submission.cost })
    case 'time_of_day':
      return withPrices({ structure: 'TIME_OF_DAY', hours: submission.hours })
    case 'advanced':
      if (submission.advanced.marketRates && !mayFollowMarket(config, state)) return structureNotOffered('MARKET')
      return withPrices({ structure: 'ADVANCED', advanced: submission.advanced, term: submission.term })
    case 'region':
      return applyRegion(config, state, submission.region)
    case 'surcharge':
      return applySurcharge(config, state, submission)
    case 'name':
      return accepted({ ...state, name: submission.name ?? state.name })
    case 'term':
      return accepted({ ...state, term: submission.term ?? state.term })
    case 'login':
      return accepted({ ...state, source: submission.outcome === 'connected' ? 'direct' : null })
  }
}

const standingChargeOf = (submission: PageSubmission): WithStandingCharge =>
  'standingCharge' in submission && submission.standingCharge !== undefined
    ? { standingCharge: submission.standingCharge }
    : {}

const structureNotOffered = (structure: Structure) =>
  refused('option_not_supported', `${structure} is not offered here; choose another structure`, 'data.options[0]')

const regionNotOffered = ({ regions }: ConnectState) =>
  refused('market_region_invalid', `Choose one of the regions ${regions.join(', ')}`, 'data.region')

/** A person who chooses a region wants market prices, even if another tab has chosen another structure since. */
const applyRegion = (config: ConnectConfig, state: ConnectState, region: string | null): Result<ConnectState> => {
  if (!mayFollowMarket(config, state)) return structureNotOffered('MARKET')
  if (region !== null && !state.regions.includes(region)) return regionNotOffered(state)
  return accepted({ ...state, region, structure: followsMarket(state) ? state.structure : 'MARKET' })
}

/**
 * A surcharge belongs to market prices. If other prices were captured and the surcharge page was never shown, the
 * surcharge is ignored.
 */
const applySurcharge = (
  config: ConnectConfig,
  state: ConnectState,
  submission: Extract<PageSubmission, { page: 'surcharge' }>,
): Result<ConnectState> => {
  if (state.structure !== 'MARKET' && !state.trail.includes('surcharge')) return accepted(state)
  if (!mayFollowMarket(config, state)) return structureNotOffered('MARKET')
  const isRegionRequired = !state.hasMarketSource && state.regions.length > 1
  // A program that posts no region means the whole country, if there is such a region. A page with the choice posts
  // null until a person has chosen: the service never chooses for a person.
  // Source: docs/rules/connect.md #market-regions.
  const defaultRegion = submission.region === undefined ? enclosingRegion(state.regions) : null
  const region = isRegionRequired ? (submission.region ?? state.region ?? defaultRegion) : state.region
  if (isRegionRequired && (region === null || !state.regions.includes(region))) return regionNotOffered(state)
  const { surcharge } = submission
  const captured = { source: 'captured', structure: 'MARKET', region, surcharge } as const
  return accepted({ ...state, ...captured, ...standingChargeOf(submission) })
}
