import { enclosingRegion } from '../../domain/geocoding/market-areas.ts'
import { accepted, type Result, refused } from '../../domain/refusal.ts'
import { type ConnectAction, type ConnectPageName, pageOrder } from './page.ts'
import { applySubmission, type PageSubmission } from './page-submission.ts'
import {
  type ConnectConfig,
  type ConnectState,
  followsMarket,
  hasPrices,
  isRegionOpen,
  type Structure,
} from './session.ts'

const structurePages: Readonly<Record<Exclude<Structure, 'MARKET'>, ConnectPageName>> = {
  FIXED: 'fixed',
  TIME_OF_DAY: 'time_of_day',
  ADVANCED: 'advanced',
}

/** Return the page that captures the prices of a structure; null for market prices. */
const pageOfStructure = (structure: Structure | null): ConnectPageName | null =>
  structure === null || structure === 'MARKET' ? null : structurePages[structure]

/** Return the page after the choice of a provider: its login, its library, or the structure of a manual tariff. */
const pageAfterProvider = ({ provider }: ConnectState): ConnectPageName => {
  if (provider?.loginUrl !== null && provider !== null) return 'login'
  return provider?.hasLibrary === true ? 'library' : 'structure'
}

/**
 * Return the page after the choice of a structure. In the earlier API version the surcharge page includes the region.
 */
const pageAfterStructure = ({ layout }: ConnectConfig, state: ConnectState): ConnectPageName =>
  pageOfStructure(state.structure) ?? (layout === 'current' && isRegionOpen(state) ? 'region' : 'surcharge')

/** Return the page after prices, name or term: the enabled pages in this order, then the summary. */
const pageAfterPrices = ({ capturesName, capturesTerm }: ConnectConfig, page: ConnectPageName): ConnectPageName => {
  if (capturesName && pageOrder(page) < pageOrder('name')) return 'name'
  return capturesTerm && pageOrder(page) < pageOrder('term') ? 'term' : 'summary'
}

/**
 * List the pages that BACK returns to after a submit, the submitted page last. A program can submit a skipped page,
 * which is then added at its position in the fixed order. BACK never returns to a provider login.
 */
const pagesBefore = (
  config: ConnectConfig,
  { trail, page }: ConnectState,
  submitted: ConnectPageName,
): readonly ConnectPageName[] => {
  const passedPages = [...trail, page].filter(one => one !== null && isReturnable(one)) as readonly ConnectPageName[]
  if (!isReturnable(submitted)) return passedPages
  const index = passedPages.indexOf(submitted)
  if (index >= 0) return passedPages.slice(0, index + 1)
  const before = passedPages.filter(one => pageOrder(one) < pageOrder(submitted))
  return isShown(config, submitted) ? [...before, submitted] : before
}

/** Check if the session shows a page. Programs can submit pages that it does not show; BACK never returns to them. */
const isShown = (config: ConnectConfig, page: ConnectPageName): boolean =>
  !(page === 'name' && !config.capturesName) && !(page === 'term' && !config.capturesTerm)

const isReturnable = (page: ConnectPageName): boolean => page !== 'login' && page !== 'end'

/** Status of the session's kind of tariff at its location. */
export type ConnectTariffStatus = 'none' | 'connected' | 'pending' | 'failed'

export type SessionInput =
  | { readonly kind: 'start'; readonly tariffStatus: ConnectTariffStatus }
  | { readonly kind: 'submit'; readonly submission: PageSubmission }
  | { readonly kind: 'action'; readonly action: ConnectAction; readonly page: ConnectPageName | null }

/**
 * Effect of a transition: save the tariff, complete the session, end the tariff, record a report; `leave` ends the
 * visit and changes nothing.
 */
export type TransitionEffect = 'save' | 'complete' | 'disconnect' | 'report' | 'leave'

export type Transition = { readonly state: ConnectState; readonly effect: TransitionEffect | null }

const transition = (state: ConnectState, effect: TransitionEffect | null = null): Result<Transition> =>
  accepted({ state, effect })

const pageNotOpen = refused(
  'route_invalid',
  'This page is not open in this session; send session_start for the page that is',
  'route',
)

