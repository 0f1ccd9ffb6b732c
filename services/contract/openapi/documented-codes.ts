import type { RefusalCode } from '../../domain/refusal.ts'
import type { Operation, Route } from '../operation.ts'
import { referenceCodes } from '../reference.ts'

/** Codes that any request can get. */
const commonCodes = [
  'header_invalid',
  'api_version_not_supported',
  'target_too_long',
  'headers_too_large',
  'unavailable',
  'internal_error',
] as const satisfies readonly RefusalCode[]

/** Return the codes that follow from the declaration of an operation. */
const codesOf = (operation: Operation, route: Route): readonly RefusalCode[] => {
  const codes: RefusalCode[] = ['unknown_parameter', 'field_invalid', ...commonCodes]
  const hasBody = operation.body !== undefined
  if (hasBody || operation.query !== undefined) codes.push('field_required', 'field_too_long', 'value_out_of_range')
  if (hasBody && route.bodyInQuery === undefined) codes.push('unknown_field')
  if (operation.body !== undefined && route.bodyInQuery === undefined)
    codes.push('body_invalid', 'body_too_large', 'media_type_unsupported', 'request_timeout')
  if (operation.access !== 'open') codes.push('bad_credentials', 'account_disabled', 'rate_limited')
  if (operation.access !== 'open' && operation.access !== 'login') codes.push('token_expired', 'insufficient_scope')
  if (route.path.includes('{')) codes.push('not_found')
  if (operation.cors !== true) codes.push('not_acceptable')
  codes.push(...referenceCodes(operation.references))
  const repeatedId = route.bodyInQuery?.repeatedId
  if (repeatedId !== undefined)
    codes.push(...referenceCodes({ query: { [repeatedId]: operation.references?.id ?? [] } }))
  if (operation.idempotent === true) codes.push('idempotency_mismatch', 'idempotency_in_progress')
  return codes
}

/** Return every code that an operation can answer on a route. */
export const documentedCodes = (operation: Operation, route: Route): ReadonlySet<RefusalCode> =>
  new Set([...codesOf(operation, route), ...(operation.refusals ?? [])])
