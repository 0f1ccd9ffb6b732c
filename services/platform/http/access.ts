import type { Access, Caller, KeyScope, Operation } from '../../contract/operation.ts'
import { accepted, type Result, refused } from '../../domain/refusal.ts'
import type { Ports } from './binding.ts'

const scopes: Readonly<Record<Access, readonly KeyScope[]>> = {
  open: [],
  login: [],
  any: ['read', 'metering', 'all'],
  read: ['read', 'all'],
  metering: ['metering', 'all'],
  all: ['all'],
}

/** Who stands for a request that needs no token. */
export const nobody: Caller = { accountId: '', liveMode: false, keyId: '', scope: 'read', defaultLayout: 'current' }

const noToken = refused('bad_credentials', 'Send Authorization: Bearer with the bearer_token of /login')

const insufficient = (operation: Operation): Result<never> =>
  refused('insufficient_scope', `Use a key of scope ${scopes[operation.access].join(' or ')} for this request`)

const operatorCaller = (operation: Operation, key: string, ports: Ports): Result<Caller> | null => {
  if (operation.operator !== true) return null
  const operator = ports.authenticateOperator(key)
  return operator === null ? refused('bad_credentials', 'Send the right X-Operator-Key') : accepted(operator)
}

/**
 * Find who calls an operation. Open operations and the login ask for nobody.
 * Refuses missing and wrong tokens; whether the caller has the right is `permit`'s to say. Source: contract decisions 3 and 4.
 */
export const callerOf = async (headers: Headers, operation: Operation, ports: Ports, at: number): Promise<Result<Caller>> => {
  if (operation.access === 'open' || operation.access === 'login') return accepted(nobody)
  const operatorKey = headers.get('x-operator-key')
  const operator = operatorKey === null ? null : operatorCaller(operation, operatorKey, ports)
  if (operator !== null) return operator
  const token = /^Bearer +([\x21-\x7e]+) *$/i.exec(headers.get('authorization') ?? '')?.[1]
  if (token === undefined) return noToken
  return ports.authenticate(token, at)
}

/** Refuse a caller whose key has not the right for an operation: `insufficient_scope`. Source: contract decisions 3 and 4. */
export const permit = (operation: Operation, caller: Caller): Result<null> =>
  caller === nobody || caller.scope === 'operator' || scopes[operation.access].includes(caller.scope)
    ? accepted(null)
    : insufficient(operation)

export type BasicCredentials = { readonly accountId: string; readonly apiKey: string }

/** Read Basic credentials: account id and API key. Refuses what is none in the words for wrong ones. */
export const basicCredentials = (headers: Headers): Result<BasicCredentials> => {
  const encoded = /^Basic +([A-Za-z0-9+/_-]+={0,2}) *$/i.exec(headers.get('authorization') ?? '')?.[1]
  const [accountId, apiKey, ...rest] = encoded === undefined ? [] : Buffer.from(encoded, 'base64').toString('utf8').split(':')
  if (accountId === undefined || apiKey === undefined || rest.length > 0 || accountId === '' || apiKey === '') {
    return refused('bad_credentials', 'Send Authorization: Basic with the account id and an API key of it')
  }
  return accepted({ accountId, apiKey })
}

/** What a 401 asks for. */
export const challenge = (operation: Operation | null): string =>
  operation?.access === 'login' ? 'Basic realm="wattledger", charset="UTF-8"' : 'Bearer realm="wattledger"'
