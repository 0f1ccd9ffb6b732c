import { z } from 'zod'
import { readDecimal } from '../../domain/quantity.ts'
import type { EnergyFlowDirection } from '../../domain/record/record.ts'
import {
  defaultTariffDirection,
  earliestRecordAt,
  maxAheadMs,
  refuseDirections,
} from '../../domain/record/validate-record.ts'
import { accepted, type Result, refused } from '../../domain/refusal.ts'
import type { TariffDirection } from '../../domain/tariff/tariff.ts'
import type { ApiVersion } from '../api-version.ts'
import { refusalToEarlier, requestFromApiVersion } from '../earlier-api-version.ts'
import { fields, jsonNumber, objectIdentifier, oneOf, optional, referenceId, requestList } from '../field.ts'
import { numberText } from '../json/exact-number.ts'
import { isJsonObject } from '../json/json-path.ts'
import { parseJsonInTurns } from '../json/strict-json.ts'
import { defineOperation, type NextTurn, sameRoute } from '../operation.ts'
import { parameters } from '../parameter.ts'
import { readShape } from '../read-shape.ts'
import { submissionLimits } from '../registry/account.ts'
import { importParameter, meterBatchRenames, meterBatchShape } from './meter-batch.ts'
import { meterRecordRenames } from './meter-record.ts'

const readingShape = fields({
  time: jsonNumber.describe('Seconds since 1970-01-01T00:00:00Z.').meta({ type: 'integer', examples: [1_757_844_000] }),
  value: jsonNumber
    .nullable()
    .describe('Value of the register: 0 to 1e12 Wh. Null withdraws the reading of this time.')
    .meta({ type: ['number', 'null'], minimum: 0 }),
  restart: optional(z.boolean()).describe(
    'True: the first reading of a new meter. It closes no interval, and may have the time of the last reading of the old meter.',
  ),
  record_reference_id: optional(referenceId).describe(
    "The caller's own reference of the interval that ends with this reading.",
  ),
}).meta({ component: 'RegisterReading' })

/** Members that all readings of a submission share. */
const sharedMembers = {
  location_id: objectIdentifier('loc').describe('The location of the register.'),
  device_id: optional(objectIdentifier('dev')).describe('The device of the register, at this location.'),
  session_reference_id: optional(referenceId).describe(
    "The caller's own reference of a group of records, such as a charging session.",
  ),
  energy_flow_direction: optional(oneOf('INBOUND', 'OUTBOUND')).describe('INBOUND when absent.'),
  tariff_direction: optional(oneOf('IMPORT', 'EXPORT', 'LOCAL')).describe(
    'IMPORT for INBOUND and EXPORT for OUTBOUND when absent.',
  ),
  units: oneOf('WH', 'KWH').describe('Units of all values in data.'),
}

const documentShape = fields({
  ...sharedMembers,
  data: requestList(readingShape)
    .min(1)
    .max(submissionLimits.records)
    .describe(
      'Readings in any order, one for each time. A reading with restart: true may share its time with another.',
    ),
})

/** Body with readings that are not validated; each reading is validated separately. */
const submissionShape = fields({ ...sharedMembers, data: requestList(z.unknown()) })

type RegisterUnits = 'WH' | 'KWH'

/** Submitted readings of one register; `elements` are not validated. */
export type CumulativeSubmission = {
  readonly locationId: string
  readonly deviceId: string | null
  readonly sessionReferenceId: string | null
  readonly energyFlowDirection: EnergyFlowDirection
  readonly tariffDirection: TariffDirection
  readonly units: RegisterUnits
  readonly elements: readonly unknown[]
}

/**
 * Register reading: `time` in ms, `value` in 1e-6 Wh, null to withdraw the reading. `isRestart`: first reading of a new
 * meter.
 */
export type SubmittedReading = {
  readonly time: number
  readonly isRestart: boolean
  readonly value: bigint | null
  readonly recordReferenceId: string | null
}

/**
 * Read a submission of register readings of either API version. Null means absent; missing directions get
 * defaults. The caller checks that location and device exist. Refuses the submission for an invalid shared member, for
 * no reading, and for more than 10,000 readings. Source: docs/rules/metering.md #register-readings;
 * docs/rules/limits.md #requests.
 */
export const readCumulative = async (
  bytes: Uint8Array,
  apiVersion: ApiVersion,
  nextTurn: NextTurn,
): Promise<Result<CumulativeSubmission>> => {
  const parsed = await parseJsonInTurns(bytes, nextTurn)
  if (!parsed.ok) return parsed
  await nextTurn()
  const body = requestFromApiVersion(parsed.value, meterRecordRenames, apiVersion)
  if (!body.ok) return body
  const read = readSharedMembers(body.value)
  return read.ok || apiVersion === 'current'
    ? read
    : { ok: false, refusal: refusalToEarlier(read.refusal, meterRecordRenames) }
}

