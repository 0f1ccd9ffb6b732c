import { z } from 'zod'
import { isId } from '../../domain/identifier.ts'
import { refusalCodes } from '../../domain/refusal.ts'
import { type BatchFailure, maxBatchLocations, type StoredBatch } from '../../domain/statement/statement-batch.ts'
import {
  acceptedMessage,
  count,
  exampleObject,
  idText,
  instantOrNull,
  instantText,
  objectShape,
  objectToWire,
  orNull,
} from '../answer-field.ts'
import { toSentence } from '../error.ts'
import { fields, identifier, listOf, objectIdentifier, optional, refuseField } from '../field.ts'
import { currentRoute, defineOperation, deletion, retrieval } from '../operation.ts'
import { customerOnly } from '../reference.ts'
import { statementInput } from './statement-request.ts'

/** Maximum number of failures in an answer. */
export const maxListedFailures = 1_000

const failureShape = z
  .object({
    object_id: idText('loc'),
    code: z.enum(refusalCodes).meta({ type: 'string' }),
    message: z.string(),
  })
  .meta({ component: 'StatementBatchFailure' })

export const statementBatchShape = objectShape('stb', 'statement_batch', {
  status: z.enum(['RUNNING', 'DONE', 'STOPPED']),
  total: count.describe('Number of locations.'),
  done: count.describe('Number of calculated statements. DONE: done and failed add up to total.'),
  failed_count: count.describe('Number of locations without a statement.'),
  failed: z.array(failureShape).describe('The first 1,000 locations without a statement, and why.'),
  time_finished: orNull(instantText),
})

/** Batch of statements, with the first failures. */
export type StatementBatch = StoredBatch & { readonly failures: readonly BatchFailure[] }

/** Write a batch. */
export const statementBatchToWire = (batch: StatementBatch) =>
  objectToWire('statement_batch', batch, {
    status: batch.status,
    total: batch.total,
    done: batch.done,
    failed_count: batch.failed,
    failed: batch.failures.map(({ locationId, code, message }) => ({
      object_id: locationId,
      code,
      message: toSentence(message),
    })),
    time_finished: instantOrNull(batch.finishedAt),
  })

/** Ids of locations. A list of text fields would take 100 times as long to read. */
const locationIds = listOf(z.string(), {
  min: 1,
  max: maxBatchLocations,
  message: `must have at most ${maxBatchLocations} locations; send the others in another batch`,
})
  .superRefine((ids, context) => {
    const seen = new Set<string>()
    for (const [index, id] of ids.entries()) {
      if (!isId('location', id))
        return refuseField(context, 'location_not_found', 'must be the id of a location', [index])
      if (seen.has(id)) return refuseField(context, 'field_invalid', 'must not name a location a second time', [index])
      seen.add(id)
    }
  })
  .meta({ examples: [['loc_0198c0ffee00112233445566']] })

const selections = ['object_ids', 'customer_id', 'plan_id', 'all'] as const

const batchInput = fields({
  object_ids: optional(locationIds).describe('Locations of the batch.'),
  customer_id: optional(objectIdentifier('cus')).describe('All locations of a customer.'),
  plan_id: optional(identifier('pln')).describe(
    'All locations with an assignment of a plan that has a day of the statement.',
  ),
  all: optional(z.literal(true, { error: 'must be true, or absent' })).describe('All locations of the account.'),
  ...statementInput.shape,
  finalise: optional(z.boolean()).describe('True makes each statement FINAL. Default: false.'),
  allow_incomplete: optional(z.boolean()).describe('With finalise: true accepts statements with gaps. Default: false.'),
}).superRefine((body, context) => {
  const [, second] = selections.filter(name => name in body && body[name as keyof typeof body] !== undefined)
  if (second !== undefined)
    refuseField(context, 'field_invalid', 'must not be combined with another selection of locations', [second])
  if (selections.every(name => !(name in body) || body[name as keyof typeof body] === undefined))
    refuseField(context, 'field_required', 'must be set, or customer_id, plan_id or all', ['object_ids'])
  if (body.allow_incomplete === true && body.finalise !== true)
    refuseField(context, 'field_invalid', 'must come with finalise: true', ['allow_incomplete'])
})

const example = statementBatchToWire({
  ...exampleObject('stb'),
  status: 'RUNNING',
  total: 2,
  done: 1,
  failed: 0,
  failures: [],
  finishedAt: null,
})

const answer = { name: 'StatementBatch', shape: statementBatchShape }
const tag = 'Statements'

/** Bytes of the ids of `maxBatchLocations` locations, and the other members. */
const batchBodyLimit = 4 * 2 ** 20

export const statementBatchCreate = defineOperation({
  id: 'statement_batch_create',
  summary: 'Calculate statements of many locations',
  description:
    'Starts the same statement for up to 100,000 locations. The statements have the ids of single requests. Two batches of an account run at the same time. With finalise each statement becomes FINAL.',
  tag,
  access: 'all',
  routes: currentRoute('POST', '/statements/batch'),
  references: { body: { customer_id: customerOnly } },
  body: batchInput,
  bodyLimit: batchBodyLimit,
  answer,
  status: 202,
  idempotent: true,
  refusals: [
    'location_not_found',
    'customer_not_found',
    'plan_not_found',
    'end_before_start',
    'interval_too_long',
    'periods_not_contiguous',
    'too_many_locations',
    'too_many_batches',
  ],
  examples: {
    body: { all: true, start_date: '2026-05-01', end_date: '2026-06-01', rounding: { profile: 'LARGEST_REMAINDER' } },
    answer: example,
  },
})

export const statementBatchRetrieve = defineOperation({
  id: 'statement_batch_retrieve',
  summary: 'Retrieve the progress of a batch of statements',
  description: 'Batches are kept for 30 days after their end.',
  tag,
  ...retrieval(answer, { ...example, status: 'DONE', done: 2, time_finished: '2026-06-01T10:00:00Z' }),
  routes: currentRoute('GET', '/statements/batch/{id}'),
})

export const statementBatchExport = defineOperation({
  id: 'statement_batch_export',
  summary: 'Export the statements of a batch',
  description:
    'Returns one statement per line as JSON, or one row per line of a statement as CSV, in the order of the locations. The batch must be DONE. Statements are returned as the batch calculated them.',
  tag,
  access: 'read',
  routes: currentRoute('GET', '/statements/batch/{id}/export'),
  answer: { name: 'StatementBatchExport', shape: z.string() },
  status: 200,
  ndjson: true,
  csv: true,
  refusals: ['batch_not_done'],
})

export const statementBatchStop = defineOperation({
  id: 'statement_batch_stop',
  summary: 'Stop a batch of statements',
  description:
    'Stops a running batch and deletes its results. Statements that are FINAL stay FINAL. A batch that has ended does not change.',
  tag,
  ...deletion,
  answer: { name: 'Accepted', shape: acceptedMessage },
  routes: currentRoute('DELETE', '/statements/batch/{id}'),
})
