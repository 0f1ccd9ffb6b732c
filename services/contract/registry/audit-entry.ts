import { z } from 'zod'
import { writeInstant } from '../../domain/instant.ts'
import type { ListedAuditEntry } from '../../domain/registry/audit-entry.ts'
import { instantText, orNull } from '../answer-field.ts'
import { endpointFor } from '../events/webhook-endpoint.ts'
import { text } from '../field.ts'
import { currentRoute, defineOperation, type Scope } from '../operation.ts'
import { parameters, wholeNumber } from '../parameter.ts'

const entryShape = z
  .object({
    actor: z.string().describe('Id of the key or user that made the change, operator or system.'),
    actor_address: orNull(z.string()).describe('E-mail address of the user; null for other actors and removed users.'),
    action: z.string().describe('Object and verb, such as tariff.update.'),
    object_id: orNull(z.string()),
    detail: z
      .unknown()
      .describe(
        'Values before and after the change. Of refused sign-ins: reason, peer, attempts, first_at and last_at.',
      ),
    time_created: instantText,
  })
  .meta({ component: 'AuditEntry' })

const auditShape = z.object({
  object: z.literal('list'),
  url: z.string(),
  has_more: z.boolean(),
  data: z.array(entryShape),
})

export type AuditEntriesWire = z.output<typeof auditShape>

/** Return an audit entry as a scope may read it. The details of an endpoint contain its URL. */
export const auditEntryFor =
  (scope: Scope) =>
  <Entry extends { readonly action: string; readonly detail: unknown }>(entry: Entry): Entry =>
    entry.action.startsWith('webhook_endpoint.') ? { ...entry, detail: endpointFor(scope)(entry.detail) } : entry

/** Write audit entries; `at` in ms. */
export const auditEntriesToWire = (
  entries: readonly Omit<ListedAuditEntry, 'entryNumber'>[],
  hasMore: boolean,
): AuditEntriesWire => ({
  object: 'list',
  url: '/audit-log',
  has_more: hasMore,
  data: entries.map(({ actor, actorAddress, action, objectId, detail, at }) => ({
    actor,
    actor_address: actorAddress,
    action,
    object_id: objectId,
    detail,
    time_created: writeInstant(at),
  })),
})

export const auditEntryList = defineOperation({
  id: 'audit_entry_list',
  summary: 'List changes',
  description:
    'Returns the newest entries of the audit log of this mode, of one object or of all objects: who changed what, and when. Refused sign-ins have entries too.',
  tag: 'Account',
  access: 'read',
  routes: currentRoute('GET', '/audit-log'),
  query: parameters({
    object_id: text({ max: 64 })
      .meta({ type: 'string', maxLength: 64, examples: ['trf_0198c0ffee00112233445566'] })
      .optional()
      .describe('Only changes of the object with this id.'),
    limit: wholeNumber({ min: 1, max: 100 }).default(30).describe('Number of entries.'),
  }),
  answer: { name: 'AuditEntryList', shape: auditShape },
  status: 200,
  examples: {
    answer: auditEntriesToWire(
      [
        {
          actor: 'usr_0198c0ffee00112233445566',
          actorAddress: 'ada@example.com',
          action: 'tariff.update',
          objectId: 'trf_0198c0ffee00112233445566',
          detail: { display_name: 'Day and night' },
          at: 1_757_844_000_000,
        },
      ],
      false,
    ),
  },
})
