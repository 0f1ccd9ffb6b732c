import type { ApiVersion } from '../../contract/api-version.ts'
import type { Outcome, RequestOf } from '../../contract/operation.ts'
import { isId } from '../../domain/identifier.ts'
import { accepted, type Refusal, type Result, refused } from '../../domain/refusal.ts'
import { isFailure } from '../../platform/failure.ts'
import { nextTurnFor } from '../../platform/http/request-body.ts'
import { retrieveAccount } from '../../platform/postgres/registry/accounts.ts'
import { withTenant } from '../../platform/postgres/transaction.ts'
import {
  accountOnPage,
  type ConnectCall,
  type ConnectPage,
  type connectStep,
  readConnectCall,
} from '../contract/connect-call.ts'
import { findSessionOwner, retrieveConnectSession, type StoredSession } from '../postgres/connect-sessions.ts'
import { changeSession, type FoundSession, unknownToken } from './change-session.ts'
import type { ConnectDependencies } from './connect-dependencies.ts'
import { drawPage } from './draw-page.ts'
import { sessionIdsOf } from './finish-session.ts'
import { locationOf } from './open-session.ts'
import { answerProvider, isProviderCall } from './provider-login.ts'
import { type SessionStep, takeStep } from './take-step.ts'

type Request = RequestOf<typeof connectStep>

/** Account of the time slices in which calls are read. The account of a call is unknown until its token is read. */
const connectAccount = 'connect'

const noToken = refused(
  'connect_token_missing',
  'The connect_token is missing. Send the connect_token of the session',
  'connect_token',
)

/** Return the `context` of an error. It contains the route of the call if its text is valid for a route. */
const contextOf = (route: string | null): string =>
  `connect.${route !== null && /^[a-z_]{1,64}$/.test(route) ? route : 'session'}`

const findSession = async (
  { database, secret }: ConnectDependencies,
  call: ConnectCall,
  at: number,
): Promise<Result<FoundSession>> => {
  if (call.token === null) return noToken
  if (!isId('connectSession', call.token)) return unknownToken
  const owner = await findSessionOwner(database.operator, sessionIdsOf({ secret }, call.token), at)
  return owner === null
    ? unknownToken
    : accepted({ tenant: owner.tenant, sessionId: owner.id, token: call.token, call, at })
}

/** Draw the page that a session is on after a step. */
export const drawStep = (
  dependencies: ConnectDependencies,
  { tenant, token, at }: FoundSession,
  { session, isEnding }: SessionStep,
): Promise<ConnectPage> =>
  withTenant(dependencies.database, tenant, async transaction => {
    const location = await locationOf(transaction, session)
    return drawPage({ dependencies, transaction, session, location, token, at }, isEnding)
  })

const answerFound = async (
  dependencies: ConnectDependencies,
  found: FoundSession,
  session: StoredSession,
): Promise<Result<ConnectPage>> => {
  const { call } = found
  if (isProviderCall(call, session)) return answerProvider(dependencies, found)
  const step = await changeSession(dependencies, found, (transaction, locked) => takeStep(transaction, locked, call))
  return step.ok ? accepted(await drawStep(dependencies, found, step.value)) : step
}

/** Add the account of a session to a page if the call requests it. */
const withAccount = async (
  { database }: ConnectDependencies,
  { tenant, call }: FoundSession,
  page: ConnectPage,
): Promise<ConnectPage> => {
  if (!call.wantsAccount) return page
  const account = await withTenant(database, tenant, ({ query }) => retrieveAccount(query, tenant.accountId))
  return { ...page, account: accountOnPage(account) }
}

/** Return the API version of a call whose session is unknown. Some routes exist only in the earlier API version. */
const apiVersionOfCall = ({ route }: ConnectCall): ApiVersion =>
  route === 'session_restore' || route === 'session_complete' ? 'earlier' : 'current'

/** Log an error and convert it to a refusal without internal details. */
const refusalOfError = (error: unknown, { logger }: ConnectDependencies, { requestId }: Request): Refusal => {
  if (isFailure(error) && error.retriable) {
    logger.warn({ err: error, request_id: requestId }, 'Connect call failed, a store is unavailable')
    return refused('unavailable', 'The service is temporarily unavailable. Try again in a moment').refusal
  }
  logger.error({ err: error, request_id: requestId }, 'Connect call failed with an internal error')
  return refused('internal_error', 'An internal error occurred. Send the request_id to the operator').refusal
}

/**
 * Answer one call of the Connect flow in the API version of the session. A refusal contains the page and the token and
 * does not change the session.
 * Source: docs/rules/connect.md #calls.
 */
export const answerConnectCall =
  (dependencies: ConnectDependencies) =>
  async (request: Request): Promise<Outcome<ConnectPage>> => {
    await nextTurnFor(request.body, connectAccount)
    const { call, fault } = readConnectCall(request.body.bytes)
    const context = contextOf(call.route)
    const isToken = call.token !== null && isId('connectSession', call.token)
    const tokenMember = isToken && call.token !== null ? { connectToken: call.token } : {}
    let apiVersion = apiVersionOfCall(call)
    try {
      const found = await findSession(dependencies, call, request.at)
      if (!found.ok) return { ...(fault.ok ? found : fault), apiVersion, context, ...tokenMember }
      const { tenant, sessionId } = found.value
      const session = await withTenant(dependencies.database, tenant, transaction =>
        retrieveConnectSession(transaction, sessionId),
      )
      if (session === null) return { ...unknownToken, apiVersion, context, ...tokenMember }
      apiVersion = session.config.layout
      if (!fault.ok) return { ...fault, apiVersion, context, ...tokenMember }
      const outcome = await answerFound(dependencies, found.value, session)
      if (!outcome.ok) return { ...outcome, apiVersion, context, ...tokenMember }
      return { ...accepted(await withAccount(dependencies, found.value, outcome.value)), apiVersion }
    } catch (error) {
      return { ok: false, refusal: refusalOfError(error, dependencies, request), apiVersion, context, ...tokenMember }
    }
  }
