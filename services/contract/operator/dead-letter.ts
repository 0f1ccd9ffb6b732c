import { z } from 'zod'
import { count, instantText, orNull } from '../answer-field.ts'
import { fields, listOf, text } from '../field.ts'
import { listEnvelope } from '../list.ts'
import { defineOperation, sameRoute } from '../operation.ts'
import { instantParameter, parameters, wholeNumber } from '../parameter.ts'

/**
 * Operations on dead letters for the operator. They require the operator's key and are absent from the documents for
 * callers, because the dead letters belong to all accounts.
 */

export const maxReplays = 100

const summaryMembers = {
  id: z.string().describe('Partition and offset in the dead-letter topic.'),
  object: z.literal('dead_letter'),
  lane: orNull(count).describe(
    'Partition of the original message in the topic of records; null if the dead letter cannot be read.',
  ),
  offset: orNull(count),
  position: orNull(count).describe('Position of the record in its message; null for the whole message.'),
  code: z.string(),
  reason: z.string(),
  time_failed: instantText,
}

const summary = z.object(summaryMembers)

const detail = z.object({
  ...summaryMembers,
  topic: z.string(),
  time_appended: orNull(instantText).describe('Time at which the message was appended to its partition.'),
  key: z.string(),
  headers: z.record(z.string(), z.string()),
  size: count.describe('Number of bytes.'),
  value_base64: z.string().describe('The original bytes.'),
  content: z.unknown().describe('The decoded bytes, with energies in 1e-6 Wh as text; null if decoding failed.'),
  content_error: orNull(z.string()),
})

const replay = z.object({
  id: z.string(),
  replayed: z.boolean(),
  lane: orNull(count).describe('Partition of the replayed message.'),
  offset: orNull(count),
  reason: orNull(z.string()).describe('Reason if the dead letter was not replayed.'),
})

export type DeadLetterSummary = z.output<typeof summary>
export type DeadLetterDetail = z.output<typeof detail>
export type DeadLetterReplay = z.output<typeof replay>

const operatorDefaults = { tag: 'Operator', access: 'all', operator: true, status: 200 } as const

const cursor = /^\d{1,12}(\.\d{1,12})*$/

export const deadLetterList = defineOperation({
  ...operatorDefaults,
  id: 'dead_letter_list',
  summary: 'List dead letters',
  description:
    'Newest first. A page can have fewer dead letters than limit although has_more is true: continue with next.',
  routes: sameRoute('GET', '/operator/dead-letters'),
  query: parameters({
    limit: wholeNumber({ min: 1, max: 100 }).default(30),
    code: text().optional(),
    since: instantParameter.optional().describe('Only dead letters of this time or later.'),
    before: z.string().regex(cursor, { message: 'must be the next of a page' }).optional(),
  }),
  answer: { name: 'DeadLetterList', shape: listEnvelope(summary).extend({ next: orNull(z.string()) }) },
})

export const deadLetterRetrieve = defineOperation({
  ...operatorDefaults,
  id: 'dead_letter_retrieve',
  summary: 'Retrieve a dead letter',
  description: 'Returns a dead letter with its bytes and its origin.',
  routes: sameRoute('GET', '/operator/dead-letters/{id}'),
  answer: { name: 'DeadLetter', shape: detail },
})

export const deadLetterReplay = defineOperation({
  ...operatorDefaults,
  id: 'dead_letter_replay',
  summary: 'Replay dead letters',
  description:
    'Appends the bytes to their partition again, with the original source version. A repeated replay has no effect.',
  routes: sameRoute('POST', '/operator/dead-letters/replay'),
  body: fields({ ids: listOf(text(), { min: 1, max: maxReplays }) }),
  answer: { name: 'DeadLetterReplays', shape: z.object({ object: z.literal('list'), data: z.array(replay) }) },
})
