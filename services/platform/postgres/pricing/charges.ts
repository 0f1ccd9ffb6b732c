import sql from 'sql-template-tag'
import type { ChargeTerms, StoredCharge } from '../../../domain/charge/charge.ts'
import { validateCharge, validateChargeDays } from '../../../domain/charge/validate-charge.ts'
import { noNamedObject, noObject } from '../../../domain/no-object.ts'
import { accepted, type Result, refused } from '../../../domain/refusal.ts'
import { newId } from '../../ids/new-id.ts'
import { toTimestamp } from '../column.ts'
import { hasRow, readFirst } from '../database.ts'
import { allOf, isActive, mapPage, matching, ownedBy, type Page, type Paging, readBoundedPage } from '../page.ts'
import { refuseManaged } from '../plans/plan-terms.ts'
import { findActiveDevices } from '../registry/devices.ts'
import type { TenantTransaction } from '../transaction.ts'
import { holdCalendarOfLocation } from './calendars.ts'
import { type ChargeRow, chargeColumns, chargeFromRow, chargeTermsToRow } from './charge-row.ts'
import { readTariffRows } from './tariff-row.ts'

/** Limits of the charges of a location: their number, and the characters of their schedules. */
const maxCharges = 200
const maxScheduleLength = 4 * 1024 * 1024

/** New charge of a location. `planId` and `planVersion` null: the charge belongs to no plan. */
export type ChargeDraft = Pick<StoredCharge, 'locationId' | 'planId' | 'terms'> & {
  readonly planVersion: number | null
}

/** Members that a PATCH changes; absent members stay unchanged. */
export type ChargePatch = Partial<Pick<ChargeTerms, 'name' | 'component' | 'startDay' | 'endDay'>>

/** The charges of a deleted location are hidden. */
const isVisible = sql`deleted_at is null and closed_at is null`

const notFound = noObject('charge')

/**
 * Create a charge at `at` (ms). Concurrent requests for one location wait for each other.
 * Refuses `location_not_found`, `device_not_found`, the days that `validateChargeDays` refuses, and `charge_invalid`
 * for too many or too large charges.
 */
export const createCharge = async (
  transaction: TenantTransaction,
  draft: ChargeDraft,
  at: number,
): Promise<Result<StoredCharge>> => {
  const { accountId, liveMode, query } = transaction
  const { locationId, planId, planVersion, terms } = draft
  if (!(await lockLocation(transaction, locationId))) return noNamedObject('location', 'location_id')
  const missing = await findMissingDevice(transaction, terms)
  if (missing !== null) return missing
  const calendar = await holdCalendarOfLocation(transaction, locationId)
  const dayRefusal = validateChargeDays(terms, calendar)
  if (dayRefusal !== null) return { ok: false, refusal: dayRefusal }
  const row = chargeTermsToRow(terms)
  const excess = await findExcess(transaction, locationId, row.schedule)
  if (excess !== null) return excess
  const id = newId('charge', at)
  await query(sql`
    insert into charges (account_id, live_mode, id, location_id, plan_id, plan_version, terms, schedule, time_created)
    values (${accountId}, ${liveMode}, ${id}, ${locationId}, ${planId}, ${planVersion}, ${row.terms}, ${row.schedule},
      ${toTimestamp(at)})`)
  return accepted({ id, accountId, liveMode, locationId, planId, terms, createdAt: at })
}

/** Lock an active location, so that its charges are counted one after the other. Returns false if there is none. */
const lockLocation = (transaction: TenantTransaction, id: string): Promise<boolean> =>
  hasRow(transaction.query)(sql`
    select 1 from locations where ${ownedBy(transaction)} and id = ${id} and ${isActive} for no key update`)

/** Refuse the first device of a charge that does not exist. */
export const findMissingDevice = async (
  transaction: TenantTransaction,
  terms: ChargeTerms,
): Promise<Result<never> | null> => {
  const ids = ('deviceIds' in terms ? terms.deviceIds : null) ?? []
  if (ids.length === 0) return null
  const found = await findActiveDevices(transaction, ids)
  const index = ids.findIndex(id => !found.has(id))
  return index < 0 ? null : noNamedObject('device', `device_ids[${index}]`)
}

