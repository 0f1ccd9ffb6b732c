import { z } from 'zod'
import type { SubmissionWarning } from '../../domain/record/warnings.ts'
import { type Result, refused } from '../../domain/refusal.ts'
import type { OwnedObject } from '../../domain/tenant.ts'
import { count, exampleObject, objectShape, objectToWire, orNull } from '../answer-field.ts'
import type { VersionRename } from '../earlier-api-version.ts'
import { toSentence } from '../error.ts'
import { text } from '../field.ts'
import { defineOperation, type NextTurn, type RawBody, sameRoute } from '../operation.ts'
import { parameters } from '../parameter.ts'
import { submissionLimits } from '../registry/account.ts'
import { submissionWarningsToWire, warningsShape } from '../warning.ts'
import { csvParameters } from './csv-parameters.ts'
import { meterRecordRenames, meterRecordShape } from './meter-record.ts'
import { openSubmission, type SubmissionLimits, type SubmissionReader } from './read-submission.ts'

export const meterBatchShape = objectShape('bat', 'meter_batch', {
  status: z
    .enum(['PENDING', 'COMPLETE'])
    .describe('COMPLETE after every submitted record is processed or failed. This status is final.'),
  records_submitted: count.describe('Accepted and failed records together.'),
  records_accepted: count.describe('Durable records, which will be stored and priced.'),
  records_processed: count.describe('Stored records, with or without a price.'),
  records_replaced: count.describe(
    'Records that replaced a stored record with another value or confidence, and register readings that replaced or withdrew a stored reading. It is final with the status COMPLETE.',
  ),
  failed_records: z.array(
    z.object({
      record_num: count.describe('Position in the submission, from 1.'),
      record_reference_id: orNull(z.string()),
      error: z.string().describe('What to change.'),
    }),
  ),
  warnings: warningsShape,
})

export type MeterBatchWire = z.output<typeof meterBatchShape>

/** Receipt of a submission; `createdAt` in ms. Failed records are ordered by number. */
export type MeterBatch = OwnedObject & {
  readonly recordsSubmitted: number
  readonly recordsAccepted: number
  readonly recordsProcessed: number
  /** Records and readings that replaced a stored one with another value. */
  readonly recordsReplaced: number
  readonly failed: readonly {
    readonly recordNumber: number
    readonly recordReferenceId: string | null
    readonly error: string
  }[]
  /** Warnings about accepted records, known at arrival. */
  readonly warnings: readonly SubmissionWarning[]
}

/** True for texts that the published description quotes. These texts get no full stop. */
const isPublishedText = (error: string): boolean =>
  error === 'end_time must not be before start_time' || /^duplicate of record \d+$/.test(error)

/** Write the error of a failed record as a sentence. The store replaces the error of an erased record with `erased`. */
const failureText = (error: string): string =>
  error === 'erased' ? 'The record was erased.' : isPublishedText(error) ? error : toSentence(error)

/** Write a receipt. */
export const meterBatchToWire = (batch: MeterBatch): MeterBatchWire =>
  objectToWire('meter_batch', batch, {
    status: batch.recordsProcessed + batch.failed.length >= batch.recordsSubmitted ? 'COMPLETE' : 'PENDING',
    records_submitted: batch.recordsSubmitted,
    records_accepted: batch.recordsAccepted,
    records_processed: batch.recordsProcessed,
    records_replaced: batch.recordsReplaced,
    failed_records: batch.failed.map(({ recordNumber, recordReferenceId, error }) => ({
      record_num: recordNumber,
      record_reference_id: recordReferenceId,
      error: failureText(error),
    })),
    ...submissionWarningsToWire(batch.warnings),
  })

/** Id of an import. It needs no quotes in commands and paths. */
export const importId = z
  .string()
  .regex(/^[A-Za-z0-9][\w-]{0,63}$/, 'must be 1 to 64 letters, digits, hyphens or underscores')

/** Parameter of submissions that belong to an import. */
export const importParameter = {
  import_id: importId
    .optional()
    .describe(
      'Import of the submission. The caller chooses a new id for each import: 1 to 64 letters, digits, hyphens or underscores. All submissions of an import can be undone together for 24 hours.',
    ),
}

/** Differences of a receipt between the API versions. */
export const meterBatchRenames: readonly VersionRename[] = [{ current: 'records_replaced' }]

const ndjsonMediaType = 'application/x-ndjson'
const csvMediaType = 'text/csv'

/** True if a body is a CSV file. */
export const isCsv = (body: RawBody): boolean => body.mediaType === csvMediaType

/** True if a body has one JSON value per line. */
export const isNdjson = (body: RawBody): boolean => body.mediaType === ndjsonMediaType

/**
 * Open a submission, whose elements are read one by one: a JSON list, or one JSON value per line. Elements of more than
 * 8 KiB are too long. Refuses invalid JSON, an empty submission, more than 10,000 elements, and far too many values.
 * Limits are checked before the body is parsed.
 * Source: docs/rules/metering.md #submissions; docs/rules/limits.md #requests.
 */
