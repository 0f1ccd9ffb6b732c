import sql from 'sql-template-tag'
import { noObject } from '../../../domain/no-object.ts'
import type { Result } from '../../../domain/refusal.ts'
import type { Device, DeviceInput } from '../../../domain/registry/device.ts'
import { newId } from '../../ids/new-id.ts'
import { toTimestamp } from '../column.ts'
import { acceptFirst, readFirst } from '../database.ts'
import { assignmentsOf, insertOf, type ObjectTable, selectOf } from '../object-table.ts'
import { allOf, isActive, matching, ownedBy, type Page, type Paging, readPage } from '../page.ts'
import type { TenantTransaction } from '../transaction.ts'

/** Table of devices. */
export const deviceTable: ObjectTable<DeviceInput> = {
  name: 'devices',
  columns: {
    referenceId: ['reference_id', 'text'],
    displayName: ['display_name', 'text'],
    register: ['register', 'jsonb'],
    metadata: ['metadata', 'jsonb'],
  },
}

const columns = selectOf(deviceTable)

const notFound = noObject('device')

/** Create a device at `at` (ms). The constraint refuses a duplicate reference_id. */
export const createDevice = async (transaction: TenantTransaction, draft: DeviceInput, at: number): Promise<Device> => {
  const { accountId, liveMode, query } = transaction
  const id = newId('device', at)
  await query(insertOf(deviceTable, { accountId, liveMode }, id, draft, at))
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
    update devices set ${assignmentsOf(deviceTable, change)}
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
