import sql, { raw, type Sql } from 'sql-template-tag'
import { isId } from '../../../domain/identifier.ts'
import { referencePlaceholderId } from '../../ids/new-id.ts'
import { eventTopic } from '../../log/log.ts'
import { toTimestamp } from '../column.ts'
import type { Query } from '../database.ts'
import { ownedBy } from '../page.ts'
import { eraseBatches } from '../statements/erase-batches.ts'
import { eraseStatements } from '../statements/erase-statements.ts'
import type { OperatorTransaction, Tenant } from '../transaction.ts'
import type { ErasedObjects } from './erasures.ts'

/**
 * Objects to erase with an id: the locations of a customer; the tariffs, charges and statements of a location. Deleted
 * objects are included. Null if there is no object.
 */
export const findObjectsToErase = async (
  { query }: OperatorTransaction,
  tenant: Tenant,
  objectId: string,
  at: number,
): Promise<ErasedObjects | null> => {
  const isAccount = objectId === tenant.accountId
  const idsOf = async (
    table: 'locations' | 'devices' | 'customers' | 'users',
    condition: Sql,
  ): Promise<readonly string[]> => {
    const { rows } = await query<{ id: string }>(sql`
      select id from ${raw(table)} where ${ownedBy(tenant)} and (${isAccount} or ${condition}) order by id`)
    return rows.map(({ id }) => id)
  }
  const customerIds = await idsOf('customers', sql`id = ${objectId}`)
  const locationIds = await idsOf('locations', sql`id = ${objectId} or customer_id = ${objectId}`)
  const deviceIds = await idsOf('devices', sql`id = ${objectId}`)
  const userIds = await idsOf('users', sql`id = ${objectId}`)
  const found = [customerIds, locationIds, deviceIds, userIds]
  if (!isAccount && found.every(ids => ids.length === 0)) return null
  const ofLocations = (table: 'tariffs' | 'charges' | 'statements' | 'plan_assignments'): Sql =>
    sql`select id from ${raw(table)} where ${ownedBy(tenant)} and location_id = any(${locationIds})`
  const owned = await query<{ id: string }>(sql`
    ${ofLocations('tariffs')} union all ${ofLocations('charges')} union all ${ofLocations('statements')}
    union all ${ofLocations('plan_assignments')} order by id`)
  const otherIds = [...customerIds, ...userIds, ...owned.rows.map(({ id }) => id)]
  return { objectId, locationIds, deviceIds, otherIds, receiptsBefore: isAccount ? at : null }
}

/**
 * Add the ids that stand for own references in stored failures of records from before the objects existed. Call before
 * `eraseObjects`, which removes the references.
 */
export const withReferencePlaceholders = async (
  { query }: OperatorTransaction,
  tenant: Tenant,
  objects: ErasedObjects,
): Promise<ErasedObjects> => {
  const placeholdersOf = async (kind: 'location' | 'device', ids: readonly string[]): Promise<readonly string[]> => {
    const { rows } = await query<{ reference: string }>(sql`
      select reference_id as reference from ${raw(`${kind}s`)}
      where ${ownedBy(tenant)} and id = any(${ids}) and reference_id is not null`)
    return rows.map(({ reference }) => referencePlaceholderId(tenant, kind, reference))
  }
  return {
    ...objects,
    locationIds: [...objects.locationIds, ...(await placeholdersOf('location', objects.locationIds))],
    deviceIds: [...objects.deviceIds, ...(await placeholdersOf('device', objects.deviceIds))],
  }
}

/**
 * Erase objects in PostgreSQL: their rows, and their traces in other tables. The id, zone and currency of a location
 * stay for its partition, until `removeErasedLocations`. Repeats change nothing.
 */
export const eraseObjects = async (
  transaction: OperatorTransaction,
  tenant: Tenant,
  objects: ErasedObjects,
  at: number,
): Promise<void> => {
  // First, while the rows still have the own references of the objects.
  await eraseTraces(transaction, tenant, objects)
  const { query } = transaction
  const { locationIds, deviceIds, otherIds, receiptsBefore } = objects
  const owned = ownedBy(tenant)
  await query(sql`
    update locations set reference_id = null, display_name = null, customer_id = null, postal_address = null, latitude = null,
      longitude = null, calendar_id = null, metadata = '{}',
      deleted_at = coalesce(deleted_at, ${toTimestamp(at)}), pricing_revision = pricing_revision + 1
    where ${owned} and id = any(${locationIds})`)
  await query(sql`delete from plan_assignments where ${owned} and location_id = any(${locationIds})`)
  await query(sql`delete from tariffs where ${owned} and location_id = any(${locationIds})`)
  await query(sql`delete from charges where ${owned} and location_id = any(${locationIds})`)
  await eraseChargedDevices(transaction, owned, deviceIds)
  await eraseStatements(transaction, tenant, objects)
  await eraseBatches(transaction, tenant, objects)
  await query(sql`delete from devices where ${owned} and id = any(${deviceIds})`)
  await query(sql`delete from customers where ${owned} and id = any(${otherIds})`)
  await query(sql`delete from console_sessions where account_id = ${tenant.accountId} and key_id = any(${otherIds})`)
  await query(sql`delete from users where ${owned} and id = any(${otherIds})`)
  if (receiptsBefore !== null)
    await query(sql`delete from calendars where ${owned} and time_created <= ${toTimestamp(receiptsBefore)}`)
}

