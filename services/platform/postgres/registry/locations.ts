import sql, { type Sql } from 'sql-template-tag'
import { noNamedObject, noObject } from '../../../domain/no-object.ts'
import { accepted, type Result, refused } from '../../../domain/refusal.ts'
import type { Location, LocationDraft } from '../../../domain/registry/location.ts'
import type { OpenInterval } from '../../../domain/tariff/tariff-change.ts'
import { newId } from '../../ids/new-id.ts'
import { instantsOfDays } from '../../time-zone.ts'
import { toTimestamp } from '../column.ts'
import { hasRow } from '../database.ts'
import { newRecostRequest, type OutboxMessage, writeRecostRequests } from '../events/outbox.ts'
import { assignmentsOf, insertOf } from '../object-table.ts'
import { allOf, isActive, mapPage, matching, ownedBy, type Page, type Paging, readPage } from '../page.ts'
import { wakePlansOfLocation } from '../plans/plan-turns.ts'
import { changeLocationCalendar } from '../pricing/location-calendar.ts'
import { writeCalendarPriceUpdates, writePriceUpdates } from '../pricing/price-events.ts'
import type { LocationKey } from '../pricing/pricing-input.ts'
import type { OperatorTransaction, TenantTransaction } from '../transaction.ts'
import { type LocationRow, locationColumns, locationFromRow, locationTable, locationToRow } from './location-row.ts'

/** A location after a change, the interval whose prices change, and its recost request; null if no price changes. */
export type LocationChange = {
  readonly location: Location
  readonly repriced: OpenInterval | null
  readonly recostRequest: OutboxMessage | null
}

const notFound = noObject('location')

/**
 * Create a location at `at` (ms).
 * Refuses `customer_not_found`, `market_source_not_found`, `calendar_not_found` and `currency_mismatch`; the constraint refuses a duplicate
 * reference_id.
 */
export const createLocation = async (
  transaction: TenantTransaction,
  draft: LocationDraft,
  at: number,
): Promise<Result<Location>> => {
  const { accountId, liveMode, query } = transaction
  const id = newId('location', at)
  await query(insertOf(locationTable, { accountId, liveMode }, id, locationToRow(draft), at))
  const checked = await checkReferences(transaction, draft)
  return checked.ok
    ? accepted({ ...draft, id, accountId, liveMode, tariffs: [], pricingRevision: 0, createdAt: at })
    : checked
}

/** Retrieve a location; null if there is none or it was deleted. */
export const retrieveLocation = async (transaction: TenantTransaction, id: string): Promise<Location | null> => {
  const { rows } = await transaction.query<LocationRow>(sql`
    select ${locationColumns} from locations where ${ownedBy(transaction)} and id = ${id} and ${isActive}`)
  return rows[0] === undefined ? null : locationFromRow(rows[0])
}

/** Retrieve a location and lock it and its tariffs until the transaction ends. */
export const lockLocation = async (transaction: TenantTransaction, id: string): Promise<Location | null> => {
  // A separate statement, because a statement that waits for a lock reads data from before the wait.
  await transaction.query(sql`select 1 from locations where ${ownedBy(transaction)} and id = ${id} for update`)
  return retrieveLocation(transaction, id)
}

/**
 * Lock the active ones of some locations of any tenant and their tariffs until the transaction of the operator ends.
 * Returns them in the order of ids.
 */
export const lockLocations = async (
  { query }: OperatorTransaction,
  keys: readonly LocationKey[],
): Promise<readonly Location[]> => {
  const named = sql`(account_id, live_mode, id) in (
    select * from unnest(${keys.map(({ accountId }) => accountId)}::text[],
      ${keys.map(({ liveMode }) => liveMode)}::boolean[], ${keys.map(({ locationId }) => locationId)}::text[]))`
  await query(sql`select 1 from locations where ${named} order by id for share`)
  const { rows } = await query<LocationRow>(sql`
    select ${locationColumns} from locations where ${named} and ${isActive} order by id`)
  return rows.map(locationFromRow)
}

/**
 * Write a location; `before` comes from `lockLocation` in the same transaction. A new zone, currency or market source
 * raises the pricing revision and requests recosts over all time; a new calendar those of its changed days. Plans are
 * applied again.
 * Refuses `currency_in_use` if tariffs exist or existed or a plan is assigned (the caller checks records),
 * `customer_not_found`, `market_source_not_found`, `calendar_not_found`, `currency_mismatch`, and a calendar that does
 * not fit the tariffs; the constraint refuses a duplicate reference_id.
 */
export const updateLocation = async (
  transaction: TenantTransaction,
  before: Location,
  draft: LocationDraft,
  at: number,
): Promise<Result<LocationChange>> => {
  const { accountId, liveMode, query } = transaction
  const { id } = before
  if (draft.currencyCode !== before.currencyCode && (await hasTariffs(transaction, id))) return currencyInUse
  const isRepriced = pricingMembers.some(member => draft[member] !== before[member])
  const calendars = { before: before.calendarId, after: draft.calendarId }
  const calendar = await changeLocationCalendar(transaction, id, calendars)
  if (!calendar.ok) return calendar
  const days = isRepriced || calendar.value === null ? null : instantsOfDays(draft.timezone, calendar.value)
  const revision = before.pricingRevision + (isRepriced || days !== null ? 1 : 0)
  await query(sql`
    update locations set ${assignmentsOf(locationTable, locationToRow(draft))}, pricing_revision = ${revision}
    where ${ownedBy(transaction)} and id = ${id}`)
  const checked = await checkReferences(transaction, draft)
  if (!checked.ok) return checked
  if (isRepriced) await writePriceUpdates(transaction, before, draft, at)
  if (calendar.value !== null) await writeCalendarPriceUpdates(transaction, id, calendar.value.tariffs, days, at)
  if (isRepriced || draft.calendarId !== before.calendarId) await wakePlansOfLocation(transaction, id, at)
  const location = { ...before, ...draft, pricingRevision: revision }
  const repriced = isRepriced ? { from: null, to: null } : days
  if (repriced === null) return accepted({ location, repriced, recostRequest: null })
  const recostRequest = newRecostRequest({ accountId, liveMode, locations: [id], revision, ...repriced })
  const [message = null] = await writeRecostRequests(query, [recostRequest], at)
  return accepted({ location, repriced, recostRequest: message })
}

