import { accepted, type Result, refused } from '../../domain/refusal.ts'
import type { Location } from '../../domain/registry/location.ts'
import type { ConnectCall } from '../contract/connect-call.ts'
import { pageOfRoute, startRoutes } from '../contract/page-route.ts'
import { advance, type SessionInput, type Transition } from '../domain/advance.ts'
import { advanceCompleted, isReadOnly } from '../domain/completed-session.ts'
import { isAction } from '../domain/page.ts'
import { reportTariff, type StoredSession } from '../postgres/connect-sessions.ts'
import { removeUnfetched } from '../postgres/tariff-credentials.ts'
import { capturePage, postedDataOf } from './capture-page.ts'
import type { ConnectTransaction } from './connect-dependencies.ts'
import { finishSession } from './finish-session.ts'
import { connectTariffStatusOf, currentTariff, initialState, locationOf } from './open-session.ts'
import { disconnectTariff, saveTariff } from './save-tariff.ts'

/** Session after a step. `isEnding`: the visit ends with this step. */
export type SessionStep = { readonly session: StoredSession; readonly isEnding: boolean }

const noRoute = refused(
  'route_invalid',
  'The route is missing or unknown. Send the route of the current page, or session_start',
  'route',
)
const noAction = refused('action_invalid', 'The action is unknown. Send one of the actions of this page', 'action')

/** Former names of actions that clients still send. */
const actionNames: Readonly<Record<string, string>> = { WRONG_TARIFF: 'WRONG_TARIFF_REPORT' }

/** Convert a call to the input of the session. Refuses what the page refuses. */
const readInput = async (
  transaction: ConnectTransaction,
  session: StoredSession,
  location: Location | null,
  call: ConnectCall,
): Promise<Result<SessionInput>> => {
  const { dependencies, at } = transaction
  const page = call.route === null ? undefined : pageOfRoute(call.route)
  if (call.action !== null) {
    const action = actionNames[call.action] ?? call.action
    return isAction(action) ? accepted({ kind: 'action', action, page: page ?? null }) : noAction
  }
  if (call.route !== null && startRoutes.includes(call.route)) {
    return accepted({ kind: 'start', tariffStatus: await connectTariffStatusOf(transaction, location, session, at) })
  }
  if (page === undefined) return noRoute
  if (page === 'end')
    return session.state.page === 'end' ? accepted({ kind: 'action', action: 'CLOSE', page: null }) : noRoute
  const submission = await capturePage(page, { dependencies, transaction, session, location, ...postedDataOf(call) })
  return submission.ok ? accepted({ kind: 'submit', submission: submission.value }) : submission
}

/** Report the tariff that the summary shows: the saved tariff, or the tariff that the location had before. */
const reportOf = async (transaction: ConnectTransaction, session: StoredSession) => {
  const location = await locationOf(transaction, session)
  const shown = location === null ? null : await currentTariff(transaction, location.id, session.config, transaction.at)
  return {
    sessionId: session.id,
    locationId: location?.id ?? null,
    tariffId: session.tariffId ?? shown?.id ?? null,
    providerName: session.state.provider?.displayName ?? null,
  }
}

/** Apply a transition to a session and perform its effect. */
export const applyTransition = async (
  transaction: ConnectTransaction,
  before: StoredSession,
  { state, effect }: Transition,
): Promise<Result<SessionStep>> => {
  const { at } = transaction
  const session = { ...before, state }
  const stepTo = (next: StoredSession) => accepted({ session: next, isEnding: effect === 'leave' })
  switch (effect) {
    case 'save': {
      const saved = await saveTariff(transaction, session)
      return saved.ok ? stepTo(await finishSession(transaction, saved.value)) : saved
    }
    case 'complete':
      return stepTo(await finishSession(transaction, session))
    case 'disconnect': {
      const disconnected = await disconnectTariff(transaction, session, await locationOf(transaction, session))
      if (!disconnected.ok) return disconnected
      const completedAt = session.completedAt ?? at
      return stepTo({ ...disconnected.value, completeAction: 'DISCONNECT', completedAt })
    }
    case 'report': {
      await reportTariff(transaction, await reportOf(transaction, session), at)
      return stepTo(session)
    }
    default:
      return stepTo(session)
  }
}

/** Start a session that has no page yet. A client may post a page before it sends session_start. */
const beginSession = async (transaction: ConnectTransaction, session: StoredSession): Promise<Result<SessionStep>> => {
  if (session.state.page !== null) return accepted({ session, isEnding: false })
  const location = await locationOf(transaction, session)
  const tariffStatus = await connectTariffStatusOf(transaction, location, session, transaction.at)
  const edits = session.config.edit || tariffStatus !== 'none'
  const openSession = { ...session, state: await initialState(transaction, session, location, edits) }
  const transition = advance(session.config, openSession.state, { kind: 'start', tariffStatus })
  return transition.ok ? applyTransition(transaction, openSession, transition.value) : transition
}

const isStart = ({ route, action }: ConnectCall): boolean =>
  action === null && route !== null && startRoutes.includes(route)

/**
 * Take one step of a session: read the call, apply the transition, and perform its effect, such as saving the tariff.
 * Refuses with the error codes of the page; then the session does not change.
 * Source: docs/rules/connect.md #calls, #transitions.
 */
export const takeStep = async (
  transaction: ConnectTransaction,
  session: StoredSession,
  call: ConnectCall,
): Promise<Result<SessionStep>> => {
  const { at } = transaction
  const beginning = await beginSession(transaction, session)
  if (!beginning.ok || (session.state.page === null && isStart(call))) return beginning
  const openSession = beginning.value.session
  const location = await locationOf(transaction, openSession)
  const input = await readInput(transaction, openSession, location, call)
  if (!input.ok) return input
  const { config, state } = openSession
  const transition = (isReadOnly(openSession, at) ? advanceCompleted : advance)(config, state, input.value)
  if (!transition.ok) return transition
  if (input.value.kind === 'action' && input.value.action === 'DISMISS_DIRECT')
    await removeUnfetched(transaction, openSession.id)
  return applyTransition(transaction, openSession, transition.value)
}
