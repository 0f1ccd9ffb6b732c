import sql, { raw } from 'sql-template-tag'
import { toTimestamp } from '../column.ts'
import { type Query, readFirst, readRows } from '../database.ts'
import { ownedBy } from '../page.ts'
import type { OperatorTransaction, Tenant } from '../transaction.ts'

/** Objects to erase, with all objects that belong to them. Instants in ms. */
export type ErasedObjects = {
  /** The named object: a customer, a location, a device, or the account itself. */
  readonly objectId: string
  readonly locationIds: readonly string[]
  readonly deviceIds: readonly string[]
  /** Customers, users, tariffs, charges and statements. */
  readonly otherIds: readonly string[]
  /** Receipts of submissions before this instant are erased too; null: only their entries of the objects. */
  readonly receiptsBefore: number | null
}

/** Mark of an erasure. The mark is valid until `until` (ms), when no late message can restore the objects. */
export type Erasure = Tenant & ErasedObjects & { readonly requestedAt: number; readonly until: number }

const columns = sql`
  account_id as "accountId", live_mode as "liveMode", object_id as "objectId", location_ids as "locationIds",
  device_ids as "deviceIds", other_ids as "otherIds", receipts_before as "receiptsBefore", asked_at as "requestedAt",
  until`

const dispatchIntervalMs = 86_400_000

/**
 * Mark objects as erased; the relay informs every partition at once. A repeated mark is merged with the one before. The
 * ids of a mark are in order.
 */
export const markErasure = async ({ query }: OperatorTransaction, erasure: Erasure): Promise<void> => {
  const { accountId, liveMode, objectId, locationIds, deviceIds, otherIds, receiptsBefore, requestedAt, until } =
    erasure
  const before = receiptsBefore === null ? null : toTimestamp(receiptsBefore)
  const inOrder = (ids: readonly string[]) => sql`array(select unnest(${ids}::text[]) order by 1)`
  const both = (name: string) =>
    sql`array(select unnest(known.${raw(name)}) union select unnest(excluded.${raw(name)}) order by 1)`
  await query(sql`
    insert into erasures as known (account_id, live_mode, object_id, location_ids, device_ids, other_ids,
      receipts_before, asked_at, until, due_at)
    values (${accountId}, ${liveMode}, ${objectId}, ${inOrder(locationIds)}, ${inOrder(deviceIds)},
      ${inOrder(otherIds)}, ${before}, ${toTimestamp(requestedAt)}, ${toTimestamp(until)}, ${toTimestamp(requestedAt)})
    on conflict (account_id, live_mode, object_id) do update set
      location_ids = ${both('location_ids')}, device_ids = ${both('device_ids')}, other_ids = ${both('other_ids')},
      receipts_before = excluded.receipts_before, asked_at = excluded.asked_at, until = excluded.until,
      due_at = excluded.due_at`)
}

/** Find the mark of an object; null if it was never erased. */
export const findErasure = (operator: Query, tenant: Tenant, objectId: string): Promise<Erasure | null> =>
  readFirst(operator)(sql`
    select ${columns} from erasures where ${ownedBy(tenant)}
      and object_id = ${objectId}`)

/** Read the valid marks of all accounts. */
export const loadErasures = (operator: Query): Promise<readonly Erasure[]> =>
  readRows(operator)(sql`select ${columns} from erasures where due_at is not null order by asked_at`)

/** Read marks that must be sent to every partition by `at` (ms). */
export const dueErasures = (operator: Query, at: number, limit: number): Promise<readonly Erasure[]> =>
  readRows(operator)(sql`
    select ${columns} from erasures where due_at <= ${toTimestamp(at)} order by due_at limit ${limit}`)

/**
 * Record that a mark was sent to every partition at `at` (ms). The mark is due again in a day, or never if it has
 * expired. A mark that was renewed meanwhile stays due.
 */
export const markErasureDispatched = async (
  { query }: OperatorTransaction,
  erasure: Erasure,
  at: number,
): Promise<void> => {
  const dueAt = at >= erasure.until ? null : toTimestamp(at + dispatchIntervalMs)
  await query(sql`
    update erasures set due_at = ${dueAt} where ${ownedBy(erasure)}
      and object_id = ${erasure.objectId} and asked_at = ${toTimestamp(erasure.requestedAt)}`)
}