/** Remove devices from the charges and plans that name them. A charge without a device left counts no records. */
const eraseChargedDevices = async (
  { query }: OperatorTransaction,
  owned: Sql,
  deviceIds: readonly string[],
): Promise<void> => {
  if (deviceIds.length === 0) return
  for (const table of ['charges', 'plan_charges'])
    await query(sql`
      update ${raw(table)} set terms = jsonb_set(terms, '{deviceIds}', (
        select coalesce(jsonb_agg(d.id order by d.place), '[]')
        from jsonb_array_elements_text(terms -> 'deviceIds') with ordinality as d(id, place)
        where d.id <> all(${deviceIds})))
      where ${owned} and jsonb_typeof(terms -> 'deviceIds') = 'array' and terms -> 'deviceIds' ?| ${deviceIds}`)
}

/** Delete the rest of erased locations. Call when no message in a partition can name them any more. */
export const removeErasedLocations = async (
  { query }: OperatorTransaction,
  tenant: Tenant,
  { locationIds }: Pick<ErasedObjects, 'locationIds'>,
): Promise<void> => {
  await query(sql`delete from locations where ${ownedBy(tenant)} and id = any(${locationIds})`)
}

/** Kinds of objects that belong to one location. */
const ownedKinds = ['tariff', 'charge', 'statement'] as const

/** Conditions that select the traces of erased objects. */
type Traces = {
  readonly owned: Sql
  readonly ids: readonly string[]
  /**
   * Ids without those of tariffs, charges and statements. Their traces name their location, or have them as their
   * object.
   */
  readonly owners: readonly string[]
  /** Own references of the objects. */
  readonly references: readonly string[]
  /** Condition for rows up to the instant of the erasure, if a whole account is erased; otherwise false. */
  readonly isOld: (time: string) => Sql
  /**
   * Condition for rows whose text contains one of some ids; false if a whole account is erased, because `isOld` selects
   * its rows.
   */
  readonly names: (column: string, ids: readonly string[]) => Sql
}

/** Events per statement, so that no statement exceeds its timeout. */
const eventsAtOnce = 2_000

/**
 * Erase traces of objects in other tables: events and their messages, responses of webhook receivers, saved answers, simulations,
 * details of audit entries, and all data of Connect (sessions, credentials, reports). Repeats change nothing.
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
    owners: ids.filter(id => !ownedKinds.some(kind => isId(kind, id))),
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
    delete from exports where ${traces.owned}`)
  await query(sql`
    delete from simulations where ${traces.owned} and (${traces.isOld('time_created')} or ${traces.names('request', ids)})`)
  await query(sql`
    update audit_log set detail = '{}'
    where ${traces.owned} and detail <> '{}' and (object_id = any(${ids}) and action not like '%.erase'
      or action similar to '(charge|plan).%' and ${traces.names('detail', deviceIds)})`)
}

const referencesOf = async (
  { query }: OperatorTransaction,
  tenant: Tenant,
  ids: readonly string[],
): Promise<readonly string[]> => {
  const of = (table: string) => sql`
    select reference_id as reference from ${raw(table)}
    where ${ownedBy(tenant)} and id = any(${ids}) and reference_id is not null`
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

/**
 * Erase one page of events, and responses of receivers, which may repeat an event. Returns the last id of the page;
 * null after the last page.
 */
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
        where ${owned} and endpoint_id in (select id from webhook_endpoints
        where ${owned}) and event_id = any(${erased}))`)
  return last
}

const eraseConnect = async (
  { query }: OperatorTransaction,
  { owned, ids, references, isOld, names }: Traces,
): Promise<void> => {
  const isOf = sql`location_id = any(${ids}) or tariff_id = any(${ids}) or ${isOld('time_created')}`
  const erased = await query<{ id: string }>(sql`
    delete from connect_sessions
    where ${owned} and (${isOf} or customer_id = any(${ids}) or ${names('request', ids)} or ${names('state', ids)}
      or ${names('replaced', ids)}
      or request ->> 'customerReferenceId' = any(${references})
        or request ->> 'locationReferenceId' = any(${references}))
    returning id`)
  const sessionIds = erased.rows.map(({ id }) => id)
  for (const table of ['tariff_credentials', 'tariff_reports'])
    await query(sql`delete from ${raw(table)} where ${owned} and (${isOf} or session_id = any(${sessionIds}))`)
}
