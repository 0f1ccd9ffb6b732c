import sql from 'sql-template-tag'
import { noObject } from '../../../domain/no-object.ts'
import type { Result } from '../../../domain/refusal.ts'
import type { WebhookAttempt, WebhookDelivery } from '../../../domain/webhook/webhook-object.ts'
import { newId } from '../../ids/new-id.ts'
import { toTimestamp } from '../column.ts'
import { acceptFirst, readFirst, readInserted } from '../database.ts'
import { allOf, matching, ownedBy, type Page, type Paging, readPage } from '../page.ts'
import type { TenantTransaction } from '../transaction.ts'

const columns = sql`id, account_id as "accountId", live_mode as "liveMode", endpoint_id as "endpointId",
  event_id as "eventId", event_type as "eventType", status, attempts, due_at as "dueAt",
  last_attempt_at as "lastAttemptAt", time_created as "createdAt"`

const attemptColumns = sql`id, account_id as "accountId", live_mode as "liveMode", delivery_id as "deliveryId",
  endpoint_id as "endpointId", status_code as "statusCode", error, duration_ms as "durationMs",
  response_body as "responseBody", time_created as "createdAt"`

const notFound = noObject('delivery of this webhook endpoint')

/** List the deliveries of an endpoint, newest first. Refuses `cursor_not_found`. */
export const listDeliveries = (
  transaction: TenantTransaction,
  endpointId: string,
  filter: { readonly status: string | null; readonly eventId: string | null },
  paging: Paging,
): Promise<Result<Page<WebhookDelivery>>> =>
  readPage(
    transaction.query,
    {
      table: 'webhook_deliveries',
      columns,
      scope: allOf(ownedBy(transaction), matching('endpoint_id', endpointId)),
      filter: allOf(matching('status', filter.status), matching('event_id', filter.eventId)),
    },
    paging,
  )

/** Retrieve a delivery of an endpoint; null if there is none. */
export const retrieveDelivery = (
  transaction: TenantTransaction,
  endpointId: string,
  id: string,
): Promise<WebhookDelivery | null> =>
  readFirst(transaction.query)(sql`
    select ${columns} from webhook_deliveries where ${ownedBy(transaction)} and endpoint_id = ${endpointId}
      and id = ${id}`)

/** List the attempts of a delivery, newest first. Refuses `cursor_not_found`. */
export const listAttempts = (
  transaction: TenantTransaction,
  deliveryId: string,
  paging: Paging,
): Promise<Result<Page<WebhookAttempt>>> =>
  readPage(
    transaction.query,
    {
      table: 'webhook_attempts',
      columns: attemptColumns,
      scope: allOf(ownedBy(transaction), matching('delivery_id', deliveryId)),
      filter: sql`true`,
    },
    paging,
  )

/** Start a new round of a delivery at `at` (ms), whatever its status. Refuses `not_found`. */
export const resendDelivery = (
  transaction: TenantTransaction,
  endpointId: string,
  id: string,
  at: number,
): Promise<Result<WebhookDelivery>> =>
  acceptFirst(
    transaction.query,
    notFound,
  )(sql`
    update webhook_deliveries set status = 'PENDING', round = round + 1, attempts = 0, due_at = ${toTimestamp(at)}
    where ${ownedBy(transaction)} and endpoint_id = ${endpointId} and id = ${id} returning ${columns}`)

/** Write an event for one endpoint only, with its delivery, due at once. `data` is the input of `JSON.stringify`. */
export const createTestDelivery = async (
  transaction: TenantTransaction,
  endpointId: string,
  event: { readonly type: string; readonly data: unknown },
  at: number,
): Promise<WebhookDelivery> => {
  const { accountId, liveMode, query } = transaction
  const data = JSON.stringify(event.data)
  return readInserted(query)(sql`
    with event as (
      insert into events (account_id, live_mode, id, type, object_id, data, time_created)
      values (${accountId}, ${liveMode}, ${newId('event', at)}, ${event.type}, ${endpointId}, ${data}::json,
        ${toTimestamp(at)}) returning id
    )
    insert into webhook_deliveries (account_id, live_mode, id, endpoint_id, event_id, event_type, bytes, status, due_at,
      time_created)
    select ${accountId}, ${liveMode}, ${newId('webhookDelivery', at)}, ${endpointId}, event.id, ${event.type},
      ${data.length}, 'PENDING', ${toTimestamp(at)}, ${toTimestamp(at)} from event
    returning ${columns}`)
}
