import sql, { raw, type Sql } from 'sql-template-tag'
import { referencePlaceholderId } from '../../ids/new-id.ts'
import { toTimestamp } from '../column.ts'
import { ownedBy } from '../page.ts'
import type { OperatorTransaction, Tenant } from '../transaction.ts'
import { eraseTraces } from './erase-traces.ts'
import type { ErasedObjects } from './erasures.ts'

/** What an id stands for, with all that goes with it: a customer's locations, a location's tariffs. Deleted objects too; null where there is none. */
export const findObjectsToErase = async (
  { query }: OperatorTransaction,
  tenant: Tenant,
  objectId: string,
  at: number,
): Promise<ErasedObjects | null> => {
  const isAccount = objectId === tenant.accountId
  const idsOf = async (table: 'locations' | 'devices' | 'customers', condition: Sql): Promise<readonly string[]> => {
    const { rows } = await query<{ id: string }>(sql`
      select id from ${raw(table)} where ${ownedBy(tenant)} and (${isAccount} or ${condition}) order by id`)
    return rows.map(({ id }) => id)
  }
  const customerIds = await idsOf('customers', sql`id = ${objectId}`)
  const locationIds = await idsOf('locations', sql`id = ${objectId} or customer_id = ${objectId}`)
  const deviceIds = await idsOf('devices', sql`id = ${objectId}`)
  if (!isAccount && customerIds.length + locationIds.length + deviceIds.length === 0) return null
  const tariffs = await query<{ id: string }>(sql`
    select id from tariffs where ${ownedBy(tenant)} and location_id = any(${locationIds}) order by id`)
  const otherIds = [...customerIds, ...tariffs.rows.map(({ id }) => id)]
  return { objectId, locationIds, deviceIds, otherIds, receiptsBefore: isAccount ? at : null }
}

/**
 * Add the ids under which failures of records are kept that named the objects by their own references before these existed. Call before
 * `eraseObjects`, while the rows tell the references.
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
 * Erase what PostgreSQL knows of objects: their rows, and their traces elsewhere. Of a location its id, zone and currency stay, because
 * its lane still needs them, until `removeErasedLocations`. Repeats change nothing.
 */
export const eraseObjects = async (
  transaction: OperatorTransaction,
  tenant: Tenant,
  objects: ErasedObjects,
  at: number,
): Promise<void> => {
  // While the rows are there: they tell by which references of the caller's own the objects go.
  await eraseTraces(transaction, tenant, objects)
  const { query } = transaction
  const { locationIds, deviceIds, otherIds } = objects
  const owned = ownedBy(tenant)
  await query(sql`
    update locations set reference_id = null, customer_id = null, postal_address = null, latitude = null, longitude = null, metadata = '{}',
      deleted_at = coalesce(deleted_at, ${toTimestamp(at)}), pricing_revision = pricing_revision + 1
    where ${owned} and id = any(${locationIds})`)
  await query(sql`delete from tariffs where ${owned} and location_id = any(${locationIds})`)
  await query(sql`delete from devices where ${owned} and id = any(${deviceIds})`)
  await query(sql`delete from customers where ${owned} and id = any(${otherIds})`)
}

/** Remove what was left of erased locations; once nothing in a lane can name them any more. */
export const removeErasedLocations = async (
  { query }: OperatorTransaction,
  tenant: Tenant,
  { locationIds }: Pick<ErasedObjects, 'locationIds'>,
): Promise<void> => {
  await query(sql`delete from locations where ${ownedBy(tenant)} and id = any(${locationIds})`)
}
