import sql from 'sql-template-tag'
import { noObject } from '../../../domain/no-object.ts'
import type { Result } from '../../../domain/refusal.ts'
import type { Device, DeviceInput } from '../../../domain/registry/device.ts'
import { newId } from '../../ids/new-id.ts'
import { toTimestamp } from '../column.ts'
import { acceptFirst, readFirst } from '../database.ts'
import { allOf, isActive, matching, ownedBy, type Page, type Paging, readPage } from '../page.ts'
import type { TenantTransaction } from '../transaction.ts'

const columns = sql`id, account_id as "accountId", live_mode as "liveMode", reference_id as "referenceId",
  display_name as "displayName", register, metadata,
  time_created as "createdAt"`

const toJson = (value: object | null): string | null => (value === null ? null : JSON.stringify(value))

const notFound = noObject('device')

/** Create a device at `at` (ms). The constraint refuses a duplicate reference_id. */
export const createDevice = async (transaction: TenantTransaction, draft: DeviceInput, at: number): Promise<Device> => {
  const { accountId, liveMode, query } = transaction
  const id = newId('device', at)
  await query(sql`insert into devices (account_id, live_mode, id, reference_id, display_name, register, metadata, time_created)
    values (${accountId}, ${liveMode}, ${id}, ${draft.referenceId}, ${draft.displayName}, ${toJson(draft.register)},
      ${JSON.stringify(draft.metadata)}, ${toTimestamp(at)})`)
  return { id, accountId, liveMode, ...draft, createdAt: at }
}

/** Retrieve a device; null if there is none or it was deleted. */
export const retrieveDevice = (transaction: TenantTransaction, id: string): Promise<Device | null> =>
  readFirst(transaction.query)(
    sql`select ${columns} from devices where ${ownedBy(transaction)} and id = ${id} and ${isActive}`,
  )

/** Change the given members. Refuses `not_found`; the constraint refuses a duplicate reference_id. */
export const updateDevice = (
  transaction: TenantTransaction,
  id: string,
  change: Partial<DeviceInput>,
): Promise<Result<Device>> =>
  acceptFirst(
    transaction.query,
    notFound,
  )(sql`
    update devices set
      reference_id = coalesce(${change.referenceId ?? null}, reference_id),
      display_name = case when ${change.displayName !== undefined} then ${change.displayName ?? null}
        else display_name end,
      register = case when ${change.register !== undefined} then ${toJson(change.register ?? null)}::jsonb
        else register end,
      metadata = coalesce(${change.metadata === undefined ? null : JSON.stringify(change.metadata)}::jsonb, metadata)
    where ${ownedBy(transaction)} and id = ${id} and ${isActive} returning ${columns}`)

/**
 * Delete a device: the device is hidden, and its reference_id is free again. Returns its last state.
 * Refuses `not_found`.
 */
export const deleteDevice = (transaction: TenantTransaction, id: string, at: number): Promise<Result<Device>> =>
  acceptFirst(
    transaction.query,
    notFound,
  )(sql`
    update devices set deleted_at = ${toTimestamp(at)}
    where ${ownedBy(transaction)} and id = ${id} and ${isActive} returning ${columns}`)

/** List devices, newest first; only those of `ids`, if given. Refuses `cursor_not_found`. */
export const listDevices = (
  transaction: TenantTransaction,
  filter: { readonly referenceId: string | null; readonly ids?: readonly string[] | null },
  paging: Paging,
): Promise<Result<Page<Device>>> =>
  readPage(
    transaction.query,
    {
      table: 'devices',
      columns,
      scope: ownedBy(transaction),
      filter: allOf(
        isActive,
        matching('reference_id', filter.referenceId),
        filter.ids === undefined || filter.ids === null ? sql`true` : sql`id = any(${filter.ids})`,
      ),
    },
    paging,
  )

/** Return the ids that are active devices. */
export const findActiveDevices = async (
  transaction: TenantTransaction,
  ids: readonly string[],
): Promise<ReadonlySet<string>> => {
  const { rows } = await transaction.query<{ id: string }>(sql`
    select id from devices where ${ownedBy(transaction)} and id = any(${ids}) and ${isActive}`)
  return new Set(rows.map(({ id }) => id))
}
