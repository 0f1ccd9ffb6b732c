import { isSourceObject, pointer, type SourceObject, type SourceValue } from '../source-value.ts'

/** Members of charge detail records that a meter does not know: party, token and location, with the names of OCPI. */
export type CdrFrame = {
  readonly party: SourceObject
  readonly token: SourceObject
  readonly location: SourceObject
  readonly authMethod: string
}

type Rule = { readonly maxLength: number; readonly isOptional?: true; readonly words?: readonly string[] }

const connectorFormats = ['SOCKET', 'CABLE']
const powerTypes = ['AC_1_PHASE', 'AC_2_PHASE', 'AC_2_PHASE_SPLIT', 'AC_3_PHASE', 'DC']
const authMethods = ['AUTH_REQUEST', 'COMMAND', 'WHITELIST']

/** Members of the parts of a frame, by JSON pointer. Source: docs/formats-out.md #frame. */
const rules: Readonly<Record<string, Rule>> = {
  '/party/country_code': { maxLength: 2 },
  '/party/party_id': { maxLength: 3 },
  '/token/country_code': { maxLength: 2 },
  '/token/party_id': { maxLength: 3 },
  '/token/uid': { maxLength: 36 },
  '/token/type': { maxLength: 20, words: ['AD_HOC_USER', 'APP_USER', 'EMAID', 'OTHER', 'RFID'] },
  '/token/contract_id': { maxLength: 36 },
  '/location/id': { maxLength: 36 },
  '/location/name': { maxLength: 255, isOptional: true },
  '/location/address': { maxLength: 45 },
  '/location/city': { maxLength: 45 },
  '/location/postal_code': { maxLength: 10, isOptional: true },
  '/location/state': { maxLength: 20, isOptional: true },
  '/location/country': { maxLength: 3 },
  '/location/coordinates/latitude': { maxLength: 10 },
  '/location/coordinates/longitude': { maxLength: 11 },
  '/location/evse_uid': { maxLength: 36 },
  '/location/evse_id': { maxLength: 48 },
  '/location/connector_id': { maxLength: 36 },
  '/location/connector_standard': { maxLength: 40 },
  '/location/connector_format': { maxLength: 6, words: connectorFormats },
  '/location/connector_power_type': { maxLength: 20, words: powerTypes },
  '/auth_method': { maxLength: 20, isOptional: true, words: authMethods },
}

const groups = ['/party', '/token', '/location', '/location/coordinates']

/** Fault of a frame: JSON pointer and message. */
export type FrameFault = { readonly path: string; readonly message: string }

const faultOf = (path: string, value: SourceValue | undefined, rule: Rule): FrameFault | null => {
  if (value === undefined || value === null || value === '')
    return rule.isOptional ? null : { path, message: 'is missing' }
  if (typeof value !== 'string') return { path, message: 'must be a text' }
  if (value.length > rule.maxLength) return { path, message: `has more than ${rule.maxLength} characters` }
  return rule.words === undefined || rule.words.includes(value)
    ? null
    : { path, message: `must be one of ${rule.words.join(', ')}` }
}

const valueAt = (frame: SourceValue, path: string): SourceValue | undefined =>
  path
    .split('/')
    .slice(1)
    .reduce<SourceValue | undefined>(
      (value, name) =>
        isSourceObject(value) && Object.hasOwn(value, name) ? (value as SourceObject)[name] : undefined,
      frame,
    )

/** List the members of a frame that have no rule. */
const unknownMembers = (value: SourceValue, path = ''): readonly string[] =>
  isSourceObject(value)
    ? Object.entries(value).flatMap(([name, member]) => {
        const memberPath = pointer(path, name)
        if (groups.includes(memberPath)) return unknownMembers(member, memberPath)
        return Object.hasOwn(rules, memberPath) ? [] : [memberPath]
      })
    : []

/**
 * Read the frame of charge detail records. Returns all faults: each missing, wrong and unknown member.
 * Source: docs/formats-out.md #frame.
 */
export const readCdrFrame = (frame: SourceValue): CdrFrame | readonly FrameFault[] => {
  const faults = Object.entries(rules).flatMap(([path, rule]) => faultOf(path, valueAt(frame, path), rule) ?? [])
  const unknown = unknownMembers(frame).map(path => ({ path, message: 'is unknown' }))
  const [party, token, location] = ['/party', '/token', '/location'].map(path => valueAt(frame, path))
  if (
    faults.length + unknown.length > 0 ||
    !isSourceObject(party) ||
    !isSourceObject(token) ||
    !isSourceObject(location)
  )
    return [...faults, ...unknown]
  const authMethod = valueAt(frame, '/auth_method')
  return { party, token, location, authMethod: typeof authMethod === 'string' ? authMethod : 'WHITELIST' }
}