const readSharedMembers = (body: unknown): Result<CumulativeSubmission> => {
  const read = readShape(submissionShape, body, 'body')
  if (!read.ok) return read
  const { location_id, device_id, session_reference_id, energy_flow_direction, tariff_direction, units, data } =
    read.value
  const energyFlowDirection = energy_flow_direction ?? 'INBOUND'
  const tariffDirection = tariff_direction ?? defaultTariffDirection(energyFlowDirection)
  const refusal = refuseDirections(energyFlowDirection, tariffDirection)
  if (refusal !== null) return { ok: false, refusal }
  if (data.length === 0) return refused('field_invalid', 'data must not be empty', 'data')
  if (data.length > submissionLimits.records) {
    const advice = `data must have at most ${submissionLimits.records} readings, this one has ${data.length}`
    return refused('too_many_records', advice, 'data')
  }
  return accepted({
    locationId: location_id,
    deviceId: device_id ?? null,
    sessionReferenceId: session_reference_id ?? null,
    energyFlowDirection,
    tariffDirection,
    units,
    elements: data,
  })
}

/**
 * Read one reading of a submission that arrives at `at` (ms). The value is exact, rounded half to even to 1e-6 Wh.
 * Refuses values below 0 and above 1e12 Wh, times before 2000-01-01 and more than 7 days ahead, and unknown members.
 * Source: docs/rules/metering.md #register-readings.
 */
export const readReading = (element: unknown, units: RegisterUnits, at: number): Result<SubmittedReading> => {
  if (!isJsonObject(element)) return refused('field_invalid', 'A reading must be an object')
  const read = readShape(readingShape, element, 'body')
  if (!read.ok) return read
  const time = readTime(numberText(read.value.time), at)
  if (!time.ok) return time
  const { value: sent, restart, record_reference_id } = read.value
  const value = sent === null ? accepted(null) : readDecimal(numberText(sent), registerLimitOf[units], 'value')
  if (!value.ok) return value
  return accepted({
    time: time.value,
    isRestart: restart ?? false,
    value: value.value,
    recordReferenceId: record_reference_id ?? null,
  })
}

const maxRegisterValue = 10n ** 18n
const registerLimitOf = {
  WH: { scale: 6, min: 0n, max: maxRegisterValue, round: true },
  KWH: { scale: 9, min: 0n, max: maxRegisterValue, round: true },
} as const

const secondMs = 1_000
const secondsRule = { scale: 0, min: -(10n ** 15n), max: 10n ** 15n }

const readTime = (text: string, at: number): Result<number> => {
  const seconds = readDecimal(text, secondsRule, 'time')
  if (!seconds.ok && seconds.refusal.code === 'field_invalid') {
    return refused('field_invalid', 'time must be a whole number of seconds since 1970-01-01T00:00:00Z', 'time')
  }
  const time = seconds.ok ? Number(seconds.value) * secondMs : Number(text) * secondMs
  if (time < earliestRecordAt)
    return refused('time_out_of_range', 'time must not be before 946684800, which is 2000-01-01T00:00:00Z', 'time')
  if (time <= at + maxAheadMs) return accepted(time)
  return refused(
    'time_out_of_range',
    'time must be at most 7 days ahead, in seconds since 1970-01-01T00:00:00Z',
    'time',
  )
}

const bodyExample = {
  location_id: 'loc_0198c0ffee00112233445566',
  device_id: 'dev_0198c0ffee00112233445566',
  session_reference_id: 'session-17',
  energy_flow_direction: 'INBOUND',
  tariff_direction: 'IMPORT',
  units: 'KWH',
  data: [
    { time: 1_757_844_000, value: 4_821.5 },
    { time: 1_757_844_900, value: 4_822.75, record_reference_id: 'quarter-1' },
  ],
}

const answerExample = {
  id: 'bat_0198c0ffee00112233445566',
  object: 'meter_batch',
  live_mode: false,
  records_submitted: 2,
  records_accepted: 2,
  records_processed: 0,
  failed_records: [],
  time_created: '2025-09-14T10:15:02Z',
  account_id: 'acc_0198c0ffee00112233445566',
} as const

export const meterCumulativeSubmit = defineOperation({
  id: 'meter_cumulative_submit',
  unaudited: 'Readings are data, not settings. Each batch has a receipt.',
  summary: 'Submit register readings',
  description:
    'Accepts up to 10,000 readings of one register that only counts up, in any order. Two consecutive readings, stored readings included, make an interval that is costed like a record; the first reading only sets the base. Each reading is checked separately: valid readings are accepted, invalid ones are listed in failed_records. The answer is sent after every accepted reading is durable. A reading that is sent again for the same time counts once; with another value it replaces the earlier reading. The value null withdraws a reading. A reading below the previous reading, or more than 366 days after it, is added to failed_records later, and is still the base of the next interval. A reading that needs more power than max_power of the register, or 10 MW, is added too, and so is a dip of a LIFETIME register; these are left out. restart begins a new meter.',
  tag: 'Metering',
  access: 'metering',
  routes: sameRoute('PUT', '/meters/cumulative/epoch'),
  body: 'raw',
  bodyLimit: submissionLimits.bytes,
  query: parameters(importParameter),
  bodyDocument: documentShape,
  answer: { name: 'MeterBatch', shape: meterBatchShape },
  status: 200,
  renames: { body: meterRecordRenames, answer: meterBatchRenames },
  refusals: [
    'too_many_records',
    'location_not_found',
    'device_not_found',
    'direction_pair_refused',
    'time_out_of_range',
  ],
  examples: { body: bodyExample, answer: answerExample },
})
