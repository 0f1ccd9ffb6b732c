import type { Access, ApiKeyScope, Caller, Operation } from '../../contract/operation.ts'
import { accepted, type Result, refused } from '../../domain/refusal.ts'
import type { SentKey } from '../access/verify-key.ts'
import type { Ports } from './binding.ts'
import { checkRate, type RequestLimiters } from './request-limiters.ts'

const scopes: Readonly<Record<Access, readonly ApiKeyScope[]>> = {
  open: [],
  login: ['read', 'metering', 'all'],
  any: ['read', 'metering', 'all'],
  read: ['read', 'all'],
  metering: ['metering', 'all'],
  all: ['all'],
}

/** Who stands for a request that needs no token. */
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
const noLogin = refused('bad_credentials', 'Send Authorization: Basic with the account id and an API key of it.')
const wrongOperatorKey = refused('bad_credentials', 'Send the right X-Operator-Key.')

const insufficientScope = (operation: Operation): Result<never> =>
  refused('insufficient_scope', `Use a key of scope ${scopes[operation.access].join(' or ')} for this request`)

/** A request whose caller is looked for; rate headers of wrong keys are written into `answerHeaders`. */
type AuthenticationRequest = {
  readonly headers: Headers
  /** Where the HTTP adapter keeps the socket. */
  readonly environment: unknown
  readonly operation: Operation
  readonly at: number
  readonly answerHeaders: Record<string, string>
}

type AccessDependencies = { readonly ports: Ports; readonly limiters: RequestLimiters }

/** Count a wrong key, and answer that it is wrong, or that too many were. */
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

/** The key is verified first, so that a right one always gets in; only wrong ones are counted. */
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
  return refuseWrongKey(request, sent.accountId, verified, dependencies)
}

/**
 * Find who calls an operation, by token or by key; open operations ask for nobody. The login takes Basic credentials alone.
 * Refuses missing and wrong ones; whether the caller has the right is `permit`'s to say.
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

/** Refuse a caller whose key has not the right for an operation: `insufficient_scope`. Source: docs/rules/authentication.md #scopes. */
export const checkScope = (operation: Operation, caller: Caller): Result<null> =>
  caller === anonymousCaller || caller.scope === 'operator' || scopes[operation.access].includes(caller.scope)
    ? accepted(null)
    : insufficientScope(operation)

/** Read Basic credentials: account id and API key; null if there are none. */
const basicCredentials = (authorization: string): SentKey | null => {
  const encoded = /^Basic +([A-Za-z0-9+/_-]+={0,2}) *$/i.exec(authorization)?.[1]
  if (encoded === undefined) return null
  const [accountId = '', apiKey = '', ...rest] = Buffer.from(encoded, 'base64').toString('utf8').split(':')
  return accountId === '' || apiKey === '' || rest.length > 0 ? null : { accountId, apiKey }
}

/** What a 401 asks for: browsers ask people for a name and password where it is Basic, so the login alone does. */
export const challenge = (operation: Operation | null): string =>
  operation?.access === 'login' ? 'Basic realm="wattledger", charset="UTF-8"' : 'Bearer realm="wattledger"'