export const openRecords = async (body: RawBody, nextTurn: NextTurn): Promise<Result<SubmissionReader>> => {
  const limits = { limits: capacity, maxElementBytes: submissionLimits.recordBytes }
  const opened = await openSubmission(body.bytes, isNdjson(body), limits, nextTurn)
  if (!opened.ok && 'excess' in opened) return opened.excess === 'elements' ? tooManyRecords : tooManyMembers
  return opened.ok && opened.value.count === 0 ? refused('body_invalid', 'The list must not be empty') : opened
}

/** A record has twelve members. A body with 20,000 excess values can still be parsed in a short time. */
const capacity: SubmissionLimits = { elements: submissionLimits.records, valuesPerElement: 16, excessValues: 20_000 }

/** Refusal of a submission with more than 10,000 records. */
export const tooManyRecords = refused(
  'too_many_records',
  `A submission has at most ${submissionLimits.records} records; send the rest in another one`,
)

const tooManyMembers = refused(
  'body_invalid',
  'The records have far more members than a record may have; send only the documented ones',
)

/** Refusal of an element that is too long. */
export const oversizedRecord = refused(
  'body_too_large',
  `A record must have at most ${submissionLimits.recordBytes} bytes`,
).refusal

/** Return the `record_reference_id` of a refused element; null if the element has no valid one. */
export const recordReferenceOf = (element: unknown): string | null => {
  if (typeof element !== 'object' || element === null || !('record_reference_id' in element)) return null
  const reference = element.record_reference_id
  return typeof reference === 'string' && reference !== '' && [...reference.slice(0, 512)].length <= 255
    ? reference
    : null
}

const sentId = (element: object, kind: 'location' | 'device'): string | null => {
  const value: unknown = Reflect.get(element, `${kind}_id`)
  return typeof value === 'string' ? value : null
}

/** Return the ids of location and device of a refused element, unchanged; null if an id is not a string. */
export const sentObjectsOf = (
  element: unknown,
): { readonly locationId: string | null; readonly deviceId: string | null } =>
  typeof element === 'object' && element !== null
    ? { locationId: sentId(element, 'location'), deviceId: sentId(element, 'device') }
    : { locationId: null, deviceId: null }

const example: MeterBatchWire = meterBatchToWire({
  ...exampleObject('bat'),
  recordsSubmitted: 2,
  recordsAccepted: 1,
  recordsProcessed: 0,
  recordsReplaced: 0,
  failed: [{ recordNumber: 2, recordReferenceId: null, error: 'end_time must not be before start_time' }],
  warnings: [],
})

const recordExample = {
  location_id: 'loc_0198c0ffee00112233445566',
  device_id: 'dev_0198c0ffee00112233445566',
  units: 'KWH',
  value: 1.25,
  start_time: '2025-09-14T10:00:00Z',
}

const tag = 'Metering'
const answer = { name: 'MeterBatch', shape: meterBatchShape }

export const meterIntervalSubmit = defineOperation({
  id: 'meter_submit',
  unaudited: 'Records are data, not settings. Each batch has a receipt.',
  summary: 'Submit interval records',
  description:
    'Accepts up to 10,000 records: a JSON list, one JSON object per line, or a CSV file with a header. The parameters describe a CSV file. Each record is checked separately: valid records are accepted, invalid ones are listed in failed_records. The answer is sent after every accepted record is durable. A record that is sent again counts once; with another value, unit or confidence it replaces the earlier record.',
  tag,
  access: 'metering',
  routes: sameRoute('PUT', '/meters/interval'),
  body: 'raw',
  bodyLimit: submissionLimits.bytes,
  query: csvParameters.extend(importParameter),
  mediaTypes: [ndjsonMediaType, csvMediaType],
  bodyDocument: z.array(meterRecordShape).min(1).max(submissionLimits.records),
  answer,
  status: 200,
  renames: { body: meterRecordRenames, answer: meterBatchRenames },
  refusals: ['too_many_records'],
  examples: {
    body: [
      { ...recordExample, end_time: '2025-09-14T10:15:00Z' },
      { ...recordExample, end_time: '2025-09-14T09:45:00Z' },
    ],
    answer: example,
  },
})

export const meterBatchRetrieve = defineOperation({
  id: 'meter_batch_retrieve',
  summary: 'Retrieve a batch',
  description:
    'Returns the receipt of a submission. At the end, records_processed is records_accepted less the records that failed later. Directly after the submission the request waits up to 5 seconds for the batch.',
  tag,
  access: 'read',
  routes: sameRoute('GET', '/meters/batch'),
  query: parameters({ batch_id: text().describe('The id in the answer to the submission.') }),
  answer,
  status: 200,
  renames: { answer: meterBatchRenames },
  refusals: ['batch_not_found', 'batch_pending'],
  examples: { answer: { ...example, status: 'COMPLETE', records_processed: 1 } },
})

export const meterBatchRead = defineOperation({
  id: 'meter_batch_read',
  summary: 'Retrieve a batch by its path',
  description: 'Returns the receipt of a submission, as GET /meters/batch does.',
  tag,
  access: 'read',
  routes: sameRoute('GET', '/meters/batch/{id}'),
  answer,
  status: 200,
  renames: { answer: meterBatchRenames },
  refusals: ['batch_not_found', 'batch_pending'],
  examples: { answer: { ...example, status: 'COMPLETE', records_processed: 1 } },
})
