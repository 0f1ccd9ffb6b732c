import { accepted, type Result, refused } from '../refusal.ts'
import { type Captured, take } from './capture.ts'
import { pageAfterPrices, pageAfterProvider, pageAfterStructure, pageOfStructure, pagesBefore } from './next-page.ts'
import type { Action, Page } from './page.ts'
import { asksRegion, type ConnectConfig, type ConnectState, followsMarket, hasPrices, wholeRegion } from './session.ts'

/** How the tariff of the session's kind stands at its location. */
export type Standing = 'none' | 'connected' | 'pending' | 'failed'

export type Input =
  | { readonly kind: 'start'; readonly standing: Standing }
  | { readonly kind: 'submit'; readonly captured: Captured }
  | { readonly kind: 'action'; readonly action: Action; readonly page: Page | null }

/** What a move asks of the world: keep the tariff, end it, note a report; `leave` ends the visit and changes nothing. */
export type Effect = 'save' | 'complete' | 'disconnect' | 'report' | 'leave'

export type Move = { readonly state: ConnectState; readonly effect: Effect | null }

const move = (state: ConnectState, effect: Effect | null = null): Result<Move> => accepted({ state, effect })

const wrongPage = refused('route_invalid', 'This page is not open in this session; send session_start for the page that is', 'route')

/** Whether what a page asks for can be answered now, so that a submit for it is taken as if the person were there. */
const isOpen = (config: ConnectConfig, state: ConnectState, page: Page): boolean => {
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
        return config.layout === 'earlier' || !asksRegion(state) || wholeRegion(state.regions) !== null
      return isCaptured(state)
    case 'name':
    case 'term':
      return isCaptured(state)
    default:
      return false
  }
}

/** Whether a person has chosen prices in this session, to which a name and a term can be given. */
const isCaptured = (state: ConnectState): boolean => (state.source === 'captured' || state.source === 'library') && hasPrices(state)

/** Whether the tariff of the summary is the location's already. */
const isKept = ({ source }: ConnectState): boolean => source === 'stored' || source === 'direct'

/** Pages that ask for, or show, something of prices that are chosen. */
const ofPrices: readonly Page[] = ['name', 'term', 'summary']

/** Whether a page that was passed can be shown still: what it stands on may have been given up since. */
const isShowable = (config: ConnectConfig, state: ConnectState, page: Page): boolean =>
  ofPrices.includes(page) ? hasPrices(state) : page !== 'surcharge' || config.layout === 'earlier' || !asksRegion(state)

/** Come to a page from another one. Reaching the summary keeps the tariff; the earlier layout waits for SAVE. */
const reach = (config: ConnectConfig, state: ConnectState, from: Page, page: Page): Result<Move> => {
  const trail = pagesBefore(config, state, from).filter(one => one !== page && isShowable(config, state, one))
  const next = { ...state, page, trail }
  if (page !== 'summary' || config.layout === 'earlier') return move(next)
  return move(next, isKept(state) ? 'complete' : 'save')
}

const first = (config: ConnectConfig, state: ConnectState, standing: Standing): Result<Move> => {
  if (config.disconnect) return move({ ...state, page: 'end', trail: [] }, 'disconnect')
  if (!config.edit && standing === 'connected') {
    const shown: ConnectState = { ...state, page: 'summary', trail: [], source: 'stored' }
    return move(shown, config.layout === 'current' ? 'complete' : null)
  }
  if (!config.edit && standing !== 'none') return move({ ...state, page: standing === 'pending' ? 'pending' : 'failed', trail: [] })
  return move({ ...state, page: state.isPlaced ? 'provider' : 'address', trail: [] })
}

/** A person who comes back from the provider without a tariff goes on by hand. */
const withoutLogin = (config: ConnectConfig, state: ConnectState): Result<Move> =>
  reach(config, { ...state, source: null }, 'provider', state.provider?.hasLibrary === true ? 'library' : 'structure')

const start = (config: ConnectConfig, state: ConnectState, standing: Standing): Result<Move> => {
  if (state.page === null) return first(config, state, standing)
  if (state.page === 'login') return withoutLogin(config, state)
  const isWaiting = state.page === 'pending' || state.page === 'failed'
  if (!isWaiting || standing === state.page) return move(state)
  if (standing === 'connected') return reach(config, { ...state, source: 'stored' }, state.page, 'summary')
  const page = standing !== 'none' ? standing : state.isPlaced ? 'provider' : 'address'
  return move({ ...state, page, trail: state.trail.filter(one => one !== page) })
}