/** Check if a page can be submitted now. An open page is accepted even if the person is on another page. */
const isOpen = (config: ConnectConfig, state: ConnectState, page: ConnectPageName): boolean => {
  if (page === state.page) return true
  switch (page) {
    case 'address':
      return true
    case 'provider':
    case 'provider_name':
      return state.isPlaced
    case 'library':
      return state.provider?.hasLibrary === true
    case 'login':
      return state.provider?.loginUrl !== null && state.provider !== null
    case 'structure':
      return state.provider !== null && state.isPlaced
    case 'fixed':
    case 'time_of_day':
    case 'advanced':
      return state.trail.includes(page) || (state.provider !== null && pageOfStructure(state.structure) === page)
    case 'region':
      return state.trail.includes(page) || (state.provider !== null && followsMarket(state) && state.regions.length > 1)
    case 'surcharge':
      if (state.structure === 'MARKET' || state.trail.includes(page))
        return config.layout === 'earlier' || !isRegionOpen(state) || enclosingRegion(state.regions) !== null
      return isCaptured(state)
    case 'name':
    case 'term':
      return isCaptured(state)
    default:
      return false
  }
}

/** Check if a person has chosen prices in this session, which can get a name and a term. */
const isCaptured = (state: ConnectState): boolean =>
  (state.source === 'captured' || state.source === 'library') && hasPrices(state)

/** Check if the summary shows a tariff that the location already has. */
const isExistingTariff = ({ source }: ConnectState): boolean => source === 'stored' || source === 'direct'

/** Pages that need chosen prices. */
const pagesWithPrices: readonly ConnectPageName[] = ['name', 'term', 'summary']

/** Check if a visited page can still be shown: the prices or the region that it needs may be gone. */
const isShowable = (config: ConnectConfig, state: ConnectState, page: ConnectPageName): boolean =>
  pagesWithPrices.includes(page)
    ? hasPrices(state)
    : page !== 'surcharge' || config.layout === 'earlier' || !isRegionOpen(state)

/**
 * Go from one page to another. In the current API version the transition to the summary saves the tariff; the earlier
 * one waits for SAVE.
 */
const goToPage = (
  config: ConnectConfig,
  state: ConnectState,
  from: ConnectPageName,
  page: ConnectPageName,
): Result<Transition> => {
  const trail = pagesBefore(config, state, from).filter(
    passedPage => passedPage !== page && isShowable(config, state, passedPage),
  )
  const next = { ...state, page, trail }
  if (page !== 'summary' || config.layout === 'earlier') return transition(next)
  return transition(next, isExistingTariff(state) ? 'complete' : 'save')
}

const firstTransition = (
  config: ConnectConfig,
  state: ConnectState,
  tariffStatus: ConnectTariffStatus,
): Result<Transition> => {
  if (config.disconnect) return transition({ ...state, page: 'end', trail: [] }, 'disconnect')
  if (!config.edit && tariffStatus === 'connected')
    return transition({ ...state, page: 'summary', trail: [], source: 'stored' })
  if (!config.edit && tariffStatus !== 'none')
    return transition({ ...state, page: tariffStatus === 'pending' ? 'pending' : 'failed', trail: [] })
  return transition({ ...state, page: state.isPlaced ? 'provider' : 'address', trail: [] })
}

/** A person who returns from the provider without a tariff continues with manual entry. */
const continueWithoutLogin = (config: ConnectConfig, state: ConnectState): Result<Transition> =>
  goToPage(
    config,
    { ...state, source: null },
    'provider',
    state.provider?.hasLibrary === true ? 'library' : 'structure',
  )

const startSession = (
  config: ConnectConfig,
  state: ConnectState,
  tariffStatus: ConnectTariffStatus,
): Result<Transition> => {
  if (state.page === null) return firstTransition(config, state, tariffStatus)
  if (state.page === 'login') return continueWithoutLogin(config, state)
  const isWaiting = state.page === 'pending' || state.page === 'failed'
  if (!isWaiting || tariffStatus === state.page) return transition(state)
  const trailTo = (page: ConnectPageName) => state.trail.filter(passedPage => passedPage !== page)
  // The delivery of a tariff completes its own session. Other sessions only show the tariff.
  if (tariffStatus === 'connected')
    return transition({ ...state, source: 'stored', page: 'summary', trail: trailTo('summary') })
  const page = tariffStatus !== 'none' ? tariffStatus : state.isPlaced ? 'provider' : 'address'
  return transition({ ...state, page, trail: trailTo(page) })
}

const submitPage = (
  config: ConnectConfig,
  stateBefore: ConnectState,
  submission: PageSubmission,
): Result<Transition> => {
  if (!isOpen(config, stateBefore, submission.page)) return pageNotOpen
  const applied = applySubmission(config, stateBefore, submission)
  if (!applied.ok) return applied
  const state = applied.value
  switch (submission.page) {
    case 'address':
      return goToPage(config, state, 'address', 'provider')
    case 'provider':
      return goToPage(config, state, 'provider', pageAfterProvider(state))
    case 'provider_name':
      return goToPage(config, state, 'provider_name', 'structure')
    case 'library':
      return goToPage(config, state, 'library', 'summary')
    case 'structure':
      return goToPage(config, state, 'structure', pageAfterStructure(config, state))
    case 'login':
      return submission.outcome === 'skipped'
        ? continueWithoutLogin(config, state)
        : goToPage(config, state, 'provider', pageAfterLogin[submission.outcome])
    case 'region':
      // If no region was chosen, the region page is shown again.
      return goToPage(config, state, 'region', isRegionOpen(state) ? 'region' : pageAfterRegion(config, state))
    case 'advanced':
      return goToPage(config, state, 'advanced', hasPrices(state) ? pageAfterPrices(config, 'advanced') : 'region')
    default:
      return goToPage(config, state, submission.page, pageAfterPrices(config, submission.page))
  }
}

