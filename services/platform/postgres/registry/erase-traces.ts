import sql, { raw, type Sql } from 'sql-template-tag'
import { isId } from '../../../domain/identifier.ts'
import { eventTopic } from '../../log/log.ts'
import { toTimestamp } from '../column.ts'
import type { Query } from '../database.ts'
import { ownedBy } from '../page.ts'
import type { OperatorTransaction, Tenant } from '../transaction.ts'
import type { ErasedObjects } from './erasures.ts'

/** What tells rows of erased objects from others. */
type Traces = {
  readonly owned: Sql
  readonly ids: readonly string[]
  /** The ids apart from those of tariffs: what tells of a tariff names its location, or has the tariff for its object. */
  readonly owners: readonly string[]
  /** The caller's own names of the objects. */
  readonly references: readonly string[]
  /** Rows that are of the objects by their time alone, where an account goes whole. */
  readonly isOld: (time: string) => Sql
  /** Rows whose text has one of some ids in it; where an account goes whole its rows go by their time. */
  readonly names: (column: string, ids: readonly string[]) => Sql
}

/** Events are searched in pages, so that no statement runs out of its time. */
const eventsAtOnce = 2_000

/**
 * Erase what is told of objects outside their own rows: events and those on their way, what receivers answered to them, kept answers, the
 * details of audit entries, and all of Connect: sessions with what people typed, credentials, reports. Repeats change nothing.
 */
export const eraseTraces = async (
  transaction: OperatorTransaction,
  tenant: Tenant,
  objects: ErasedObjects,
): Promise<void> => {
  const { objectId, locationIds, deviceIds, otherIds, receiptsBefore } = objects
  const ids = [...new Set([objectId, ...locationIds, ...deviceIds, ...otherIds])]
  const isWhole = receiptsBefore !== null
  const traces: Traces = {
    owned: ownedBy(tenant),
    ids,
    owners: ids.filter(id => !isId('tariff', id)),
    references: isWhole ? [] : await referencesOf(transaction, tenant, ids),
    isOld: time => (isWhole ? sql`${raw(time)} <= ${toTimestamp(receiptsBefore)}` : sql`false`),
    names: (column, named) =>
      isWhole
        ? sql`false`
        : sql`exists (select from unnest(${named}::text[]) n where strpos(${raw(column)}::text, n) > 0)`,
  }
  await eraseEvents(transaction, traces)
  await eraseConnect(transaction, traces)
  const { query } = transaction
  await query(sql`
    delete from idempotency_keys
    where ${traces.owned} and (${traces.isOld('started_at')} or ${traces.names('answer', ids)})`)
  await query(sql`
    update audit_log set detail = '{}'
    where ${traces.owned} and object_id = any(${ids}) and action not like '%.erase' and detail <> '{}'`)
}

const referencesOf = async (
  { query }: OperatorTransaction,
  tenant: Tenant,
  ids: readonly string[],
): Promise<readonly string[]> => {
  const of = (table: string) => sql`
    select reference_id as reference from ${raw(table)} where ${ownedBy(tenant)} and id = any(${ids}) and reference_id is not null`
  const { rows } = await query<{
    reference: string
  }>(sql`${of('customers')} union ${of('locations')} union ${of('devices')}`)
  return rows.map(({ reference }) => reference)
}

const eraseEvents = async ({ query }: OperatorTransaction, traces: Traces): Promise<void> => {
  const { owned, ids, owners, references, isOld, names } = traces
  for (let after: string | null = ''; after !== null; ) after = await eraseEventPage(query, traces, after)
  await query(sql`
    delete from outbox
    where ${owned} and topic = ${eventTopic}
      and (payload ->> 'object_id' = any(${ids}) or ${isOld('time_created')} or ${names('payload', owners)}
        or payload ->> 'type' like '%.failed' and payload -> 'data' ->> 'reference_id' = any(${references}))`)
}

/** Give the last id of the page; null after the last page. Receivers may have said an event again in their answers. */
const eraseEventPage = async (query: Query, traces: Traces, after: string): Promise<string | null> => {
  const { owned, ids, owners, references, isOld, names } = traces
  const { rows } = await query<{ last: string | null; erased: string[] }>(sql`
    with page as (select id from events where ${owned} and id > ${after} order by id limit ${eventsAtOnce}),
    erased as (
      delete from events
      where ${owned} and id in (select id from page)
        and (object_id = any(${ids}) or ${isOld('time_created')} or ${names('data', owners)}
          or type like '%.failed' and data ->> 'reference_id' = any(${references}))
      returning id)
    select (select max(id) from page) as last, array(select id from erased) as erased`)
  const [{ last, erased } = { last: null, erased: [] }] = rows
  if (erased.length > 0)
    await query(sql`
      update webhook_attempts set response_body = ''
      where ${owned} and response_body <> '' and delivery_id in (
        select id from webhook_deliveries
        where ${owned} and endpoint_id in (select id from webhook_endpoints where ${owned}) and event_id = any(${erased}))`)
  return last
}

const eraseConnect = async (
  { query }: OperatorTransaction,
  { owned, ids, references, isOld, names }: Traces,
): Promise<void> => {
  const isOf = sql`location_id = any(${ids}) or tariff_id = any(${ids}) or ${isOld('time_created')}`
  const erased = await query<{ id: string }>(sql`
    delete from connect_sessions
    where ${owned} and (${isOf} or customer_id = any(${ids}) or ${names('request', ids)} or ${names('state', ids)} or ${names('replaced', ids)}
      or request ->> 'customerReferenceId' = any(${references}) or request ->> 'locationReferenceId' = any(${references}))
    returning id`)
  const sessionIds = erased.rows.map(({ id }) => id)
  for (const table of ['tariff_credentials', 'tariff_reports'])
    await query(sql`delete from ${raw(table)} where ${owned} and (${isOf} or session_id = any(${sessionIds}))`)
}
