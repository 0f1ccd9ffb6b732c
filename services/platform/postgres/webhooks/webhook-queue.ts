import sql from 'sql-template-tag'
import type { SigningSecret } from '../../../domain/webhook/secret-rotation.ts'
import { newId } from '../../ids/new-id.ts'
import { toTimestamp } from '../column.ts'
import { type Query, readRows } from '../database.ts'
import type { Tenant } from '../transaction.ts'

type Operator = Query

/** Endpoint that takes events. Events with a higher number in the outbox than `outboxId` came after its creation. */
export type EndpointSubscription = Tenant & {
  readonly endpointId: string
  readonly eventTypes: readonly string[]
  readonly outboxId: number
  readonly createdAt: number
}

/** Read the endpoints of some tenants that are neither deleted nor disabled. */
export const readSubscriptions = (
  operator: Operator,
  tenants: readonly Tenant[],
): Promise<readonly EndpointSubscription[]> =>
  readRows(operator)(sql`
    select e.account_id as "accountId", e.live_mode as "liveMode", e.id as "endpointId", e.event_types as "eventTypes",
      e.outbox_id as "outboxId", e.time_created as "createdAt"
    from unnest(${tenants.map(({ accountId }) => accountId)}::text[],
      ${tenants.map(({ liveMode }) => liveMode)}::boolean[]) as t(account_id, live_mode)
    join webhook_endpoints e on e.account_id = t.account_id and e.live_mode = t.live_mode
    where e.deleted_at is null and e.disabled_at is null`)

/** Event to deliver to an endpoint; `bytes`: approximate size of the request. */
export type DeliveryDraft = Tenant & {
  readonly endpointId: string
  readonly eventId: string
  readonly eventType: string
  readonly bytes: number
}

/**
 * Write deliveries in the given order, due at once. An existing delivery of the same event and endpoint stays
 * unchanged.
 */
export const insertDeliveries = async (
  operator: Operator,
  drafts: readonly DeliveryDraft[],
  at: number,
): Promise<void> => {
  if (drafts.length === 0) return
  await operator(sql`
    insert into webhook_deliveries (account_id, live_mode, id, endpoint_id, event_id, event_type, bytes, status, due_at,
      time_created)
    select d.*, 'PENDING', ${toTimestamp(at)}, ${toTimestamp(at)} from unnest(
      ${drafts.map(({ accountId }) => accountId)}::text[], ${drafts.map(({ liveMode }) => liveMode)}::boolean[],
      ${drafts.map(() => newId('webhookDelivery', at))}::text[], ${drafts.map(({ endpointId }) => endpointId)}::text[],
      ${drafts.map(({ eventId }) => eventId)}::text[], ${drafts.map(({ eventType }) => eventType)}::text[],
      ${drafts.map(({ bytes }) => bytes)}::integer[]) as d
    on conflict on constraint webhook_deliveries_once do nothing`)
}

/**
 * Read the endpoints that have deliveries due at `at` (ms). The query steps from endpoint to endpoint, so that a long
 * backlog of one endpoint costs nothing.
 */
export const readDueEndpoints = async (operator: Operator, at: number): Promise<readonly string[]> => {
  const { rows } = await operator<{ endpoint_id: string }>(sql`
    with recursive waiting as (
      (select endpoint_id, due_at from webhook_deliveries where due_at is not null order by endpoint_id, due_at limit 1)
      union all
      select next.endpoint_id, next.due_at from waiting cross join lateral (
        select d.endpoint_id, d.due_at from webhook_deliveries d
        where d.due_at is not null and d.endpoint_id > waiting.endpoint_id
        order by d.endpoint_id, d.due_at limit 1) next
    )
    select endpoint_id from waiting where due_at <= ${toTimestamp(at)}`)
  return rows.map(row => row.endpoint_id)
}

/** Delivery that this worker may attempt until the claim ends. `data` null: the event is no longer stored. */
export type DeliveryClaim = Tenant & {
  readonly id: string
  readonly endpointId: string
  readonly eventId: string
  readonly eventType: string
  readonly bytes: number
  readonly round: number
  /** Number of attempts before this one. */
  readonly attempts: number
  readonly data: string | null
  readonly eventCreatedAt: number | null
  readonly url: string
  readonly apiVersion: 'current' | 'earlier'
  /** Sealed, newest first. */
  readonly secrets: readonly SigningSecret<string>[]
  readonly failingSince: number | null
  /** The endpoint was disabled or deleted. */
  readonly isClosed: boolean
}

/**
 * Claim deliveries that are due at `at` (ms) until `leaseUntil`, oldest first: of each endpoint up to its capacity, of
 * all together about `bytes`. Deliveries that another worker is claiming are skipped.
 */
export const claimDeliveries = (
  operator: Operator,
  capacities: readonly { readonly endpointId: string; readonly capacity: number }[],
  { at, leaseUntil, bytes }: { readonly at: number; readonly leaseUntil: number; readonly bytes: number },
): Promise<readonly DeliveryClaim[]> =>
  readRows(operator)(sql`
    with endpoints as (
      select * from unnest(${capacities.map(({ endpointId }) => endpointId)}::text[],
        ${capacities.map(({ capacity }) => capacity)}::integer[]) as e(endpoint_id, capacity)
    ), due as materialized (
      select d.* from endpoints e cross join lateral (
        select account_id, live_mode, id, due_at, bytes from webhook_deliveries
        where endpoint_id = e.endpoint_id and due_at <= ${toTimestamp(at)} order by due_at, id limit e.capacity
        for update skip locked) d
    ), fitting as (
      select *, sum(bytes) over (order by due_at, id) - bytes as before from due
    ), claimed as (
      update webhook_deliveries d set due_at = ${toTimestamp(leaseUntil)} from fitting f
      where d.account_id = f.account_id and d.live_mode = f.live_mode and d.id = f.id and f.before <= ${bytes}
      returning d.account_id, d.live_mode, d.id, d.endpoint_id, d.event_id, d.event_type, d.bytes, d.round, d.attempts,
        f.due_at as was_due_at
    )
    select c.account_id as "accountId", c.live_mode as "liveMode", c.id, c.endpoint_id as "endpointId",
      c.event_id as "eventId",
      c.event_type as "eventType", c.bytes, c.round, c.attempts, v.data, v.time_created as "eventCreatedAt", e.url,
      e.layout as "apiVersion", e.secrets,
      e.failing_since as "failingSince", (e.disabled_at is not null or e.deleted_at is not null) as "isClosed"
    from claimed c
    join webhook_endpoints e on e.account_id = c.account_id and e.live_mode = c.live_mode and e.id = c.endpoint_id
    left join events v on v.account_id = c.account_id and v.live_mode = c.live_mode and v.id = c.event_id
    order by c.was_due_at, c.id`)

/** Mark pending deliveries of disabled or deleted endpoints as failed, up to `limit`. */
export const closeDeliveries = async (
  operator: Operator,
  endpointIds: readonly string[],
  limit: number,
): Promise<void> => {
  await operator(sql`
    update webhook_deliveries set status = 'FAILED', due_at = null where ctid = any(array(
      select d.ctid from webhook_deliveries d
      join webhook_endpoints e on e.account_id = d.account_id and e.live_mode = d.live_mode and e.id = d.endpoint_id
      where d.endpoint_id = any(${endpointIds}::text[]) and d.due_at is not null and (e.disabled_at is not null
        or e.deleted_at is not null)
      limit ${limit} for update of d skip locked))`)
}
