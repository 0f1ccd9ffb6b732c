import { z } from 'zod'
import { parseInstant, readInstant } from '../../domain/instant.ts'
import {
  type Energy,
  type EnergyUnits,
  exactEnergyOf,
  formatDecimal,
  readDecimal,
  readEnergy,
} from '../../domain/quantity.ts'
import {
  type EnergyFlowDirection,
  fullConfidence,
  type MeterRecord,
  noOptions,
  type RecordOptions,
} from '../../domain/record/record.ts'
import {
  defaultTariffDirection,
  readConfidence,
  refuseDirections,
  refuseInterval,
} from '../../domain/record/validate-record.ts'
import { isPossibleReference, readReference as readOwnReference } from '../../domain/reference.ts'
import { accepted, type Refusal, type Result, refused } from '../../domain/refusal.ts'
import type { TariffDirection } from '../../domain/tariff/tariff.ts'
import type { ApiVersion } from '../api-version.ts'
import { refusalToEarlier, requestFromApiVersion, type VersionRename } from '../earlier-api-version.ts'
import { fields, instant, jsonNumber, oneOf, optional, referenceId } from '../field.ts'
import { isJsonNumber, type JsonNumber, numberText } from '../json/exact-number.ts'
import { isJsonObject } from '../json/json-path.ts'
import { nearestName, unknownNameMessage } from '../message-text.ts'
import { deviceOnly, locationOnly } from '../reference.ts'
import {
  type NumberField,
  numberFields,
  optionMembers,
  type RecordWireName,
  recordFields,
  recordTexts,
  setNumber,
} from './record-fields.ts'

/** Differences of a record between the API versions. */
export const meterRecordRenames: readonly VersionRename[] = [
  { current: 'energy_flow_direction', earlier: 'direction', values: { INBOUND: 'IMPORT', OUTBOUND: 'EXPORT' } },
  { current: 'tariff_direction', earlier: 'tariff_rate' },
]

const referenceOrId = (prefix: 'loc' | 'dev', kind: string, example: string) =>
  z
    .string()
    .regex(new RegExp(`^(${prefix}_.{24}|(reference|${kind}):.{1,255})$`, 's'))
    .meta({ type: 'string', examples: [`${prefix}_0198c0ffee00112233445566`, `reference:${example}`] })

const numberShape = ({ description, rule: { scale, min, max } }: NumberField) =>
  optional(jsonNumber)
    .describe(description)
    .meta({ type: 'number', minimum: Number(formatDecimal(min, scale)), maximum: Number(formatDecimal(max, scale)) })

/** Shape of a record for the reference page. `readMeterRecord` reads records and accepts the same values. */
export const meterRecordShape = fields({
  location_id: referenceOrId('loc', 'location', 'depot-7').describe('The location of the record.'),
  device_id: optional(referenceOrId('dev', 'device', 'charger-4711')).describe(
    'The device of the record, at this location.',
  ),
  ...optionMembers(name => optional(referenceId).describe(recordFields[name].description), numberShape),
  energy_flow_direction: optional(oneOf('INBOUND', 'OUTBOUND')).describe('INBOUND when absent.'),
  tariff_direction: optional(oneOf('IMPORT', 'EXPORT', 'LOCAL')).describe(
    'IMPORT for INBOUND and EXPORT for OUTBOUND when absent.',
  ),
  measurand: optional(oneOf('TRANSFERRED'))
    .describe('Optional; only TRANSFERRED is accepted.')
    .meta({ deprecated: true }),
  units: oneOf('W', 'KW', 'WH', 'KWH').describe('W and KW are constant power from start_time to end_time.'),
  value: jsonNumber.meta({ type: 'number', minimum: 0 }),
  confidence: optional(jsonNumber)
    .describe('Above 0 and at most 1; below 1 the record is an estimate. 1 when absent.')
    .meta({ type: 'number', exclusiveMinimum: 0, maximum: 1 }),
  start_time: instant,
  end_time: instant.describe('Not before start_time, and at most 366 days after it.'),
}).meta({ component: 'MeterRecordInput' })

const optionNames = Object.keys(
  optionMembers(
    () => null,
    () => null,
  ),
) as readonly RecordWireName[]

/** Unvalidated members of a record in both API versions. */
type RecordMembers = {
  readonly [Name in RecordWireName | 'direction' | 'tariff_rate' | 'measurand' | 'units']?: unknown
}

/**
 * Read one submitted record of either API version that arrives at `at` (ms). Null means absent; the energy is exact.
 * The caller checks that location and device exist, and resolves own references. Refusals use the names of the API
 * version.
 * Source: docs/rules/metering.md #submissions; docs/rules/identifiers-and-lists.md #references;
 * docs/rules/earlier-version.md #names.
 */
