import type { MeterRecord } from './record/record.ts'
import type { Tenant } from './tenant.ts'

/**
 * Prefix of each kind of identifier.
 * Source: docs/rules/identifiers-and-lists.md #prefixes.
 */
export const idPrefixes = {
  account: 'acc_',
  customer: 'cus_',
  location: 'loc_',
  device: 'dev_',
  tariff: 'trf_',
  charge: 'chg_',
  libraryTariff: 'trt_',
  plan: 'pln_',
  planAssignment: 'pla_',
  provider: 'prv_',
  marketSource: 'mrs_',
  calendar: 'cal_',
  meterRecord: 'mre_',
  meterBatch: 'bat_',
  meterCorrection: 'mco_',
  price: 'prs_',
  priceAudit: 'tra_',
  energyCost: 'ecs_',
  scheduleDuration: 'sdu_',
  scheduleDurationEarlier: 'sta_',
  scheduleLimit: 'sli_',
  scheduleLimitEarlier: 'spl_',
  scheduleAmount: 'sae_',
  statement: 'stm_',
  statementBatch: 'stb_',
  event: 'evt_',
  connectSession: 'cot_',
  connectSessionName: 'fps_',
  apiKey: 'key_',
  webhookEndpoint: 'whe_',
  webhookDelivery: 'whd_',
  webhookAttempt: 'wha_',
  webhookResend: 'whr_',
  simulation: 'sim_',
  export: 'exp_',
  user: 'usr_',
} as const

export type IdKind = keyof typeof idPrefixes

/**
 * Return the number of bytes of an id. Connect tokens (`connectSession`) are secrets of 16 random bytes; all other ids
 * have 12 bytes.
 */
export const idByteCount = (kind: IdKind): number => (kind === 'connectSession' ? 16 : 12)

const hexDigits = '0123456789abcdef'

const toHex = (bytes: Uint8Array, count: number): string => {
  let text = ''
  for (let index = 0; index < count; index += 1) {
    const byte = bytes[index] as number
    text += (hexDigits[byte >> 4] as string) + (hexDigits[byte & 15] as string)
  }
  return text
}

/**
 * Write an identifier: prefix and lower-case hex of the first `idByteCount(kind)` bytes. Throws RangeError for fewer
 * bytes.
 */
export const formatId = (kind: IdKind, bytes: Uint8Array): string => {
  const count = idByteCount(kind)
  if (bytes.length < count) throw new RangeError(`an id of kind ${kind} needs ${count} bytes`)
  return idPrefixes[kind] + toHex(bytes, count)
}

/**
 * Write the identifier of a stored object: 6 bytes of time (ms), then 6 random bytes. Ids ascend with time.
 * Throws RangeError for fewer than 6 random bytes.
 */
export const formatTimeOrderedId = (
  kind: Exclude<IdKind, 'connectSession' | 'meterRecord'>,
  at: number,
  random: Uint8Array,
): string => {
  if (random.length < 6) throw new RangeError('a time-ordered id needs 6 random bytes')
  return idPrefixes[kind] + at.toString(16).padStart(12, '0').slice(-12) + toHex(random, 6)
}

const lowerHex = /^[0-9a-f]+$/

/** Check if a text has the form of an identifier of a kind. */
export const isId = (kind: IdKind, text: string): boolean => {
  const prefix = idPrefixes[kind]
  return (
    text.length === prefix.length + 2 * idByteCount(kind) &&
    text.startsWith(prefix) &&
    lowerHex.test(text.slice(prefix.length))
  )
}

/** Return the kind of an identifier from its prefix and form; undefined if the text is not an identifier. */
export const idKindOf = (text: string): IdKind | undefined => {
  const kinds = Object.keys(idPrefixes) as IdKind[]
  return kinds.find(kind => isId(kind, text))
}

/** Members that identify a meter record: a record with equal members is the same record, sent again. */
export type RecordIdentity = Tenant &
  Pick<
    MeterRecord,
    | ('locationId' | 'deviceId' | 'energyFlowDirection' | 'tariffDirection' | 'start' | 'end')
    | ('sessionReferenceId' | 'recordReferenceId')
  >

/** The length comes first, so that no text can contain a false boundary between two texts. */
const lengthPrefixed = (text: string | null): string => (text === null ? '-' : `${text.length}:${text}`)

const objectText = (identity: Pick<RecordIdentity, 'accountId' | 'liveMode' | 'locationId' | 'deviceId'>): string =>
  `${lengthPrefixed(identity.accountId)}${identity.liveMode ? 'L' : 'T'}${lengthPrefixed(identity.locationId)}${lengthPrefixed(identity.deviceId)}`

/**
 * Return the text that identifies a meter record: equal for equal identities, different for different ones.
 * The record id is `formatId('meterRecord', sha256(text))`.
 * Source: docs/rules/identifiers-and-lists.md #record-ids.
 */
export const recordIdentityText = (identity: RecordIdentity): string =>
  `record ${objectText(identity)} ${identity.energyFlowDirection} ${identity.tariffDirection} ${identity.start} ${identity.end} ${lengthPrefixed(identity.sessionReferenceId)}${lengthPrefixed(identity.recordReferenceId)}`

/**
 * Members that identify the interval between two register readings: object, directions and time of the first reading.
 */
export type RegisterIdentity = Pick<
  RecordIdentity,
  'accountId' | 'liveMode' | 'locationId' | 'deviceId' | 'energyFlowDirection' | 'tariffDirection'
> & { readonly openedAt: number }

/** Return the text that identifies the interval after a register reading. It is never equal to the text of a record. */
export const registerIdentityText = (identity: RegisterIdentity): string =>
  `register ${objectText(identity)} ${identity.energyFlowDirection} ${identity.tariffDirection} ${identity.openedAt}`
