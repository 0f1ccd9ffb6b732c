import type { ConnectCall } from '../../contract/connect/connect-call.ts'
import { pageOfRoute, startRoutes } from '../../contract/connect/page-route.ts'
import { advance, type SessionInput, type Transition, type TransitionEffect } from '../../domain/connect/advance.ts'
import { advanceCompleted, isReadOnly } from '../../domain/connect/completed-session.ts'
import { isAction } from '../../domain/connect/page.ts'
import { accepted, type Result, refused } from '../../domain/refusal.ts'
import { reportTariff, type StoredSession } from '../../platform/postgres/connect/connect-sessions.ts'
import { removeUnfetched } from '../../platform/postgres/connect/tariff-credentials.ts'
import type { StoredLocation } from '../../platform/postgres/registry/location-row.ts'
import type { TenantTransaction } from '../../platform/postgres/transaction.ts'
import { capturePage, postedDataOf } from './capture-page.ts'
import { type ConnectDependencies, type Effects, mergeEffects, noEffects } from './connect-dependencies.ts'
import { finishSession } from './finish-session.ts'
import { connectTariffStatusOf, initialState, locationOf } from './open-session.ts'
import { disconnectTariff, saveTariff } from './save-tariff.ts'

/** Session after a step, with its effects. `isEnding`: the visit ends with this step. */
export type SessionStep = { readonly session: StoredSession; readonly isEnding: boolean; readonly effects: Effects }

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
  dependencies: ConnectDependencies,
  transaction: TenantTransaction,
  session: StoredSession,
  location: StoredLocation | null,
  { call, at }: { readonly call: ConnectCall; readonly at: number },
): Promise<Result<SessionInput>> => {
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

const performEffect = async (
  dependencies: ConnectDependencies,
  transaction: TenantTransaction,
  session: StoredSession,
  effect: TransitionEffect | null,
  at: number,
): Promise<Result<SessionStep>> => {
  const unchanged = { session, isEnding: effect === 'leave', effects: noEffects }
  switch (effect) {
    case 'save': {
      const saved = await saveTariff(dependencies, transaction, session, at)
      if (!saved.ok) return saved
      const finished = await finishSession(dependencies, transaction, saved.value.value, at)
      return accepted({
        ...unchanged,
        session: finished.value,
        effects: mergeEffects(saved.value.effects, finished.effects),
      })
    }
    case 'complete': {
      const finished = await finishSession(dependencies, transaction, session, at)
      return accepted({ ...unchanged, session: finished.value, effects: finished.effects })
    }
    case 'disconnect': {
      const disconnected = await disconnectTariff(transaction, session, await locationOf(transaction, session), at)
      if (!disconnected.ok) return disconnected
      const completedAt = session.completedAt ?? at
      return accepted({
        ...unchanged,
        session: { ...disconnected.value.value, completeAction: 'DISCONNECT', completedAt },
        effects: disconnected.value.effects,
      })
    }
    case 'report': {
      const { id: sessionId, locationId, tariffId, state } = session
      await reportTariff(
        transaction,
        { sessionId, locationId, tariffId, providerName: state.provider?.displayName ?? null },
        at,
      )
      return accepted(unchanged)
    }
    default:
      return accepted(unchanged)
  }
}

/** Apply a transition to a session and perform its effect. */
export const applyTransition = (
  dependencies: ConnectDependencies,
  transaction: TenantTransaction,
  session: StoredSession,
  { state, effect }: Transition,
  at: number,
): Promise<Result<SessionStep>> => performEffect(dependencies, transaction, { ...session, state }, effect, at)

/** Start a session that has no page yet. A client may post a page before it sends session_start. */
export const beginSession = async (
  dependencies: ConnectDependencies,
  transaction: TenantTransaction,
  session: StoredSession,
  at: number,
): Promise<Result<SessionStep>> => {
  if (session.state.page !== null) return accepted({ session, isEnding: false, effects: noEffects })
  const location = await locationOf(transaction, session)
  const tariffStatus = await connectTariffStatusOf(transaction, location, session, at)
  const edits = session.config.edit || tariffStatus !== 'none'
  const openSession = {
    ...session,
    state: await initialState(dependencies, transaction, session, location, { edits, at }),
  }
  const transition = advance(session.config, openSession.state, { kind: 'start', tariffStatus })
  return transition.ok ? applyTransition(dependencies, transaction, openSession, transition.value, at) : transition
}

const isStart = ({ route, action }: ConnectCall): boolean =>
  action === null && route !== null && startRoutes.includes(route)

/**
 * Take one step of a session: read the call, apply the transition, and perform its effect, such as saving the tariff.
 * Refuses with the error codes of the page; then the session does not change.
 * Source: docs/rules/connect.md #calls, #transitions.
 */
export const takeStep = async (
  dependencies: ConnectDependencies,
  transaction: TenantTransaction,
  session: StoredSession,
  { call, at }: { readonly call: ConnectCall; readonly at: number },
): Promise<Result<SessionStep>> => {
  const beginning = await beginSession(dependencies, transaction, session, at)
  if (!beginning.ok || (session.state.page === null && isStart(call))) return beginning
  const openSession = beginning.value.session
  const location = await locationOf(transaction, openSession)
  const input = await readInput(dependencies, transaction, openSession, location, { call, at })
  if (!input.ok) return input
  const { config, state, completedAt } = openSession
  const transition = isReadOnly(openSession)
    ? advanceCompleted(config, state, input.value, at - (completedAt ?? at))
    : advance(config, state, input.value)
  if (!transition.ok) return transition
  if (input.value.kind === 'action' && input.value.action === 'DISMISS_DIRECT')
    await removeUnfetched(transaction, openSession.id)
  const step = await applyTransition(dependencies, transaction, openSession, transition.value, at)
  return step.ok
    ? accepted({ ...step.value, effects: mergeEffects(beginning.value.effects, step.value.effects) })
    : step
}
