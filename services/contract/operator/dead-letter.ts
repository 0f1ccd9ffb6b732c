import { z } from 'zod'
import { count, instantText, orNull } from '../answer-field.ts'
import { fields, listOf, text } from '../field.ts'
import { listEnvelope } from '../list.ts'
import { defineOperation, sameRoute } from '../operation.ts'
import { instantParameter, parameters, wholeNumber } from '../parameter.ts'

/**
 * What the operator does with records that were put aside. These operations take the operator's key alone and stand in no document for
 * callers: their letters are of all accounts.
 */

export const maxReplays = 100

const summaryMembers = {
  id: z.string().describe('Partition and offset in the topic of dead letters.'),
  object: z.literal('dead_letter'),
  lane: orNull(count).describe(
    'Partition of the topic of records that it came from; null where the letter itself cannot be read.',
  ),
  offset: orNull(count),
  position: orNull(count).describe('Place of the record in its message; null: the whole message.'),
  code: z.string(),
  reason: z.string(),
  time_failed: instantText,
}

const summary = z.object(summaryMembers)

const detail = z.object({
  ...summaryMembers,
  topic: z.string(),
  time_appended: orNull(instantText).describe('When its message was appended to the lane.'),
  key: z.string(),
  headers: z.record(z.string(), z.string()),
  size: count.describe('Of its bytes.'),
  value_base64: z.string().describe('The bytes as they came.'),
  content: z.unknown().describe('What the bytes say, energies in 1e-6 Wh as text; null where they cannot be read.'),
  content_error: orNull(z.string()),
})

const replay = z.object({
  id: z.string(),
  replayed: z.boolean(),
  lane: orNull(count).describe('Where it stands now.'),
  offset: orNull(count),
  reason: orNull(z.string()).describe('Why it was not replayed.'),
})

export type DeadLetterSummary = z.output<typeof summary>
export type DeadLetterDetail = z.output<typeof detail>
export type DeadLetterReplay = z.output<typeof replay>

const operatorDefaults = { tag: 'Operator', access: 'all', operator: true, status: 200 } as const

const cursor = /^\d{1,12}(\.\d{1,12})*$/

export const deadLetterList = defineOperation({
  ...operatorDefaults,
  id: 'dead_letter_list',
  summary: 'List what was put aside',
  description: 'Newest first. A page may hold fewer than limit while has_more is true: go on with next.',
  routes: sameRoute('GET', '/operator/dead-letters'),
  query: parameters({
    limit: wholeNumber({ min: 1, max: 100 }).default(30),
    code: text().optional(),
    since: instantParameter.optional().describe('Only what was put aside at this time or later.'),
    before: z.string().regex(cursor, { message: 'must be the next of a page' }).optional(),
  }),
  answer: { name: 'DeadLetterList', shape: listEnvelope(summary).extend({ next: orNull(z.string()) }) },
})

export const deadLetterRetrieve = defineOperation({
  ...operatorDefaults,
  id: 'dead_letter_retrieve',
  summary: 'Retrieve what was put aside',
  description: 'Everything that is known of it, with its bytes.',
  routes: sameRoute('GET', '/operator/dead-letters/{id}'),
  answer: { name: 'DeadLetter', shape: detail },
})

export const deadLetterReplay = defineOperation({
  ...operatorDefaults,
  id: 'dead_letter_replay',
  summary: 'Replay what was put aside',
  description: 'Puts the bytes back into their lane, in the standing that they had there. Repeats change nothing.',
  routes: sameRoute('POST', '/operator/dead-letters/replay'),
  body: fields({ ids: listOf(text(), { min: 1, max: maxReplays }) }),
  answer: { name: 'DeadLetterReplays', shape: z.object({ object: z.literal('list'), data: z.array(replay) }) },
})
