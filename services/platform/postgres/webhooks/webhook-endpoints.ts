import sql from 'sql-template-tag'
import { noObject } from '../../../domain/no-object.ts'
import { accepted, type Result, refused } from '../../../domain/refusal.ts'
import type { OwnedObject } from '../../../domain/tenant.ts'
import type { SigningSecret } from '../../../domain/webhook/secret-rotation.ts'
import type { WebhookEndpoint } from '../../../domain/webhook/webhook-object.ts'
import { newId } from '../../ids/new-id.ts'
import { toTimestamp } from '../column.ts'
import { acceptFirst, readFirst, readInserted } from '../database.ts'
import { insertOf, type ObjectTable, selectOf } from '../object-table.ts'
import { allOf, isActive, ownedBy, type Page, type Paging, readPage } from '../page.ts'
import type { TenantTransaction } from '../transaction.ts'

/** Stored webhook endpoint; `secrets` are sealed; times in ms. */
export type StoredEndpoint = WebhookEndpoint & { readonly secrets: readonly SigningSecret<string>[] }

export type EndpointDraft = Pick<StoredEndpoint, 'url' | 'eventTypes' | 'description' | 'apiVersion'> & {
  /** Return the sealed first secret, which is bound to the id of the endpoint. */
  readonly sealedSecret: (id: string) => string
}

/** Change of an endpoint; absent members stay unchanged. */
export type EndpointPatch = Partial<
  Pick<StoredEndpoint, 'url' | 'eventTypes' | 'description'> & { readonly isEnabled: boolean }
>

/** Table of webhook endpoints. */
export const endpointTable: ObjectTable<Omit<StoredEndpoint, keyof OwnedObject>> = {
  name: 'webhook_endpoints',
  columns: {
    url: ['url', 'text'],
    eventTypes: ['event_types', 'text[]'],
    description: ['description', 'text'],
    apiVersion: ['layout', 'text'],
    secrets: ['secrets', 'jsonb'],
    failingSince: ['failing_since', 'timestamptz'],
    disabledReason: ['disabled_reason', 'text'],
  },
}

const columns = selectOf(endpointTable)

/** Maximum endpoints of an account in one mode. */
export const maxEndpoints = 100

const notFound = noObject('webhook endpoint')

const tooMany = refused(
  'too_many_webhook_endpoints',
  `An account has at most ${maxEndpoints} webhook endpoints in each mode. Delete one, or add event types to one.`,
)

/** Create an endpoint at `at` (ms). Refuses `too_many_webhook_endpoints`. */
export const createEndpoint = async (
  transaction: TenantTransaction,
  draft: EndpointDraft,
  at: number,
): Promise<Result<StoredEndpoint>> => {
  const { accountId, liveMode, query } = transaction
  await query(
    sql`select pg_advisory_xact_lock(hashtextextended(${`webhook endpoints of ${accountId} ${liveMode}`}, 0))`,
  )
  const { rows } = await query<{ count: number }>(sql`
    select count(*) as count from webhook_endpoints where ${ownedBy(transaction)} and ${isActive}`)
  if ((rows[0]?.count ?? 0) >= maxEndpoints) return tooMany
  const id = newId('webhookEndpoint', at)
  const { sealedSecret, ...values } = draft
  const stored = { ...values, secrets: [{ secret: sealedSecret(id), until: null }] }
  const insert = insertOf(endpointTable, { accountId, liveMode }, id, stored, at)
  return accepted(await readInserted(query)<StoredEndpoint>(sql`${insert} returning ${columns}`))
}

/** Retrieve an endpoint; null if there is none or it was deleted. */
export const retrieveEndpoint = (
  transaction: TenantTransaction,
  id: string,
  { forUpdate = false }: { readonly forUpdate?: boolean } = {},
): Promise<StoredEndpoint | null> =>
  readFirst(transaction.query)(sql`
    select ${columns} from webhook_endpoints where ${ownedBy(transaction)} and id = ${id} and ${isActive}
    ${forUpdate ? sql`for update` : sql``}`)

/** Change the given members. A new address or enabling the endpoint resets its failures. Refuses `not_found`. */
export const updateEndpoint = (
  transaction: TenantTransaction,
  id: string,
  patch: EndpointPatch,
  at: number,
): Promise<Result<StoredEndpoint>> => {
  const { isEnabled = null } = patch
  return acceptFirst(
    transaction.query,
    notFound,
  )<StoredEndpoint>(sql`
    update webhook_endpoints set
      url = coalesce(${patch.url ?? null}, url),
      event_types = coalesce(${patch.eventTypes ?? null}::text[], event_types),
      description = case when ${patch.description !== undefined} then ${patch.description ?? null} else description end,
      failing_since = case when ${isEnabled === true} or url <> ${patch.url ?? null} then null else failing_since end,
      disabled_reason = case when ${isEnabled === true} then null when ${isEnabled === false}
        then coalesce(disabled_reason, 'CALLER')
        else disabled_reason end,
      disabled_at = case when ${isEnabled === true} then null when ${isEnabled === false}
        then coalesce(disabled_at, ${toTimestamp(at)}::timestamptz)
        else disabled_at end
    where ${ownedBy(transaction)} and id = ${id} and ${isActive} returning ${columns}`)
}

/** Replace the secrets of an endpoint. */
export const replaceSecrets = async (
  transaction: TenantTransaction,
  id: string,
  secrets: readonly SigningSecret<string>[],
): Promise<void> => {
  await transaction.query(sql`
    update webhook_endpoints set secrets = ${JSON.stringify(secrets)}::jsonb
    where ${ownedBy(transaction)} and id = ${id}`)
}

/** Delete an endpoint. Its pending deliveries are never sent. Refuses `not_found`. */
export const deleteEndpoint = (
  transaction: TenantTransaction,
  id: string,
  at: number,
): Promise<Result<StoredEndpoint>> =>
  acceptFirst(
    transaction.query,
    notFound,
  )(sql`
    update webhook_endpoints set deleted_at = ${toTimestamp(at)}, secrets = '[]'
    where ${ownedBy(transaction)} and id = ${id} and ${isActive} returning ${columns}`)

/** List endpoints, newest first. Refuses `cursor_not_found`. */
export const listEndpoints = (transaction: TenantTransaction, paging: Paging): Promise<Result<Page<StoredEndpoint>>> =>
  readPage(
    transaction.query,
    { table: 'webhook_endpoints', columns, scope: ownedBy(transaction), filter: allOf(isActive) },
    paging,
  )