export const readMeterRecord = (element: unknown, apiVersion: ApiVersion, at: number): Result<MeterRecord> => {
  if (!isJsonObject(element)) return refused('field_invalid', 'A record must be an object')
  const members: RecordMembers = element
  const isCurrent = apiVersion === 'current'
  if (countMembers(members) !== countKnown(members, isCurrent)) return refuseUnknown(element, apiVersion)
  const read = readMembers(members, isCurrent, at)
  return read.ok || isCurrent ? read : { ok: false, refusal: refusalToEarlier(read.refusal, meterRecordRenames) }
}

const countMembers = (members: RecordMembers): number => {
  let count = 0
  for (const _ in members) count += 1
  return count
}

const countKnown = (members: RecordMembers, isCurrent: boolean): number => {
  let count = 0
  if (members.location_id !== undefined) count += 1
  if (members.device_id !== undefined) count += 1
  for (const name of optionNames) if (members[name] !== undefined) count += 1
  if ((isCurrent ? members.energy_flow_direction : members.direction) !== undefined) count += 1
  if ((isCurrent ? members.tariff_direction : members.tariff_rate) !== undefined) count += 1
  if (members.measurand !== undefined) count += 1
  if (members.units !== undefined) count += 1
  if (members.value !== undefined) count += 1
  if (members.confidence !== undefined) count += 1
  if (members.start_time !== undefined) count += 1
  if (members.end_time !== undefined) count += 1
  return count
}

const readMembers = (members: RecordMembers, isCurrent: boolean, at: number): Result<MeterRecord> => {
  const locationId = readId(members.location_id, 'location_id', 'loc_')
  if (locationId === null) return refused('field_required', 'location_id is required', 'location_id')
  if (typeof locationId !== 'string') return refusedBy(locationId)
  const deviceId = readId(members.device_id, 'device_id', 'dev_')
  if (isRefusal(deviceId)) return refusedBy(deviceId)
  const energyFlowDirection = readEnergyFlowDirection(
    isCurrent ? members.energy_flow_direction : members.direction,
    isCurrent,
  )
  if (typeof energyFlowDirection !== 'string') return refusedBy(energyFlowDirection)
  const tariffDirection = readTariffDirection(
    isCurrent ? members.tariff_direction : members.tariff_rate,
    energyFlowDirection,
  )
  if (typeof tariffDirection !== 'string') return refusedBy(tariffDirection)
  const options = readOptions(members)
  if ('code' in options) return refusedBy(options)
  const measurand = members.measurand === undefined ? null : refuseMeasurand(members.measurand)
  if (measurand !== null) return refusedBy(measurand)
  const start = readTime(members.start_time, 'start_time')
  if (typeof start !== 'number') return refusedBy(start)
  const end = readTime(members.end_time, 'end_time')
  if (typeof end !== 'number') return refusedBy(end)
  const interval = refuseInterval(start, end, at)
  if (interval !== null) return refusedBy(interval)
  const units = readUnits(members.units)
  if (typeof units !== 'string') return refusedBy(units)
  if (!isJsonNumber(members.value)) return refusedBy(refuseMissingOr(members.value, 'value', 'must be a number'))
  const energy = readValue(members.value, units, end - start)
  if (typeof energy !== 'bigint') return refusedBy(energy)
  const confidence = members.confidence === undefined ? fullConfidence : readConfidenceMember(members.confidence)
  if (typeof confidence !== 'number') return refusedBy(confidence)
  return accepted({
    ...options,
    locationId,
    deviceId,
    energyFlowDirection,
    tariffDirection,
    start,
    end,
    energy,
    confidence,
  })
}

const readOptions = (members: RecordMembers): RecordOptions | Refusal => {
  const options = { ...noOptions }
  for (const name of recordTexts) {
    const { wire } = recordFields[name]
    const read = readReference(members[wire], wire)
    if (isRefusal(read)) return read
    options[name] = read
  }
  for (const field of numberFields) {
    const read = readNumber((members as Readonly<Record<string, unknown>>)[field.wire], field)
    if (isRefusal(read)) return read
    setNumber(options, field, read)
  }
  return options
}

/** Read an optional number: null if it is absent. */
export const readNumber = (value: unknown, { wire, rule }: NumberField): bigint | null | Refusal => {
  if (value === undefined || value === null) return null
  if (!isJsonNumber(value)) return refuseMember('field_invalid', wire, 'must be a number')
  const read = readDecimal(numberText(value), rule, wire)
  return read.ok ? read.value : read.refusal
}

const refusedBy = (refusal: Refusal): { readonly ok: false; readonly refusal: Refusal } => ({ ok: false, refusal })

const isRefusal = (value: string | bigint | null | Refusal): value is Refusal =>
  typeof value === 'object' && value !== null

const refuseMember = (code: Refusal['code'], field: string, clause: string): Refusal => ({
  code,
  message: `${field} ${clause}`,
  field,
})

const refuseMissingOr = (value: unknown, field: string, clause: string): Refusal =>
  value === undefined || value === null
    ? refuseMember('field_required', field, 'is required')
    : refuseMember('field_invalid', field, clause)

