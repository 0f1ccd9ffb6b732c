import { type Caller, keyScopesOf, mayCall, type Operation } from '../../contract/operation.ts'
import { isId } from '../../domain/identifier.ts'
import { accepted, type Result, refused } from '../../domain/refusal.ts'
import type { SentKey } from '../access/verify-key.ts'
import type { Ports } from './binding.ts'
import type { RequestHeaders } from './request-body.ts'
import { checkRate, type RequestLimiters } from './request-limiters.ts'

/** Caller of an operation that needs no credentials. */
export const anonymousCaller: Caller = {
  accountId: '',
  liveMode: false,
  keyId: '',
  scope: 'read',
  defaultApiVersion: 'current',
}

const noToken = refused(
  'bad_credentials',
  'Send Authorization: Bearer with an API key, or with the bearer_token of /login.',
)
const noLogin = refused(
  'bad_credentials',
  'Send Authorization: Basic with the account id and an API key of the account.',
)
const wrongOperatorKey = refused('bad_credentials', 'Send the right X-Operator-Key.')

const insufficientScope = (operation: Operation): Result<never> =>
  refused('insufficient_scope', `Use a key of scope ${keyScopesOf(operation).join(' or ')} for this request`)

/** Credentials of a request. Rate headers for wrong keys are added to `answerHeaders`. */
type AuthenticationRequest = {
  readonly headers: RequestHeaders
  /** Object in which the HTTP adapter stores the socket. */
  readonly environment: unknown
  readonly operation: Operation
  readonly at: number
  readonly answerHeaders: Record<string, string>
}

type AccessDependencies = { readonly ports: Ports; readonly limiters: RequestLimiters }

/** Count a wrong key. Return its refusal, or `rate_limited` after too many wrong keys. */
const refuseWrongKey = async (
  { headers, environment, answerHeaders }: AuthenticationRequest,
  accountId: string | null,
  refusal: Result<never>,
  { limiters }: AccessDependencies,
): Promise<Result<never>> => {
  const decision = await limiters.wrongKeys(limiters.peerOf(environment, headers), accountId)
  const passed = checkRate(
    answerHeaders,
    decision,
    'Too many wrong keys came from this address: wait, then check the account id and the API key.',
  )
  return passed.ok ? refusal : passed
}

/** Report a wrong key that names an account, or that the key store knows. */
const reportWrongKey = (
  { headers, environment }: AuthenticationRequest,
  { accountId, apiKey }: SentKey,
  { known }: Extract<Awaited<ReturnType<Ports['verifyKey']>>, { readonly ok: false }>,
  { limiters, ports }: AccessDependencies,
): void => {
  const failure = { action: 'api_key.sign_in_failed', peer: limiters.peerOf(environment, headers) } as const
  if (known !== undefined) {
    const { keyId: objectId, ...owner } = known
    ports.onSignInFailure?.({ ...failure, ...owner, objectId })
  } else if (accountId !== null && isId('account', accountId)) {
    const liveMode = !apiKey.startsWith('sk_test_')
    ports.onSignInFailure?.({ ...failure, accountId, liveMode, objectId: accountId, reason: 'wrong_key' })
  }
}

/** Verify the key before counting, so that wrong keys of others never block a correct key. */
const authenticateKey = async (
  request: AuthenticationRequest,
  sent: SentKey,
  dependencies: AccessDependencies,
): Promise<Result<Caller>> => {
  const { at, operation } = request
  const { access } = operation
  const verified = await dependencies.ports.verifyKey(sent, {
    at,
    use: access === 'metering' || access === 'login' ? access : 'other',
  })
  if (verified.ok || verified.refusal.code !== 'bad_credentials') return verified
  reportWrongKey(request, sent, verified, dependencies)
  return refuseWrongKey(request, sent.accountId, verified, dependencies)
}

/**
 * Return the caller of an operation by bearer token or API key. Open operations have the anonymous caller.
 * The login accepts Basic credentials only. Refuses missing and wrong credentials.
 * `checkScope` checks the rights of the caller.
 * Source: docs/rules/authentication.md #login, #keys-without-login.
 */
export const authenticateCaller = async (
  request: AuthenticationRequest,
  dependencies: AccessDependencies,
): Promise<Result<Caller>> => {
  const { headers, operation, at } = request
  if (operation.access === 'open') return accepted(anonymousCaller)
  const operatorKey = operation.operator === true ? headers.get('x-operator-key') : null
  if (operatorKey !== null) {
    const operator = dependencies.ports.authenticateOperator(operatorKey)
    return operator === null ? refuseWrongKey(request, null, wrongOperatorKey, dependencies) : accepted(operator)
  }
  const sent = headers.get('authorization') ?? ''
  const basic = basicCredentials(sent)
  if (basic !== null) return authenticateKey(request, basic, dependencies)
  if (operation.access === 'login') return noLogin
  const token = /^Bearer +([\x21-\x7e]+) *$/i.exec(sent)?.[1]
  if (token === undefined) return noToken
  return token.startsWith('sk_')
    ? authenticateKey(request, { accountId: null, apiKey: token }, dependencies)
    : dependencies.ports.authenticate(token, at)
}

/**
 * Refuse a caller whose key lacks the scope of an operation (`insufficient_scope`).
 * Source: docs/rules/authentication.md #scopes.
 */
export const checkScope = (operation: Operation, caller: Caller): Result<null> =>
  caller === anonymousCaller || mayCall(operation, caller.scope) ? accepted(null) : insufficientScope(operation)

/** Read Basic credentials: account id and API key. Null if the header has none. */
const basicCredentials = (authorization: string): SentKey | null => {
  const encoded = /^Basic +([A-Za-z0-9+/_-]+={0,2}) *$/i.exec(authorization)?.[1]
  if (encoded === undefined) return null
  const [accountId = '', apiKey = '', ...rest] = Buffer.from(encoded, 'base64').toString('utf8').split(':')
  return accountId === '' || apiKey === '' || rest.length > 0 ? null : { accountId, apiKey }
}

/** Return `WWW-Authenticate` of a 401. Browsers show a password dialog for Basic, so only the login uses Basic. */
export const challenge = (operation: Operation | null): string =>
  operation?.access === 'login' ? 'Basic realm="wattledger", charset="UTF-8"' : 'Bearer realm="wattledger"'
