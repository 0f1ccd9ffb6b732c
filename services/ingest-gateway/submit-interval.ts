import type { CsvQuery } from '../contract/metering/csv-parameters.ts'
import {
  isCsv,
  meterBatchToWire,
  type meterIntervalSubmit,
  openRecords,
  oversizedRecord,
  recordReferenceOf,
  sentObjectsOf,
} from '../contract/metering/meter-batch.ts'
import { readMeterRecord } from '../contract/metering/meter-record.ts'
import type { SubmissionReader } from '../contract/metering/read-submission.ts'
import type { AnswerOf, Outcome, RawBody, RequestOf } from '../contract/operation.ts'
import { accepted, type Result, refused } from '../domain/refusal.ts'
import { startTimeSlices, startTurns } from '../platform/concurrency/time-slices.ts'
import { nextTurnFor } from '../platform/http/request-body.ts'
import type { KnownObjects } from './known-objects.ts'
import type { KnownReferences } from './known-references.ts'
import { type GatewayCounters, importOf, type RecordEntrance } from './record-entrance.ts'
import { validatePlain } from './validate-plain.ts'
import {
  addReadRecord,
  addRefusedRecord,
  recordsPerCheck,
  unvalidatedRecords,
  type ValidatedSubmission,
  type ValidationContext,
  validateRecords,
} from './validate-records.ts'
import { writeLate } from './write-limit.ts'

/** Validate a body in text/csv. Refuses the whole body if it cannot be read. */
export type ValidateCsv = (
  bytes: Uint8Array,
  query: CsvQuery,
  context: ValidationContext,
) => Promise<Result<ValidatedSubmission>>

export type SubmitIntervalDependencies = {
  readonly known: KnownObjects
  readonly references: KnownReferences
  readonly entrance: RecordEntrance
  readonly counts: Pick<GatewayCounters, 'bytes'>
  /** Null if this service reads JSON only. */
  readonly validateCsv: ValidateCsv | null
}

/**
 * Handle a submission of interval records: validate each record, make the valid ones durable, answer with the receipt.
 * Refuses the whole body if it is not a submission. Throws `Failure` if a store is unavailable or an append has an
 * unknown result; then nothing is acknowledged, and the client can send the whole submission again.
 * Source: docs/rules/metering.md #submissions, #acknowledgement.
 */
export const submitInterval =
  ({ known, references, entrance, counts, validateCsv }: SubmitIntervalDependencies) =>
  async (request: RequestOf<typeof meterIntervalSubmit>): Promise<Outcome<AnswerOf<typeof meterIntervalSubmit>>> => {
    const { at, body, query, apiVersion, caller, signal } = request
    const { import_id: _, ...csvQuery } = query
    const batch = entrance.begin(caller, at, importOf(query))
    const context = { part: batch, apiVersion, at, known, references }
    const validated = !isCsv(body)
      ? await validateJson(body, csvQuery, context)
      : validateCsv === null
        ? noCsv
        : await validateCsv(body.bytes, csvQuery, context)
    if (!validated.ok) return validated
    // The caller has been refused. Records that are stored after that could surprise the caller.
    if (signal.aborted) throw writeLate()
    const { parts, refused, warnings } = validated.value
    const receipt = await entrance.accept(batch, { kind: 'records', parts, refused, warnings }, validated.value)
    counts.bytes(body.bytes.length)
    return accepted(meterBatchToWire(receipt))
  }

const noCsv = refused('media_type_unsupported', 'This service reads JSON. Set Content-Type to application/json')

/** Validate a body that is not CSV. Refuses the parameters of a CSV body. */
const validateJson = (
  body: RawBody,
  query: CsvQuery,
  context: ValidationContext,
): Result<ValidatedSubmission> | Promise<Result<ValidatedSubmission>> => {
  for (const name in query)
    return refused('unknown_parameter', `${name} describes a CSV body; set Content-Type to text/csv`, name)
  return validate(body, context)
}

/**
 * Validate a body from its bytes if it has the plain form, otherwise from its parsed elements. Law: both give the same
 * result.
 */
export const validate = async (body: RawBody, context: ValidationContext): Promise<Result<ValidatedSubmission>> => {
  const { accountId } = context.part
  await nextTurnFor(body, accountId)
  const validatedPlain = await validatePlain(body, context)
  if (validatedPlain !== null) return accepted(validatedPlain)
  const opened = await openRecords(body, startTurns(accountId))
  const elements = opened.ok ? await readElements(opened.value, accountId) : opened
  return elements.ok ? accepted(await validateSubmission(elements.value, context)) : elements
}

/** Elements of a submission, and the indexes of the elements that are too long. */
type Submission = { readonly elements: readonly unknown[]; readonly oversized: ReadonlySet<number> }

/** Read all elements of a submission, because an element that is not JSON refuses the whole submission. */
const readElements = async (
  { count, isTooLong, read, refuse }: SubmissionReader,
  account: string,
): Promise<Result<Submission>> => {
  const timeSlice = startTimeSlices(account)
  const elements: unknown[] = []
  const oversized = new Set<number>()
  for (let index = 0; index < count; index += 1) {
    if (timeSlice.isOver()) await timeSlice.pause()
    const element = read(index)
    if (!element.ok) {
      await timeSlice.pause()
      return refuse(index, element.refusal)
    }
    if (isTooLong(index)) oversized.add(index)
    elements.push(element.value)
  }
  return accepted({ elements, oversized })
}

const oversizedResult = { ok: false, refusal: oversizedRecord } as const

/** Read the elements of a submission as records, number them from 1, and validate them. */
export const validateSubmission = async (
  { elements, oversized }: Submission,
  context: ValidationContext,
): Promise<ValidatedSubmission> => {
  const { part, apiVersion, at } = context
  const records = unvalidatedRecords(part)
  const timeSlice = startTimeSlices(part.accountId)
  let recordNumber = 0
  for (const element of elements) {
    recordNumber += 1
    if (recordNumber % recordsPerCheck === 0 && timeSlice.isOver()) await timeSlice.pause()
    const read = oversized.has(recordNumber - 1) ? oversizedResult : readMeterRecord(element, apiVersion, at)
    if (read.ok) addReadRecord(records, read.value, recordNumber)
    else {
      const recordReferenceId = recordReferenceOf(element)
      const error = read.refusal.message
      addRefusedRecord(records, { recordNumber, recordReferenceId, error, ...sentObjectsOf(element) })
    }
  }
  return validateRecords(records, context, timeSlice)
}
