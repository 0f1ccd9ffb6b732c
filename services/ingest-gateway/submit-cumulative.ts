import { hash } from 'node:crypto'
import { meterBatchToWire, recordReferenceOf } from '../contract/metering/meter-batch.ts'
import {
  type CumulativeSubmission,
  type meterCumulativeSubmit,
  readCumulative,
  readReading,
} from '../contract/metering/meter-cumulative.ts'
import type { AnswerOf, Outcome, RequestOf } from '../contract/operation.ts'
import { type RegisterIdentity, registerIdentityText } from '../domain/identifier.ts'
import { accepted } from '../domain/refusal.ts'
import { startTimeSlices, startTurns } from '../platform/concurrency/time-slices.ts'
import type { Reading, RefusedRecord } from '../platform/log/messages.ts'
import type { Tenant } from '../platform/postgres/transaction.ts'
import { findRegister } from './known-objects.ts'
import { withObjectIds } from './named-objects.ts'
import { importOf } from './record-entrance.ts'
import type { SubmitIntervalDependencies } from './submit-interval.ts'
import { duplicateMessage } from './validate-records.ts'
import { writeLate } from './write-limit.ts'

export type SubmitCumulativeDependencies = Omit<SubmitIntervalDependencies, 'validateCsv'>

type Request = RequestOf<typeof meterCumulativeSubmit>

/**
 * Handle a submission of readings of one register: validate each reading, make the valid ones durable, answer with the
 * receipt.
 * Refuses the whole body if anything but a reading is invalid, or if the location or device does not exist. Throws
 * `Failure` if a store is unavailable or an append has an unknown result; then nothing is acknowledged, and the client
 * can send the whole submission again.
 * Source: docs/rules/metering.md #register-readings, #acknowledgement.
 */
export const submitCumulative =
  ({ known, references, entrance, counts }: SubmitCumulativeDependencies) =>
  async ({
    at,
    body,
    query,
    apiVersion,
    caller,
    signal,
  }: Request): Promise<Outcome<AnswerOf<typeof meterCumulativeSubmit>>> => {
    const tenant: Tenant = { accountId: caller.accountId, liveMode: caller.liveMode }
    const parsed = await readCumulative(body.bytes, apiVersion, startTurns(caller.accountId))
    if (!parsed.ok) return parsed
    const submission = await withObjectIds(tenant, parsed.value, references.find)
    if (!submission.ok) return submission
    const { elements, units: _, ...register } = submission.value
    const place = await findRegister(known, tenant, register, at)
    if (!place.ok) return place
    const { partition, rule } = place.value
    const { readings, refused } = await validateReadings(submission.value, tenant, at)
    // The caller has been refused. Records that are stored after that could surprise the caller.
    if (signal.aborted) throw writeLate()
    const receipt = await entrance.accept(
      entrance.begin(tenant, at, importOf(query)),
      { kind: 'readings', partition, register: { ...register, register: rule }, readings, refused },
      { recordsSubmitted: elements.length, recordsAccepted: readings.length },
    )
    counts.bytes(body.bytes.length)
    return accepted(meterBatchToWire(receipt))
  }

type ValidatedReadings = { readonly readings: readonly Reading[]; readonly refused: readonly RefusedRecord[] }

/** Readings between two checks of the time slice. */
const readingsPerCheck = 64

/**
 * Return the 24 hexadecimal digits of the id of the interval that a register reading opens: the first 96 bits of a
 * SHA-256 of its identity.
 * Source: docs/rules/identifiers-and-lists.md #record-ids.
 */
export const registerIdDigits = (opening: RegisterIdentity): string =>
  hash('sha256', registerIdentityText(opening), 'hex').slice(0, 24)

/** Validate readings, number them from 1, and create the ids of the intervals that the valid ones open. */
const validateReadings = async (
  { elements, units, ...register }: CumulativeSubmission,
  tenant: Tenant,
  at: number,
): Promise<ValidatedReadings> => {
  const timeSlice = startTimeSlices(tenant.accountId)
  const { locationId, deviceId } = register
  // The first reading of a new meter can have the time of the last reading of the old meter.
  const numbers = new Map<string, number>()
  const readings: Reading[] = []
  const refused: RefusedRecord[] = []
  for (const [index, element] of elements.entries()) {
    if (index % readingsPerCheck === 0 && timeSlice.isOver()) await timeSlice.pause()
    const recordNumber = index + 1
    const read = readReading(element, units, at)
    const place = read.ok ? `${read.value.time}${read.value.isRestart ? ' restart' : ''}` : ''
    const duplicateNumber = numbers.get(place)
    if (!read.ok || duplicateNumber !== undefined) {
      const recordReferenceId = read.ok ? read.value.recordReferenceId : recordReferenceOf(element)
      const error = read.ok ? duplicateMessage(duplicateNumber) : read.refusal.message
      refused.push({ recordNumber, recordReferenceId, error, locationId, deviceId })
      continue
    }
    numbers.set(place, recordNumber)
    const recordId = registerIdDigits({ ...tenant, ...register, openedAt: read.value.time })
    readings.push({ ...read.value, recordNumber, recordId })
  }
  return { readings, refused }
}
