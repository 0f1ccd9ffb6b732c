import { isSourceObject, pointer, type SourceObject, type SourceValue } from '../source-value.ts'

/** Versions of charge detail records. They differ in the members of a price, and in the types of a token. */
export type CdrVersion = '2.2.1' | '2.3.0'

/** Members of charge detail records that a meter does not know: party, token and location, with the names of OCPI. */
export type CdrFrame = {
  readonly party: SourceObject
  readonly token: SourceObject
  readonly location: SourceObject
  readonly authMethod: string
}

type Rule = {
  readonly maxLength: number
  readonly isOptional?: true
  readonly words?: readonly string[]
  /** Form of the text, and its description for the message. */
  readonly form?: readonly [RegExp, string]
}

const connectorFormats = ['SOCKET', 'CABLE']
const powerTypes = ['AC_1_PHASE', 'AC_2_PHASE', 'AC_2_PHASE_SPLIT', 'AC_3_PHASE', 'DC']
const country: Rule['form'] = [/^[A-Z]{2}$/, 'a country code of ISO 3166 with 2 capital letters, such as NL']
const party: Rule['form'] = [/^[A-Z0-9]{3}$/i, '3 letters or digits']
const tokenTypes: Readonly<Record<CdrVersion, readonly string[]>> = {
  '2.2.1': ['AD_HOC_USER', 'APP_USER', 'OTHER', 'RFID'],
  '2.3.0': ['AD_HOC_USER', 'APP_USER', 'EMAID', 'OTHER', 'RFID'],
}
/** Connector types of version 2.2.1. From version 2.3.0 on a connector can have another type. */
const connectorType =
  /^(?:CHADEMO|CHAOJI|DOMESTIC_[A-O]|GBT_[AD]C|IEC_60309_2_(?:single_16|three_(?:16|32|64))|IEC_62196_T(?:[12](?:_COMBO)?|3[AC])|NEMA_(?:5_20|6_30|6_50|10_30|10_50|14_30|14_50)|PANTOGRAPH_(?:BOTTOM_UP|TOP_DOWN)|TESLA_[RS])$/
const connectorForm: Readonly<Record<CdrVersion, Pick<Rule, 'form'>>> = {
  '2.2.1': { form: [connectorType, 'a connector type of OCPI 2.2.1, such as IEC_62196_T2 or CHADEMO'] },
  '2.3.0': {},
}
const authMethods = ['AUTH_REQUEST', 'COMMAND', 'WHITELIST']

/** Members of the parts of a frame, by JSON pointer. Source: docs/formats-out.md #frame. */
const rules: Readonly<Record<string, Rule>> = {
  '/party/country_code': { maxLength: 2, form: country },
  '/party/party_id': { maxLength: 3, form: party },
  '/token/country_code': { maxLength: 2, form: country },
  '/token/party_id': { maxLength: 3, form: party },
  '/token/uid': { maxLength: 36 },
  '/token/type': { maxLength: 20 },
  '/token/contract_id': { maxLength: 36 },
  '/location/id': { maxLength: 36 },
  '/location/name': { maxLength: 255, isOptional: true },
  '/location/address': { maxLength: 45 },
  '/location/city': { maxLength: 45 },
  '/location/postal_code': { maxLength: 10, isOptional: true },
  '/location/state': { maxLength: 20, isOptional: true },
  '/location/country': {
    maxLength: 3,
    form: [/^[A-Z]{3}$/, 'a country code of ISO 3166 with 3 capital letters, such as NLD'],
  },
  '/location/coordinates/latitude': {
    maxLength: 10,
    form: [/^-?[0-9]{1,2}\.[0-9]{5,7}$/, 'degrees with 5 to 7 decimals, such as 52.090700'],
  },
  '/location/coordinates/longitude': {
    maxLength: 11,
    form: [/^-?[0-9]{1,3}\.[0-9]{5,7}$/, 'degrees with 5 to 7 decimals, such as 5.121400'],
  },
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
  if (rule.words !== undefined && !rule.words.includes(value))
    return { path, message: `must be one of ${rule.words.join(', ')}` }
  return rule.form === undefined || rule.form[0].test(value) ? null : { path, message: `must be ${rule.form[1]}` }
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
 * Read the frame of charge detail records of a version. Returns all faults: each missing, wrong and unknown member.
 * Source: docs/formats-out.md #frame.
 */
export const readCdrFrame = (frame: SourceValue, version: CdrVersion): CdrFrame | readonly FrameFault[] => {
  const rulesOfVersion: typeof rules = {
    ...rules,
    '/token/type': { maxLength: 20, words: tokenTypes[version] },
    '/location/connector_standard': { maxLength: 40, ...connectorForm[version] },
  }
  const faults = Object.entries(rulesOfVersion).flatMap(
    ([path, rule]) => faultOf(path, valueAt(frame, path), rule) ?? [],
  )
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
