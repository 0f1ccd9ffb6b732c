import sql, { join, raw } from 'sql-template-tag'
import type { StoredEvent } from '../../../domain/event-types.ts'
import type { Result } from '../../../domain/refusal.ts'
import { newId } from '../../ids/new-id.ts'
import { eventTopic } from '../../log/log.ts'
import { toTimestamp } from '../column.ts'
import { countRows, type Query, readFirst } from '../database.ts'
import { allOf, matching, ownedBy, type Page, type Paging, readBoundedPage } from '../page.ts'
import type { TenantTransaction } from '../transaction.ts'

/** Event to write: `data` for `JSON.stringify`, or `text`, which is JSON already. */
export type EventDraft = Pick<StoredEvent, 'type' | 'objectId'> &
  ({ readonly data: unknown; readonly text?: never } | { readonly text: string | Buffer; readonly data?: never })

/** Written event: `data` is text or its bytes in UTF-8. */
type WrittenEvent = Omit<StoredEvent, 'data'> & { readonly data: string | Buffer }

const columns = sql`id, account_id as "accountId", live_mode as "liveMode", type, object_id as "objectId", data,
  time_created as "createdAt"`

const retentionMs = 90 * 86_400_000

/** Maximum bytes of the data of an event in a message. Larger data is reduced to its short members. */
const maxDataBytes = 900_000

/**
 * Data of an event in a message: all of it, or only its boolean and short text members if it is too large.
 * `/events/{id}` has all of it.
 */
const messageData = sql`case when octet_length(data::text) <= ${raw(String(maxDataBytes))} then data else (
  select json_object_agg(m.key, m.value) from (
    select key, value from json_each(data)
    where json_typeof(value) = 'boolean' or (json_typeof(value) = 'string' and length(value #>> '{}') <= 255)
    union all select 'truncated', 'true'::json
  ) as m) end`

/**
 * Each text is its own parameter: an array would have to escape it, which is slow for plans of some MB. Bytes are sent
 * unchanged.
 */
const rowOf = ({ id, type, objectId, data }: WrittenEvent) =>
  sql`(${id}::text, ${type}::text, ${objectId}::text, ${data}::text)`

/**
 * Write events in the transaction of their change, each with a message for the webhook topic. The caller changes the
 * object first and passes its new state as `data`, so that one transaction has both. Events of one object keep the
 * order of its changes, because each change first locks the object's row.
 */
export const writeEvents = async (
  transaction: TenantTransaction,
  drafts: readonly EventDraft[],
  at: number,
): Promise<readonly WrittenEvent[]> => {
  const { accountId, liveMode, query } = transaction
  const events = drafts.map(({ type, objectId, data, text }) => ({
    id: newId('event', at),
    accountId,
    liveMode,
    type,
    objectId,
    data: text ?? JSON.stringify(data),
    createdAt: at,
  }))
  if (events.length === 0) return []
  await query(sql`
    with written as (
      insert into events (account_id, live_mode, id, type, object_id, data, time_created)
      select ${accountId}, ${liveMode}, e.id, e.type, e.object_id, e.data::json, ${toTimestamp(at)}
      from (values ${join([...events.map(rowOf)])}) as e(id, type, object_id, data)
      returning id, type, object_id, data
    )
    insert into outbox (topic, key, account_id, live_mode, payload, time_created)
    select ${eventTopic}, ${`${accountId}:`}::text || coalesce(object_id, id), ${accountId}, ${liveMode},
      json_build_object('id', id, 'type', type, 'account_id', ${accountId}::text, 'live_mode', ${liveMode}::boolean,
        'object_id', object_id, 'time_created', ${at}::bigint, 'data', ${messageData}), ${toTimestamp(at)}
    from written order by id`)
  return events
}

/** Retrieve an event; null if there is none. */
export const retrieveEvent = (transaction: TenantTransaction, id: string): Promise<StoredEvent | null> =>
  readFirst(transaction.query)(sql`select ${columns} from events where ${ownedBy(transaction)} and id = ${id}`)

/** Maximum stored bytes of the data on a page. A single larger event is still returned. */
const maxPageBytes = 4 * 2 ** 20

/** Conditions of a list of events; null for no condition. [from, to) in ms. */
export type EventFilter = {
  readonly types: readonly string[] | null
  readonly objectId: string | null
  readonly from: number | null
  readonly to: number | null
}

/** List events, newest first. A page ends before its limit if its events have much data. Refuses `cursor_not_found`. */
export const listEvents = (
  transaction: TenantTransaction,
  filter: EventFilter,
  paging: Paging,
): Promise<Result<Page<StoredEvent>>> =>
  readBoundedPage(
    transaction.query,
    {
      table: 'events',
      columns,
      scope: ownedBy(transaction),
      filter: allOf(
        filter.types === null ? sql`true` : sql`type = any(${filter.types})`,
        matching('object_id', filter.objectId),
        filter.from === null ? sql`true` : sql`time_created >= ${toTimestamp(filter.from)}`,
        filter.to === null ? sql`true` : sql`time_created < ${toTimestamp(filter.to)}`,
      ),
      size: sql`pg_column_size(data)`,
      maxBytes: maxPageBytes,
    },
    paging,
  )

/**
 * Delete events that are older than 90 days at `at` (ms), up to `limit`. Returns the number of deleted events.
 * Source: docs/rules/events-and-webhooks.md #events.
 */
export const deleteExpiredEvents = (operator: Query, at: number, limit: number): Promise<number> =>
  countRows(operator)(sql`
    delete from events where ctid = any(array(select ctid from events
    where time_created < ${toTimestamp(at - retentionMs)} limit ${limit}))`)