const pageAfterLogin = { connected: 'summary', pending: 'pending', again: 'login', another: 'provider' } as const

const pageAfterRegion = (config: ConnectConfig, state: ConnectState): ConnectPageName =>
  state.structure === 'MARKET' ? 'surcharge' : pageAfterPrices(config, 'advanced')

const actionNotAvailable = refused(
  'action_invalid',
  'This button has no use on this page; send one of its actions',
  'action',
)

/** Go back from a page. An older page is treated as if the person were still on it. */
const goBack = (config: ConnectConfig, state: ConnectState, from: ConnectPageName): Result<Transition> => {
  const passedPages =
    from === 'login' ? state.trail : pagesBefore(config, state, from).filter(passedPage => passedPage !== from)
  const trail = passedPages.filter(passedPage => isShowable(config, state, passedPage))
  const page = trail.at(-1)
  if (page === undefined) return transition(state, 'leave')
  return transition({ ...state, page, trail: trail.slice(0, -1) })
}

/** Leave the summary for an edit. Its tariff stays until another one is chosen, so that BACK returns to it. */
const editTariff = (config: ConnectConfig, state: ConnectState, from: ConnectPageName): Result<Transition> =>
  goToPage(config, state, from, state.isPlaced ? 'provider' : 'address')

const applyAction = (
  config: ConnectConfig,
  state: ConnectState,
  action: ConnectAction,
  namedPage: ConnectPageName | null,
): Result<Transition> => {
  const currentPage = state.page ?? 'address'
  const from = namedPage !== null && isOpen(config, state, namedPage) ? namedPage : currentPage
  switch (action) {
    case 'BACK':
      return goBack(config, state, from)
    case 'CLOSE':
      return transition(state, 'leave')
    case 'ADDRESS_CHANGE':
      return goToPage(config, state, from, 'address')
    case 'PROVIDER_MISSING':
      return state.isPlaced ? goToPage(config, state, from, 'provider_name') : actionNotAvailable
    case 'TARIFF_MISSING':
      return state.provider === null ? actionNotAvailable : goToPage(config, state, from, 'structure')
    case 'EDIT':
      return editTariff(config, state, currentPage)
    case 'DISCONNECT':
      return transition({ ...state, page: 'end', trail: [], source: null }, 'disconnect')
    case 'WRONG_TARIFF_REPORT':
      return state.page === 'summary'
        ? transition({ ...state, isReported: true }, state.isReported ? null : 'report')
        : actionNotAvailable
    case 'SAVE':
      return saveTariff(config, state)
    case 'DISMISS_DIRECT':
      return state.provider === null ? actionNotAvailable : continueWithoutLogin(config, state)
    case 'RECONNECT':
      return isOpen(config, state, 'login') ? goToPage(config, state, 'provider', 'login') : actionNotAvailable
  }
}

/**
 * Save the tariff of the summary. In the current API version the transition to the summary has already saved it. BACK
 * returns from the end to the summary.
 */
const saveTariff = (config: ConnectConfig, state: ConnectState): Result<Transition> => {
  if (state.page === 'end') return transition(state, 'leave')
  if (state.page === 'pending') return transition({ ...state, page: 'end', trail: [] })
  if (state.page !== 'summary') return actionNotAvailable
  const trail = pagesBefore(config, state, 'summary')
  return transition(
    { ...state, page: 'end', trail },
    config.layout === 'current' || isExistingTariff(state) ? 'complete' : 'save',
  )
}

/**
 * Apply one input to a session: return the new state and the effect of the transition. A refusal changes nothing.
 * Refuses `route_invalid` for a page that is not open, `action_invalid` for a button without use,
 * `option_not_supported` and `market_region_invalid`.
 * Source: docs/rules/connect.md #calls, #transitions.
 */
export const advance = (config: ConnectConfig, state: ConnectState, input: SessionInput): Result<Transition> => {
  if (input.kind === 'start') return startSession(config, state, input.tariffStatus)
  return input.kind === 'submit'
    ? submitPage(config, state, input.submission)
    : applyAction(config, state, input.action, input.page)
}