const pricingMembers = ['timezone', 'currencyCode', 'importSourceId', 'exportSourceId'] as const

const currencyInUse = refused(
  'currency_in_use',
  'The currency cannot change once tariffs or records exist: create another location.',
  'currency_code',
)

const hasTariffs = (transaction: TenantTransaction, id: string): Promise<boolean> =>
  hasRow(transaction.query)(sql`
    select 1 from tariffs where ${ownedBy(transaction)} and location_id = ${id} and voided_at is null
    union all
    select 1 from plan_assignments where ${ownedBy(transaction)} and location_id = ${id} and ${isActive} limit 1`)

type FoundReferences = {
  readonly customer: boolean
  readonly import: string | null
  readonly export: string | null
  readonly calendar: boolean
}

/** Validate references after the write, because its foreign keys have waited for concurrent deletions. */
const checkReferences = async (transaction: TenantTransaction, draft: LocationDraft): Promise<Result<null>> => {
  const { customerId, importSourceId, exportSourceId, calendarId } = draft
  if ([customerId, importSourceId, exportSourceId, calendarId].every(id => id === null)) return accepted(null)
  const { rows } = await transaction.query<FoundReferences>(sql`
    select exists (select 1 from customers where ${ownedBy(transaction)} and id = ${customerId} and ${isActive})
      as customer,
      (select currency_code from market_sources where id = ${importSourceId} and ${isActive}) as import,
      (select currency_code from market_sources where id = ${exportSourceId} and ${isActive}) as export,
      exists (select 1 from calendars where id = ${calendarId} and ${isActive}) as calendar`)
  const found = rows[0]
  if (customerId !== null && found?.customer !== true) return noNamedObject('customer', 'customer_id')
  if (calendarId !== null && found?.calendar !== true) return noNamedObject('calendar', 'calendar_id')
  for (const [sourceId, currency, direction] of [
    [importSourceId, found?.import, 'import'],
    [exportSourceId, found?.export, 'export'],
  ] as const) {
    if (sourceId === null) continue
    const field = `market_sources.${direction}`
    if (currency === null || currency === undefined) return noNamedObject('market source', field)
    if (currency !== draft.currencyCode) {
      return refused(
        'currency_mismatch',
        `This market source is in ${currency}. Choose a source in ${draft.currencyCode}, the location's currency.`,
        field,
      )
    }
  }
  return accepted(null)
}

/**
 * Delete a location: the location and its charges are hidden, and its tariffs end at `at` (ms). Returns its last state.
 * Refuses `not_found`.
 * Source: docs/rules/registry.md #deletion.
 */
export const deleteLocation = async (
  transaction: TenantTransaction,
  id: string,
  at: number,
): Promise<Result<Location>> => {
  const [location] = await deleteLocationsOf(transaction, sql`id = ${id}`, at)
  return location === undefined ? notFound : accepted(location)
}

/** List locations, newest first. Refuses `cursor_not_found`. */
export const listLocations = async (
  transaction: TenantTransaction,
  filter: { readonly referenceId: string | null; readonly customerId: string | null },
  paging: Paging,
): Promise<Result<Page<Location>>> => {
  const page = await readPage<LocationRow>(
    transaction.query,
    {
      table: 'locations',
      columns: locationColumns,
      scope: ownedBy(transaction),
      filter: allOf(isActive, matching('reference_id', filter.referenceId), matching('customer_id', filter.customerId)),
    },
    paging,
  )
  return mapPage(page, locationFromRow)
}

/**
 * Delete the active locations of a condition: the locations and their charges are hidden, and their tariffs end at
 * `at` (ms). Returns their last state, oldest first. Their costs are never recalculated, so there is no recost request.
 * Source: docs/rules/registry.md #deletion.
 */
export const deleteLocationsOf = async (
  transaction: TenantTransaction,
  condition: Sql,
  at: number,
): Promise<readonly Location[]> => {
  const { query } = transaction
  const owned = ownedBy(transaction)
  // Locks are taken in the order of ids to avoid deadlocks. The next statement sees the changes that held the locks
  // before.
  const deleted = await query<{ id: string }>(sql`
    update locations set deleted_at = ${toTimestamp(at)}
    where ${owned} and id = any(array(select id from locations where ${owned} and ${condition} and ${isActive}
    order by id for no key update))
    returning id`)
  const ids = deleted.rows.map(({ id }) => id)
  if (ids.length === 0) return []
  const { rows } = await query<LocationRow>(sql`
    select ${locationColumns} from locations where ${owned} and id = any(${ids}) order by id`)
  await query(sql`update tariffs set closed_at = ${toTimestamp(at)}
    where ${owned} and location_id = any(${ids}) and closed_at is null and voided_at is null`)
  await query(sql`update charges set closed_at = ${toTimestamp(at)}
    where ${owned} and location_id = any(${ids}) and deleted_at is null`)
  await query(sql`update plan_assignments set deleted_at = ${toTimestamp(at)}
    where ${owned} and location_id = any(${ids}) and ${isActive}`)
  return rows.map(locationFromRow)
}
