import type { ApiVersion } from '../../contract/api-version.ts'
import {
  accountOnPage,
  type ConnectCall,
  type ConnectPage,
  type connectStep,
  readConnectCall,
} from '../../contract/connect/connect-call.ts'
import type { Outcome, RequestOf } from '../../contract/operation.ts'
import { isId } from '../../domain/identifier.ts'
import { accepted, type Refusal, type Result, refused } from '../../domain/refusal.ts'
import { runInTimeSlices } from '../../platform/concurrency/time-slices.ts'
import { isFailure } from '../../platform/failure.ts'
import {
  findSessionOwner,
  retrieveConnectSession,
  type StoredSession,
} from '../../platform/postgres/connect/connect-sessions.ts'
import { retrieveAccount } from '../../platform/postgres/registry/accounts.ts'
import { withTenant } from '../../platform/postgres/transaction.ts'
import { changeSession, type FoundSession, unknownToken } from './change-session.ts'
import type { ConnectDependencies } from './connect-dependencies.ts'
import { drawPage } from './draw-page.ts'
import { sessionIdsOf } from './finish-session.ts'
import { locationOf } from './open-session.ts'
import { answerProvider, isProviderCall } from './provider-login.ts'
import { type SessionStep, takeStep } from './take-step.ts'

type Request = RequestOf<typeof connectStep>

/** Calls of Connect have no account before they are read: they share a turn of their own. */
const connectAccount = 'connect'

const noToken = refused('connect_token_missing', 'Send the connect_token of the session', 'connect_token')

/** Routes are shown in errors as far as they can be routes. */
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
  const { call, at } = found
  if (isProviderCall(call, session)) return answerProvider(dependencies, found)
  const step = await changeSession(dependencies, found, (transaction, locked) =>
    takeStep(dependencies, transaction, locked, { call, at }),
  )
  return step.ok ? accepted(await drawStep(dependencies, found, step.value)) : step
}

/** Name the account of a session beside a page, for the callers that ask. */
const withAccount = async (
  { database }: ConnectDependencies,
  { tenant, call }: FoundSession,
  page: ConnectPage,
): Promise<ConnectPage> => {
  if (!call.wantsAccount) return page
  const account = await withTenant(database, tenant, ({ query }) => retrieveAccount(query, tenant.accountId))
  return { ...page, account: accountOnPage(account) }
}

/** A program whose session is unknown still says by its first word which layout it speaks. */
const apiVersionOfCall = ({ route }: ConnectCall): ApiVersion =>
  route === 'session_restore' || route === 'session_complete' ? 'earlier' : 'current'

/** What went wrong in the world or in the program, told without its inside. */
const refusalOfError = (error: unknown, { logger }: ConnectDependencies, { requestId }: Request): Refusal => {
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
    const { call, fault } = await runInTimeSlices(readConnectCall(request.body.bytes), connectAccount)
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