const submit = (config: ConnectConfig, before: ConnectState, captured: Captured): Result<Move> => {
  if (!isOpen(config, before, captured.page)) return wrongPage
  const taken = take(config, before, captured)
  if (!taken.ok) return taken
  const state = taken.value
  switch (captured.page) {
    case 'address':
      return reach(config, state, 'address', 'provider')
    case 'provider':
      return reach(config, state, 'provider', pageAfterProvider(state))
    case 'provider_name':
      return reach(config, state, 'provider_name', 'structure')
    case 'library':
      return reach(config, state, 'library', 'summary')
    case 'structure':
      return reach(config, state, 'structure', pageAfterStructure(config, state))
    case 'login':
      return captured.outcome === 'skipped'
        ? withoutLogin(config, state)
        : reach(config, state, 'provider', pageAfterLogin[captured.outcome])
    case 'region':
      // A region that was left open is asked for again.
      return reach(config, state, 'region', asksRegion(state) ? 'region' : pageAfterRegion(config, state))
    case 'advanced':
      return reach(config, state, 'advanced', hasPrices(state) ? pageAfterPrices(config, 'advanced') : 'region')
    default:
      return reach(config, state, captured.page, pageAfterPrices(config, captured.page))
  }
}

const pageAfterLogin = { connected: 'summary', pending: 'pending', again: 'login', another: 'provider' } as const

const pageAfterRegion = (config: ConnectConfig, state: ConnectState): Page =>
  state.structure === 'MARKET' ? 'surcharge' : pageAfterPrices(config, 'advanced')

const notHere = refused('action_invalid', 'This button has no use on this page; send one of its actions', 'action')

/** Go back from a page: from an older one as if the person were there still. */
const back = (config: ConnectConfig, state: ConnectState, from: Page): Result<Move> => {
  const passed = from === 'login' ? state.trail : pagesBefore(config, state, from).filter(one => one !== from)
  const trail = passed.filter(one => isShowable(config, state, one))
  const page = trail.at(-1)
  if (page === undefined) return move(state, 'leave')
  return move({ ...state, page, trail: trail.slice(0, -1) })
}

/** What the summary shows holds until something else is chosen, so that BACK leads to it again. */
const edit = (config: ConnectConfig, state: ConnectState, from: Page): Result<Move> =>
  reach(config, state, from, state.isPlaced ? 'provider' : 'address')

const act = (config: ConnectConfig, state: ConnectState, action: Action, named: Page | null): Result<Move> => {
  const here = state.page ?? 'address'
  const from = named !== null && isOpen(config, state, named) ? named : here
  switch (action) {
    case 'BACK':
      return back(config, state, from)
    case 'CLOSE':
      return move(state, 'leave')
    case 'ADDRESS_CHANGE':
      return reach(config, state, from, 'address')
    case 'PROVIDER_MISSING':
      return state.isPlaced ? reach(config, state, from, 'provider_name') : notHere
    case 'TARIFF_MISSING':
      return state.provider === null ? notHere : reach(config, state, from, 'structure')
    case 'EDIT':
      return edit(config, state, here)
    case 'DISCONNECT':
      return move({ ...state, page: 'end', trail: [], source: null }, 'disconnect')
    case 'WRONG_TARIFF_REPORT':
      return state.page === 'summary' ? move({ ...state, isReported: true }, state.isReported ? null : 'report') : notHere
    case 'SAVE':
      return save(config, state)
    case 'DISMISS_DIRECT':
      return state.provider === null ? notHere : withoutLogin(config, state)
    case 'RECONNECT':
      return isOpen(config, state, 'login') ? reach(config, state, 'provider', 'login') : notHere
  }
}

/** SAVE keeps what the summary shows; in the current layout reaching the summary has done it. */
const save = (config: ConnectConfig, state: ConnectState): Result<Move> => {
  if (state.page === 'end') return move(state, 'leave')
  const ended: ConnectState = { ...state, page: 'end', trail: [] }
  if (state.page === 'pending') return move(ended)
  if (state.page !== 'summary') return notHere
  return move(ended, config.layout === 'current' || isKept(state) ? 'complete' : 'save')
}

/**
 * Move a session by one input: the new state, and what the move asks of the world. Refuses, and then nothing has changed,
 * `route_invalid` for a page that is not open, `action_invalid` for a button without use, `option_not_supported`, `market_region_invalid`.
 * Source: docs/rules/connect.md #calls, #transitions.
 */
export const advance = (config: ConnectConfig, state: ConnectState, input: Input): Result<Move> => {
  if (input.kind === 'start') return start(config, state, input.standing)
  return input.kind === 'submit' ? submit(config, state, input.captured) : act(config, state, input.action, input.page)
}
