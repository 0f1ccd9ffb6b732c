import sql from 'sql-template-tag'
import { matchesAnyFilter, testEventType } from '../../../domain/event-types.ts'
import { idPrefixes } from '../../../domain/identifier.ts'
import type { WebhookResend } from '../../../domain/webhook/webhook-object.ts'
import { newId } from '../../ids/new-id.ts'
import { toTimestamp } from '../column.ts'
import { readFirst, readInserted } from '../database.ts'
import { ownedBy } from '../page.ts'
import type { OperatorTransaction, Tenant, TenantTransaction } from '../transaction.ts'

const columns = sql`
  id, account_id as "accountId", live_mode as "liveMode", endpoint_id as "endpointId", from_time as from, to_time as to,
  include_delivered as "includeDelivered", status, events_total as "eventsTotal", events_done as "eventsDone",
  deliveries_queued as "deliveriesQueued", time_created as "createdAt"`

/** Smallest id that an event of this instant (ms) can have. */
const firstIdAt = (at: number): string => `${idPrefixes.event}${Math.max(0, at).toString(16).padStart(12, '0')}`

/** Create a resend of an interval. Event ids ascend with time, so the interval is a range of ids. */
export const createResend = async (
  transaction: TenantTransaction,
  draft: Pick<WebhookResend, 'endpointId' | 'from' | 'to' | 'includeDelivered'>,
  at: number,
): Promise<WebhookResend> => {
  const { accountId, liveMode, query } = transaction
  const [first, end] = [firstIdAt(draft.from), firstIdAt(draft.to)]
  return readInserted(query)(sql`
    insert into webhook_resends (account_id, live_mode, id, endpoint_id, from_time, to_time, include_delivered, status,
      cursor_id, end_id, events_total, time_created)
    select ${accountId}, ${liveMode}, ${newId('webhookResend', at)}, ${draft.endpointId}, ${toTimestamp(draft.from)},
      ${toTimestamp(draft.to)}, ${draft.includeDelivered}, 'RUNNING', ${first}, ${end}, count(*), ${toTimestamp(at)}
    from events where ${ownedBy(transaction)} and id >= ${first} and id < ${end}
    returning ${columns}`)
}

/** Retrieve a resend of an endpoint; null if there is none. */
export const retrieveResend = (
  transaction: TenantTransaction,
  endpointId: string,
  id: string,
): Promise<WebhookResend | null> =>
  readFirst(transaction.query)(sql`
    select ${columns} from webhook_resends where ${ownedBy(transaction)} and endpoint_id = ${endpointId}
      and id = ${id}`)

type DueResend = Tenant & {
  readonly id: string
  readonly endpointId: string
  readonly cursorId: string
  readonly endId: string
  readonly includeDelivered: boolean
  readonly eventTypes: readonly string[]
  readonly isClosed: boolean
}

/**
 * Claim the oldest resend of an endpoint with fewer than `limit` due deliveries, so that a resend does not delay new
 * events.
 */
const claimDueResend = ({ query }: OperatorTransaction, at: number, limit: number): Promise<DueResend | null> =>
  readFirst(query)(sql`
    select r.account_id as "accountId", r.live_mode as "liveMode", r.id, r.endpoint_id as "endpointId",
      r.cursor_id as "cursorId", r.end_id as "endId", r.include_delivered as "includeDelivered",
      e.event_types as "eventTypes",
      (e.disabled_at is not null or e.deleted_at is not null) as "isClosed"
    from webhook_resends r
    join webhook_endpoints e on e.account_id = r.account_id and e.live_mode = r.live_mode and e.id = r.endpoint_id
    where r.status = 'RUNNING' and (select count(*) from (
      select 1 from webhook_deliveries d where d.endpoint_id = r.endpoint_id and d.due_at <= ${toTimestamp(at)}
        limit ${limit}) due) < ${limit}
    order by r.id limit 1 for update of r skip locked`)

/**
 * Deliveries that are due within this time in ms are left alone: they are sent soon, and a worker may be sending them.
 * Longer than the claim of a worker.
 */
const dueSoonMs = 30_000

type EventRow = { readonly id: string; readonly type: string; readonly bytes: number }

const requeueEvents = async (
  { query }: OperatorTransaction,
  { accountId, liveMode, endpointId, includeDelivered }: DueResend,
  events: readonly EventRow[],
  at: number,
): Promise<number> => {
  if (events.length === 0) return 0
  const { rows } = await query(sql`
    insert into webhook_deliveries as d (account_id, live_mode, id, endpoint_id, event_id, event_type, bytes, status,
      due_at, time_created)
    select ${accountId}, ${liveMode}, e.id, ${endpointId}, e.event_id, e.type, e.bytes, 'PENDING', ${toTimestamp(at)},
      ${toTimestamp(at)}
    from unnest(${events.map(() => newId('webhookDelivery', at))}::text[], ${events.map(({ id }) => id)}::text[],
      ${events.map(({ type }) => type)}::text[], ${events.map(({ bytes }) => bytes)}::integer[]) as e(id, event_id,
      type, bytes)
    on conflict on constraint webhook_deliveries_once do update
      set status = 'PENDING', round = d.round + 1, attempts = 0, due_at = excluded.due_at
      where d.status = 'FAILED' or (d.status = 'PENDING' and d.due_at > ${toTimestamp(at + dueSoonMs)})
        or (d.status = 'DELIVERED' and ${includeDelivered})
    returning 1`)
  return rows.length
}

/**
 * Send the next page of a resend: events that the endpoint takes and has not received, and pending retries; with
 * `includeDelivered` all events. Returns false if there was no page. A resend of a disabled or deleted endpoint stops.
 */
export const stepResend = async (transaction: OperatorTransaction, at: number, pageSize: number): Promise<boolean> => {
  const dueResend = await claimDueResend(transaction, at, pageSize)
  if (dueResend === null) return false
  const { rows } = await transaction.query<EventRow>(sql`
    select id, type, octet_length(data::text) as bytes from events
    where ${ownedBy(dueResend)} and id > ${dueResend.cursorId}
      and id < ${dueResend.endId}
    order by id limit ${pageSize}`)
  const wanted = rows.filter(({ type }) => type !== testEventType && matchesAnyFilter(dueResend.eventTypes, type))
  const queued = dueResend.isClosed ? 0 : await requeueEvents(transaction, dueResend, wanted, at)
  const status = dueResend.isClosed ? 'STOPPED' : rows.length < pageSize ? 'DONE' : 'RUNNING'
  await transaction.query(sql`
    update webhook_resends set cursor_id = ${rows.at(-1)?.id ?? dueResend.cursorId}, status = ${status},
      events_done = events_done + ${dueResend.isClosed ? 0 : rows.length},
      deliveries_queued = deliveries_queued + ${queued}
    where ${ownedBy(dueResend)} and id = ${dueResend.id}`)
  return true
}
