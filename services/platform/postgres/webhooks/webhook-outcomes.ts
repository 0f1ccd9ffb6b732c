import sql from 'sql-template-tag'
import type { DeliveryStatus, DisabledReason } from '../../../domain/webhook/webhook-object.ts'
import { newId } from '../../ids/new-id.ts'
import { toTimestamp, toTimestampOrNull } from '../column.ts'
import type { Query } from '../database.ts'
import { ownedBy } from '../page.ts'
import { appendAudit } from '../registry/audit-log.ts'
import type { OperatorTransaction, Tenant } from '../transaction.ts'

type Operator = Query

/**
 * Result of an attempt and the new state of its delivery. `attempts` includes this one; `at`: end of the attempt (ms).
 */
export type AttemptOutcome = Tenant & {
  readonly deliveryId: string
  readonly endpointId: string
  readonly round: number
  readonly attempts: number
  readonly status: DeliveryStatus
  readonly dueAt: number | null
  readonly statusCode: number | null
  readonly error: string | null
  readonly durationMs: number
  /** Only the part that is stored. */
  readonly responseBody: string
  readonly at: number
}

/**
 * Write attempts and the new states of their deliveries, in one statement. If the delivery was sent again meanwhile, or
 * another worker made the same attempt, the attempt is stored but does not change the delivery. A success always marks
 * the delivery as delivered.
 */
export const recordOutcomes = async (operator: Operator, outcomes: readonly AttemptOutcome[]): Promise<void> => {
  if (outcomes.length === 0) return
  const column = <T>(read: (outcome: AttemptOutcome) => T): readonly T[] => outcomes.map(read)
  await operator(sql`
    with outcomes as materialized (
      select * from unnest(${column(one => one.accountId)}::text[], ${column(one => one.liveMode)}::boolean[],
        ${column(({ at }) => newId('webhookAttempt', at))}::text[], ${column(one => one.deliveryId)}::text[],
        ${column(one => one.endpointId)}::text[], ${column(one => one.round)}::integer[],
        ${column(one => one.attempts)}::integer[],
        ${column(one => one.status)}::text[], ${column(({ dueAt }) => toTimestampOrNull(dueAt))}::timestamptz[],
        ${column(one => one.statusCode)}::integer[], ${column(one => one.error)}::text[],
        ${column(one => one.durationMs)}::integer[],
        ${column(one => one.responseBody)}::text[], ${column(({ at }) => toTimestamp(at))}::timestamptz[])
        as m(account_id, live_mode, id, delivery_id, endpoint_id, round, attempts, status, due_at, status_code, error,
          duration_ms,
          response_body, at)
    ), inserted_attempts as (
      insert into webhook_attempts
        (account_id, live_mode, id, delivery_id, endpoint_id, status_code, error, duration_ms, response_body,
          time_created)
      select account_id, live_mode, id, delivery_id, endpoint_id, status_code, error, duration_ms, response_body, at
      from outcomes
    )
    update webhook_deliveries d set status = m.status, attempts = greatest(d.attempts, m.attempts), due_at = m.due_at,
      last_attempt_at = greatest(d.last_attempt_at, m.at)
    from outcomes m
    where d.account_id = m.account_id and d.live_mode = m.live_mode and d.id = m.delivery_id and d.round = m.round
      and (d.attempts = m.attempts - 1 or (m.status = 'DELIVERED' and d.status <> 'DELIVERED'))`)
}

/**
 * Success or first failure of an endpoint at an address in some attempts. `failedAt`: first failure after the last
 * success (ms); null if the last attempt succeeded.
 */
export type EndpointHealth = Tenant & {
  readonly endpointId: string
  readonly url: string
  readonly succeeded: boolean
  readonly failedAt: number | null
}

/** Store the instant since which endpoints have only failed. Results of an endpoint's former address are ignored. */
export const recordHealth = async (operator: Operator, endpoints: readonly EndpointHealth[]): Promise<void> => {
  if (endpoints.length === 0) return
  await operator(sql`
    update webhook_endpoints e set failing_since = case when f.succeeded then f.failed_at else coalesce(e.failing_since,
      f.failed_at) end
    from unnest(${endpoints.map(({ accountId }) => accountId)}::text[],
      ${endpoints.map(({ liveMode }) => liveMode)}::boolean[],
      ${endpoints.map(({ endpointId }) => endpointId)}::text[], ${endpoints.map(({ url }) => url)}::text[],
      ${endpoints.map(({ succeeded }) => succeeded)}::boolean[],
      ${endpoints.map(({ failedAt }) => toTimestampOrNull(failedAt))}::timestamptz[]) as f(account_id, live_mode, id,
      url, succeeded, failed_at)
    where e.account_id = f.account_id and e.live_mode = f.live_mode and e.id = f.id and e.url = f.url
      and ((f.succeeded and e.failing_since is not null) or (f.failed_at is not null and e.failing_since is null))`)
}

/**
 * Disable an enabled endpoint at an address, with an audit entry. `FAILING` requires that it has failed since
 * `failingSince` without a success. Returns true if the endpoint was disabled.
 */
export const disableEndpoint = async (
  { query }: OperatorTransaction,
  endpoint: Tenant & { readonly endpointId: string; readonly url: string },
  why: { readonly reason: Exclude<DisabledReason, 'CALLER'>; readonly failingSince: number | null },
  at: number,
): Promise<boolean> => {
  const { endpointId } = endpoint
  const { rows } = await query(sql`
    update webhook_endpoints set disabled_at = ${toTimestamp(at)}, disabled_reason = ${why.reason}
    where ${ownedBy(endpoint)} and id = ${endpointId} and url = ${endpoint.url}
      and disabled_at is null and deleted_at is null
      and (${why.reason} = 'GONE' or failing_since = ${toTimestampOrNull(why.failingSince)}::timestamptz)
    returning 1`)
  if (rows.length === 0) return false
  await appendAudit(query, endpoint, {
    actor: 'system',
    action: 'webhook_endpoint.disable',
    objectId: endpointId,
    detail: { reason: why.reason },
    at,
  })
  return true
}

const attemptRetentionMs = 30 * 86_400_000
const deliveryRetentionMs = 90 * 86_400_000

/**
 * Delete attempts older than 30 days, and finished deliveries and resends older than 90 days, the retention of events,
 * up to `limit` of each. Returns true if more may be left.
 */
export const deleteExpiredWebhooks = async (operator: Operator, at: number, limit: number): Promise<boolean> => {
  const attempts = await operator(sql`delete from webhook_attempts where ctid = any(array(
    select ctid from webhook_attempts where time_created < ${toTimestamp(at - attemptRetentionMs)} limit ${limit}))`)
  const deliveries = await operator(sql`delete from webhook_deliveries where ctid = any(array(
    select ctid from webhook_deliveries where time_created < ${toTimestamp(at - deliveryRetentionMs)} and due_at is null
      limit ${limit}))`)
  const resends = await operator(sql`delete from webhook_resends where ctid = any(array(
    select ctid from webhook_resends where time_created < ${toTimestamp(at - deliveryRetentionMs)}
      and status <> 'RUNNING' limit ${limit}))`)
  return [attempts, deliveries, resends].some(({ rowCount }) => rowCount >= limit)
}
