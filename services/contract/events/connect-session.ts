import { z } from 'zod'
import { idText, instantText, orNull, storedMembers } from '../answer-field.ts'
import type { VersionRename } from '../earlier-api-version.ts'

const objectRename: VersionRename = {
  current: 'object',
  earlier: 'object',
  values: { connect_session: 'connect_token' },
}

/** Renames of a session's answer, in addition to the members that are sent. */
export const sessionAnswerRenames: readonly VersionRename[] = [
  objectRename,
  { current: 'price_available', earlier: 'is_tariff_processed' },
]

/** Renames of a complete session. */
export const connectSessionRenames: readonly VersionRename[] = [
  ...sessionAnswerRenames,
  { earlier: 'complete_action', inRequest: true },
]

/** Complete session of Connect. Stored events have this shape, so that they can be read without Connect. */
export const connectSessionShape = z.object({
  id: idText('cot').optional().describe('The token, if the request had the token.'),
  session_id: idText('fps'),
  object: z.literal('connect_session'),
  live_mode: storedMembers.live_mode,
  customer_id: orNull(idText('cus')),
  customer_reference_id: orNull(z.string()),
  location_id: orNull(idText('loc')),
  location_reference_id: orNull(z.string()),
  price_available: z.boolean().describe('True if the tariff has prices.'),
  complete_action: z
    .enum(['SAVE', 'DISCONNECT'])
    .optional()
    .describe('Action that completed the session; only in the earlier API version.'),
  time_created: instantText,
  time_expiry: instantText,
  account_id: storedMembers.account_id,
})