/** Refuse a further charge of a location if it has too many, or if their schedules are too large. */
const findExcess = async (
  transaction: TenantTransaction,
  locationId: string,
  schedule: string | null,
): Promise<Result<never> | null> => {
  const stored = await readFirst(transaction.query)<{ charges: number; length: number }>(sql`
    select count(*) as charges, coalesce(sum(length(schedule::text)), 0)::bigint as length from charges
    where ${ownedBy(transaction)} and location_id = ${locationId} and ${isVisible}`)
  const { charges, length } = stored ?? { charges: 0, length: 0 }
  if (charges >= maxCharges) {
    const message = `A location has at most ${maxCharges} charges. Delete one that is not needed.`
    return refused('charge_invalid', message, 'location_id')
  }
  if (schedule === null || length + schedule.length <= maxScheduleLength) return null
  const message = `The schedules of the charges of a location have at most ${maxScheduleLength / 1024 ** 2} MiB in all. Use a shorter one.`
  return refused('charge_invalid', message, 'schedule')
}

/** Retrieve a charge; null if there is none or it was deleted. */
export const retrieveCharge = (transaction: TenantTransaction, id: string): Promise<StoredCharge | null> =>
  findCharge(transaction, id, sql``)

const findCharge = async (
  transaction: TenantTransaction,
  id: string,
  lock: ReturnType<typeof sql>,
): Promise<StoredCharge | null> => {
  const row = await readFirst(transaction.query)<ChargeRow>(sql`
    select ${chargeColumns} from charges where ${ownedBy(transaction)} and id = ${id} and ${isVisible} ${lock}`)
  return row === null ? null : chargeFromRow(row)
}

/** Retrieve a charge and lock it until the transaction ends. */
export const lockCharge = (transaction: TenantTransaction, id: string): Promise<StoredCharge | null> =>
  findCharge(transaction, id, sql`for update`)

/** Change a charge from `lockCharge` of the same transaction. Refuses `plan_managed` and `end_before_start`. */
export const updateCharge = async (
  transaction: TenantTransaction,
  before: StoredCharge,
  patch: ChargePatch,
): Promise<Result<StoredCharge>> => {
  const managed = refuseManaged(before.planId, 'charge')
  if (managed !== null) return managed
  const terms = { ...before.terms, ...patch }
  const refusal = validateCharge(terms)
  if (refusal !== null) return { ok: false, refusal }
  const row = chargeTermsToRow(terms)
  await transaction.query(sql`
    update charges set terms = ${row.terms} where ${ownedBy(transaction)} and id = ${before.id}`)
  return accepted({ ...before, terms })
}

/** Delete a charge: it never was. Returns its last state. Refuses `not_found` and `plan_managed`. */
export const deleteCharge = async (
  transaction: TenantTransaction,
  id: string,
  at: number,
): Promise<Result<StoredCharge>> => {
  const before = await lockCharge(transaction, id)
  if (before === null) return notFound
  const managed = refuseManaged(before.planId, 'charge')
  if (managed !== null) return managed
  await transaction.query(sql`
    update charges set deleted_at = ${toTimestamp(at)} where ${ownedBy(transaction)} and id = ${id}`)
  return accepted(before)
}

/**
 * Return the charges of locations, also of deleted ones, by location. The charges of a location are in the order of
 * their creation.
 */
export const chargesOf = async (
  transaction: TenantTransaction,
  locationIds: readonly string[],
): Promise<ReadonlyMap<string, readonly StoredCharge[]>> => {
  const { rows } = await transaction.query<ChargeRow>(sql`
    select ${chargeColumns} from charges
    where ${ownedBy(transaction)} and location_id = any(${locationIds}) and ${isActive} order by id`)
  const charges = await readTariffRows(rows, chargeFromRow, transaction.accountId)
  return Map.groupBy(charges, ({ locationId }) => locationId)
}

/** Maximum stored bytes of the schedules on a page. A single larger charge is still returned. */
const maxPageBytes = 2 ** 18

/**
 * List charges, newest first, each to be read after the transaction. A page ends before its limit if its charges have
 * large schedules. Refuses `cursor_not_found`.
 */
export const listChargePage = async (
  transaction: TenantTransaction,
  { locationId }: { readonly locationId: string | null },
  paging: Paging,
): Promise<Result<Page<() => StoredCharge>>> => {
  const listing = {
    table: 'charges',
    columns: chargeColumns,
    scope: ownedBy(transaction),
    filter: allOf(isVisible, matching('location_id', locationId)),
    size: sql`pg_column_size(terms) + coalesce(pg_column_size(schedule), 0)`,
    maxBytes: maxPageBytes,
  }
  const page = await readBoundedPage<ChargeRow>(transaction.query, listing, paging)
  return mapPage(page, row => () => chargeFromRow(row))
}
