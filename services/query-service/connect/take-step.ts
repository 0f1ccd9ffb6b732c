import type { ConnectCall } from '../../contract/connect-call.ts'
import { advance, type Effect, type Input, type Move } from '../../domain/connect/advance.ts'
import { advanceCompleted, isReadOnly } from '../../domain/connect/completed.ts'
import { isAction, pageOfRoute, startRoutes } from '../../domain/connect/page.ts'
import { accepted, type Result, refused } from '../../domain/refusal.ts'
import { reportTariff, type StoredSession } from '../../platform/postgres/connect-sessions.ts'
import type { StoredLocation } from '../../platform/postgres/location-row.ts'
import { removeUnfetched } from '../../platform/postgres/tariff-credentials.ts'
import type { TenantTransaction } from '../../platform/postgres/transaction.ts'
import { capturePage, dataOf } from './capture-page.ts'
import { bothDone, type ConnectDependencies, type Deeds, nothingDone } from './connect-dependencies.ts'
import { finish } from './finish-session.ts'
import { disconnectTariff, keepTariff } from './keep-tariff.ts'
import { locationOf, openedState, standingOf } from './open-session.ts'

/** What a step has made of a session; `isEnding` where the visit ends with it. */
export type Step = { readonly session: StoredSession; readonly isEnding: boolean; readonly deeds: Deeds }

const noRoute = refused('route_invalid', 'Send the route of the page that is answered, or session_start', 'route')
const noAction = refused('action_invalid', 'Send one of the actions of this page', 'action')

/** Buttons have had other names. */
const actionNames: Readonly<Record<string, string>> = { WRONG_TARIFF: 'WRONG_TARIFF_REPORT' }

/** Turn a call into the input of the session. Refuses what the page refuses. */
const inputOf = async (
  dependencies: ConnectDependencies,
  transaction: TenantTransaction,
  session: StoredSession,
  location: StoredLocation | null,
  { call, at }: { readonly call: ConnectCall; readonly at: number },
): Promise<Result<Input>> => {
  const page = call.route === null ? undefined : pageOfRoute(call.route)
  if (call.action !== null) {
    const action = actionNames[call.action] ?? call.action
    return isAction(action) ? accepted({ kind: 'action', action, page: page ?? null }) : noAction
  }
  if (call.route !== null && startRoutes.includes(call.route)) {
    return accepted({ kind: 'start', standing: await standingOf(transaction, location, session, at) })
  }
  if (page === undefined) return noRoute
  if (page === 'end') return session.state.page === 'end' ? accepted({ kind: 'action', action: 'CLOSE', page: null }) : noRoute
  const captured = await capturePage(page, { dependencies, transaction, session, location, ...dataOf(call) })
  return captured.ok ? accepted({ kind: 'submit', captured: captured.value }) : captured
}

const performEffect = async (
  dependencies: ConnectDependencies,
  transaction: TenantTransaction,
  session: StoredSession,
  effect: Effect | null,
  at: number,
): Promise<Result<Step>> => {
  const still = { session, isEnding: effect === 'leave', deeds: nothingDone }
  switch (effect) {
    case 'save': {
      const kept = await keepTariff(dependencies, transaction, session, at)
      if (!kept.ok) return kept
      const finished = await finish(dependencies, transaction, kept.value.value, at)
      return accepted({ ...still, session: finished.value, deeds: bothDone(kept.value.deeds, finished.deeds) })
    }
    case 'complete': {
      const finished = await finish(dependencies, transaction, session, at)
      return accepted({ ...still, session: finished.value, deeds: finished.deeds })
    }
    case 'disconnect': {
      const ended = await disconnectTariff(transaction, session, await locationOf(transaction, session), at)
      if (!ended.ok) return ended
      const completedAt = session.completedAt ?? at
      return accepted({ ...still, session: { ...ended.value.value, completeAction: 'DISCONNECT', completedAt }, deeds: ended.value.deeds })
    }
    case 'report': {
      const { id: sessionId, locationId, tariffId, state } = session
      await reportTariff(transaction, { sessionId, locationId, tariffId, providerName: state.provider?.displayName ?? null }, at)
      return accepted(still)
    }
    default:
      return accepted(still)
  }
}

/** Bring a session to where a move leads, and do what the move asks of the world. */
export const carryOut = (
  dependencies: ConnectDependencies,
  transaction: TenantTransaction,
  session: StoredSession,
  { state, effect }: Move,
  at: number,
): Promise<Result<Step>> => performEffect(dependencies, transaction, { ...session, state }, effect, at)

/** Open a session that nobody has begun: a client may post a page before it starts. */
export const begin = async (
  dependencies: ConnectDependencies,
  transaction: TenantTransaction,
  session: StoredSession,
  at: number,
): Promise<Result<Step>> => {
  if (session.state.page !== null) return accepted({ session, isEnding: false, deeds: nothingDone })
  const location = await locationOf(transaction, session)
  const standing = await standingOf(transaction, location, session, at)
  const edits = session.config.edit || standing !== 'none'
  const opened = { ...session, state: await openedState(dependencies, transaction, session, location, { edits, at }) }
  const move = advance(session.config, opened.state, { kind: 'start', standing })
  return move.ok ? carryOut(dependencies, transaction, opened, move.value, at) : move
}

const isStart = ({ route, action }: ConnectCall): boolean => action === null && route !== null && startRoutes.includes(route)

/**
 * Take one step of a session: read the call for the page that it names, move, keep or end the tariff where the move asks for it.
 * Refuses with the codes of the page; then nothing has changed. Source: docs/rules/connect.md #calls, #transitions.
 */
export const takeStep = async (
  dependencies: ConnectDependencies,
  transaction: TenantTransaction,
  session: StoredSession,
  { call, at }: { readonly call: ConnectCall; readonly at: number },
): Promise<Result<Step>> => {
  const begun = await begin(dependencies, transaction, session, at)
  if (!begun.ok || (session.state.page === null && isStart(call))) return begun
  const opened = begun.value.session
  const location = await locationOf(transaction, opened)
  const input = await inputOf(dependencies, transaction, opened, location, { call, at })
  if (!input.ok) return input
  const { config, state, completedAt } = opened
  const move = isReadOnly(opened)
    ? advanceCompleted(config, state, input.value, at - (completedAt ?? at))
    : advance(config, state, input.value)
  if (!move.ok) return move
  if (input.value.kind === 'action' && input.value.action === 'DISMISS_DIRECT') await removeUnfetched(transaction, opened.id)
  const step = await carryOut(dependencies, transaction, opened, move.value, at)
  return step.ok ? accepted({ ...step.value, deeds: bothDone(begun.value.deeds, step.value.deeds) }) : step
}