/** Length of a prefix and 24 digits. */
const idLength = 28

const readId = (value: unknown, field: string, prefix: 'loc_' | 'dev_'): string | null | Refusal => {
  if (value === undefined || value === null) return null
  if (typeof value !== 'string') return refuseMember('field_invalid', field, 'must be a string')
  if (value.length === idLength && value.startsWith(prefix)) return value
  const isLocation = prefix === 'loc_'
  const kind = isLocation ? 'location' : 'device'
  const reference = readOwnReference(value, isLocation ? locationOnly : deviceOnly)
  if (reference !== null && isPossibleReference(reference.reference)) return value
  const clause = `must be the id of a ${kind}, such as ${prefix}0198c0ffee00112233445566, or reference: and its reference_id`
  return refuseMember(isLocation ? 'location_not_found' : 'device_not_found', field, clause)
}

const readEnergyFlowDirection = (value: unknown, isCurrent: boolean): EnergyFlowDirection | Refusal => {
  if (value === undefined || value === null || value === (isCurrent ? 'INBOUND' : 'IMPORT')) return 'INBOUND'
  if (value === (isCurrent ? 'OUTBOUND' : 'EXPORT')) return 'OUTBOUND'
  return refuseMember('field_invalid', 'energy_flow_direction', 'must be INBOUND or OUTBOUND')
}

const readTariffDirection = (value: unknown, flow: EnergyFlowDirection): TariffDirection | Refusal => {
  if (value === undefined || value === null) return defaultTariffDirection(flow)
  if (value !== 'IMPORT' && value !== 'EXPORT' && value !== 'LOCAL') {
    return refuseMember('field_invalid', 'tariff_direction', 'must be IMPORT, EXPORT or LOCAL')
  }
  return refuseDirections(flow, value) ?? value
}

const maxReferenceLength = 255

const readReference = (value: unknown, field: string): string | null | Refusal => {
  if (value === undefined || value === null) return null
  if (typeof value !== 'string') return refuseMember('field_invalid', field, 'must be a string')
  if (value === '') return refuseMember('field_invalid', field, 'must not be empty')
  if (value.length <= maxReferenceLength || [...value].length <= maxReferenceLength) return value
  return refuseMember('field_too_long', field, `must have at most ${maxReferenceLength} characters`)
}

const refuseMeasurand = (value: unknown): Refusal | null => {
  if (value === null || value === 'TRANSFERRED') return null
  return refuseMember(
    typeof value === 'string' ? 'measurand_not_supported' : 'field_invalid',
    'measurand',
    'must be TRANSFERRED',
  )
}

/** Times that were read last. Many devices send the same times. */
const lastStartText = { text: '', at: 0 }
const lastEndText = { text: '', at: 0 }

const readTime = (value: unknown, field: 'start_time' | 'end_time'): number | Refusal => {
  if (typeof value !== 'string') return refuseMissingOr(value, field, 'must be a string')
  const last = field === 'start_time' ? lastStartText : lastEndText
  if (value === last.text) return last.at
  const at = parseInstant(value)
  if (at !== undefined) {
    last.text = value
    last.at = at
    return at
  }
  const read = readInstant(value, field)
  return read.ok ? read.value.at : read.refusal
}

const readUnits = (value: unknown): EnergyUnits | Refusal =>
  value === 'WH' || value === 'KWH' || value === 'W' || value === 'KW'
    ? value
    : refuseMissingOr(value, 'units', 'must be W, KW, WH or KWH')

const readValue = (value: JsonNumber, units: EnergyUnits, elapsedMs: number): Energy | Refusal => {
  const exactEnergy = typeof value === 'number' ? exactEnergyOf(value, units) : undefined
  if (exactEnergy !== undefined) return exactEnergy
  const read = readEnergy(numberText(value), units, elapsedMs)
  return read.ok ? read.value : read.refusal
}

const readConfidenceMember = (value: unknown): number | Refusal => {
  if (value === 1 || value === null) return fullConfidence
  if (!isJsonNumber(value)) return refuseMember('field_invalid', 'confidence', 'must be a number')
  const read = readConfidence(numberText(value))
  return read.ok ? read.value : read.refusal
}

const currentNames = Object.keys(meterRecordShape.shape)
const earlierNames = currentNames.map(
  name => meterRecordRenames.find(rename => rename.current === name)?.earlier ?? name,
)

const refuseUnknown = (element: Readonly<Record<string, unknown>>, apiVersion: ApiVersion): Result<never> => {
  const otherVersionMembers = requestFromApiVersion(element, meterRecordRenames, apiVersion)
  if (!otherVersionMembers.ok) return otherVersionMembers
  const names = apiVersion === 'current' ? currentNames : earlierNames
  const unknown = Object.keys(element).find(name => !names.includes(name)) ?? ''
  const nearest = nearestName(unknown, names)
  return refused('unknown_field', unknownNameMessage(unknown, nearest), unknown.slice(0, 255))
}
