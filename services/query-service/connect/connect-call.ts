import { accountOnPage, type ConnectCall, type ConnectPage, type connectStep, readConnectCall } from '../../contract/connect-call.ts'
import type { Layout } from '../../contract/layout.ts'
import type { Outcome, RequestOf } from '../../contract/operation.ts'
import { beginSlices, inSlices } from '../../contract/slices.ts'
import { isId } from '../../domain/identifier.ts'
import { accepted, type Refusal, type Result, refused } from '../../domain/refusal.ts'
import { isFailure } from '../../platform/failure.ts'
import { retrieveAccount } from '../../platform/postgres/accounts.ts'
import { findSessionOwner, retrieveSession, type StoredSession } from '../../platform/postgres/connect-sessions.ts'
import { withTenant } from '../../platform/postgres/transaction.ts'
import { changeSession, type Found, unknownToken } from './change-session.ts'
import type { ConnectDependencies } from './connect-dependencies.ts'
import { sessionIdsOf } from './finish-session.ts'
import { locationOf } from './open-session.ts'
import { drawPage } from './page-answer.ts'
import { answerProvider, isProviderCall } from './provider-leg.ts'
import { type Step, takeStep } from './take-step.ts'

type Request = RequestOf<typeof connectStep>

/** Calls of Connect have no account before they are read: they share a turn of their own. */
const connectTurn = 'connect'

const noToken = refused('connect_token_missing', 'Send the connect_token of the session', 'connect_token')

/** Routes are shown in errors as far as they can be routes. */
const contextOf = (route: string | null): string => `connect.${route !== null && /^[a-z_]{1,64}$/.test(route) ? route : 'session'}`

const find = async ({ database, secret }: ConnectDependencies, call: ConnectCall, at: number): Promise<Result<Found>> => {
  if (call.token === null) return noToken
  if (!isId('connectSession', call.token)) return unknownToken
  const owned = await findSessionOwner(database.operator, sessionIdsOf({ secret }, call.token), at)
  return owned === null ? unknownToken : accepted({ tenant: owned.tenant, sessionId: owned.id, token: call.token, call, at })
}

/** Draw the page that a session is on after a step. */
export const drawStep = (
  dependencies: ConnectDependencies,
  { tenant, token, at }: Found,
  { session, isEnding }: Step,
): Promise<ConnectPage> =>
  withTenant(dependencies.database, tenant, async transaction => {
    const location = await locationOf(transaction, session)
    return drawPage({ dependencies, transaction, session, location, token, at }, isEnding)
  })

const answer = async (dependencies: ConnectDependencies, found: Found, session: StoredSession): Promise<Result<ConnectPage>> => {
  const { call, at } = found
  if (isProviderCall(call, session)) return answerProvider(dependencies, found)
  const step = await changeSession(dependencies, found, (transaction, locked) => takeStep(dependencies, transaction, locked, { call, at }))
  return step.ok ? accepted(await drawStep(dependencies, found, step.value)) : step
}

/** Name the account of a session beside a page, for the callers that ask. */
const withAccount = async ({ database }: ConnectDependencies, { tenant, call }: Found, page: ConnectPage): Promise<ConnectPage> => {
  if (!call.wantsAccount) return page
  const account = await withTenant(database, tenant, ({ query }) => retrieveAccount(query, tenant.accountId))
  return { ...page, account: accountOnPage(account) }
}

/** A program whose session is unknown still says by its first word which layout it speaks. */
const layoutOfCall = ({ route }: ConnectCall): Layout =>
  route === 'session_restore' || route === 'session_complete' ? 'earlier' : 'current'

/** What went wrong in the world or in the program, told without its inside. */
const refusalOfThrown = (error: unknown, { logger }: ConnectDependencies, { requestId }: Request): Refusal => {
  if (isFailure(error) && error.retriable) {
    logger.warn({ err: error, request_id: requestId }, 'a Connect call failed')
    return refused('unavailable', 'The service cannot do this at the moment; try again in a moment').refusal
  }
  logger.error({ err: error, request_id: requestId }, 'a Connect call met a fault of the program')
  return refused('internal_error', 'The service met a fault of its own; tell the operator the request_id').refusal
}

/**
 * Answer one call of the Connect flow. Every answer is in the layout of the session; a refusal names page and token, and leaves the session
 * as it was. Source: docs/rules/connect.md #calls.
 */
export const answerConnectCall =
  (dependencies: ConnectDependencies) =>
  async (request: Request): Promise<Outcome<ConnectPage>> => {
    const { call, fault } = await inSlices(readConnectCall(request.body.bytes), beginSlices(connectTurn))
    const context = contextOf(call.route)
    const isToken = call.token !== null && isId('connectSession', call.token)
    const shown = isToken && call.token !== null ? { connectToken: call.token } : {}
    let layout = layoutOfCall(call)
    try {
      const found = await find(dependencies, call, request.at)
      if (!found.ok) return { ...(fault.ok ? found : fault), layout, context, ...shown }
      const { tenant, sessionId } = found.value
      const session = await withTenant(dependencies.database, tenant, transaction => retrieveSession(transaction, sessionId))
      if (session === null) return { ...unknownToken, layout, context, ...shown }
      layout = session.config.layout
      if (!fault.ok) return { ...fault, layout, context, ...shown }
      const answered = await answer(dependencies, found.value, session)
      if (!answered.ok) return { ...answered, layout, context, ...shown }
      return { ...accepted(await withAccount(dependencies, found.value, answered.value)), layout }
    } catch (error) {
      return { ok: false, refusal: refusalOfThrown(error, dependencies, request), layout, context, ...shown }
    }
  }
