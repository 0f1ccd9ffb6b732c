import sql, { raw } from 'sql-template-tag'
import { noNamedObject, noObject } from '../../../domain/no-object.ts'
import { accepted, type Result, refused } from '../../../domain/refusal.ts'
import { specialDaysOf } from '../../../domain/tariff/special-days.ts'
import type { StoredTariff } from '../../../domain/tariff/stored-tariff.ts'
import {
  defaultTariffComponents,
  type TariffDirection,
  type TariffType,
  type TariffVersion,
} from '../../../domain/tariff/tariff.ts'
import { changedInterval, type OpenInterval, overlappingTariff } from '../../../domain/tariff/tariff-change.ts'
import { withVersion } from '../../../domain/tariff/tariff-version.ts'
import { newId } from '../../ids/new-id.ts'
import { toTimestamp, toTimestampOrNull } from '../column.ts'
import { readFirst } from '../database.ts'
import { writeEvents } from '../events/events.ts'
import { newRecostRequest, type OutboxMessage, writeRecostRequests } from '../events/outbox.ts'
import { allOf, type Listing, mapPage, matching, ownedBy, type Page, type Paging, readBoundedPage } from '../page.ts'
import { refuseManaged } from '../plans/plan-terms.ts'
import type { TenantTransaction } from '../transaction.ts'
import { holdCalendarOfLocation } from './calendars.ts'
import { refuseSpecialDays, specialDaysOfTariff } from './location-calendar.ts'
import { priceEvent } from './price-events.ts'
import {
  readTariffRows,
  type TariffDraft,
  type TariffRow,
  tariffColumns,
  tariffFromRow,
  termsToText,
  versionsToText,
} from './tariff-row.ts'

/**
 * A tariff after a change (after its end: its last state), the interval in which prices change, and the recost request
 * of the change; null if no price changes.
 */
export type TariffChange = {
  readonly tariff: StoredTariff
  readonly changed: OpenInterval | null
  readonly recostRequest: OutboxMessage | null
}

/** Change of a tariff; absent members stay unchanged. */
export type TariffPatch = {
  readonly displayName?: string | null
  readonly providerId?: string | null
  readonly contractEnd?: number | null
  /** New prices from an instant on. */
  readonly version?: TariffVersion
}

/** Limits of the versions of one tariff: their number, and the characters of all together. */
const maxVersions = 100
const maxVersionsLength = 1024 * 1024

const notFound = noObject('tariff')
const isActiveTariff = sql`closed_at is null and voided_at is null`

/**
 * Create a tariff at `at` (ms), raise the pricing revision of its location, and write the recost request.
 * Refuses `location_not_found`, `tariff_overlap` with the other tariff, `currency_mismatch`, `calendar_required`,
 * `day_type_not_found`; the constraint refuses an unknown provider.
 */
export const createTariff = async (
  transaction: TenantTransaction,
  draft: TariffDraft,
  at: number,
): Promise<Result<TariffChange>> => {
  const { accountId, liveMode, query } = transaction
  const location = await lockPricedLocation(transaction, draft.locationId)
  if (location === null) return noNamedObject('location', 'location_id')
  if (draft.marketRates) {
    const currency = draft.direction === 'EXPORT' ? location.exportCurrency : location.importCurrency
    if (currency !== location.currencyCode) return marketCurrencyRefusal(location.currencyCode, currency)
  }
  const dayRefusal = await refuseUnknownDays(transaction, draft.locationId, draft.schedule)
  if (dayRefusal !== null) return dayRefusal
  const tariff: StoredTariff = {
    ...draft,
    id: newId('tariff', at),
    accountId,
    liveMode,
    timezone: location.timezone,
    component: draft.component ?? defaultTariffComponents[draft.type],
    closedAt: null,
    planId: null,
    planVersion: null,
    createdAt: at,
  }
  const others = await tariffsOf(transaction, draft.locationId)
  const other = overlappingTariff(tariff, others)
  if (other !== undefined) return overlapRefusal(other.id, 'contract_start_date')
  const terms = termsToText(draft.schedule)
  await query(sql`
    insert into tariffs (account_id, live_mode, id, location_id, direction, type, connection_type, status, display_name,
      provider_id,
      library_tariff_id, component, market_rates, contract_start, contract_end, terms, special_days, time_created)
    values (${accountId}, ${liveMode}, ${tariff.id}, ${draft.locationId}, ${draft.direction}, ${draft.type},
      ${draft.connectionType},
      ${draft.status}, ${draft.displayName}, ${draft.providerId}, ${draft.libraryTariffId}, ${tariff.component},
      ${draft.marketRates},
      ${toTimestampOrNull(draft.contractStart)}, ${toTimestampOrNull(draft.contractEnd)}, ${terms},
      ${specialDaysOfTariff(tariff)}, ${toTimestamp(at)})
  `)
  const changed = changedInterval(null, tariff, others)
  return accepted({ tariff, changed, recostRequest: await requestRecost(transaction, tariff, changed, at) })
}

/** Refuse a schedule with special days that the calendar of a locked location does not have. */
const refuseUnknownDays = async (
  transaction: TenantTransaction,
  locationId: string,
  schedule: StoredTariff['schedule'],
): Promise<Result<never> | null> => {
  if (specialDaysOf(schedule).length === 0) return null
  const refusal = refuseSpecialDays(schedule, await holdCalendarOfLocation(transaction, locationId))
  return refusal === null ? null : { ok: false, refusal }
}

const marketCurrencyRefusal = (wanted: string, currency: string | null) =>
  refused(
    'currency_mismatch',
    currency === null
      ? `The location has no market source in ${wanted}: set its market_sources first.`
      : `The market source of the location is in ${currency}, the location in ${wanted}: choose a source in ${wanted}.`,
    'market_rates',
  )

const overlapRefusal = (otherId: string, field: 'contract_start_date' | 'contract_end_date') =>
  refused(
    'tariff_overlap',
    `Tariff ${otherId} of this location, direction and type overlaps. End that tariff first, or change the dates.`,
    field,
  )

/**
 * Change a tariff. A new contract end must not overlap another tariff; it requests recosts from the earlier of the old
 * and the new end on. A new version requests recosts from its start on.
 * Refuses `not_found`, `plan_managed`, `tariff_overlap`, `end_before_start`, `schedule_invalid` (too many or too large versions); the
 * constraint refuses an unknown provider.
 * Source: docs/rules/tariffs.md #operations, #price-versions.
 */
export const updateTariff = async (
  transaction: TenantTransaction,
  id: string,
  patch: TariffPatch,
  at: number,
): Promise<Result<TariffChange>> => {
  const found = await lockTariff(transaction, id)
  if (found === null) return notFound
  const { before, others } = found
  const managed = refuseManaged(before.planId, 'tariff')
  if (managed !== null) return managed
  const { version, ...members } = patch
  const dayRefusal =
    version === undefined ? null : await refuseUnknownDays(transaction, before.locationId, version.schedule)
  if (dayRefusal !== null) return dayRefusal
  const patched = { ...before, ...members }
  const tariff = version === undefined ? patched : withVersion(patched, version)
  const versions = versionsToText(tariff.versions ?? [])
  if ((tariff.versions ?? []).length >= maxVersions || versions.length > maxVersionsLength) return tooManyVersions
  if (tariff.contractEnd === before.contractEnd && version === undefined) {
    await writePatch(transaction, tariff, versions)
    return accepted({ tariff, changed: null, recostRequest: null })
  }
  const other = overlappingTariff(tariff, others)
  if (other !== undefined) return overlapRefusal(other.id, 'contract_end_date')
  if (tariff.contractStart !== null && tariff.contractEnd !== null && tariff.contractEnd <= tariff.contractStart) {
    return refused('end_before_start', 'contract_end_date must be after contract_start_date.', 'contract_end_date')
  }
  await writePatch(transaction, tariff, versions)
  const changed = changedInterval(before, tariff, others)
  return accepted({ tariff, changed, recostRequest: await requestRecost(transaction, tariff, changed, at) })
}

const tooManyVersions = refused(
  'schedule_invalid',
  `A tariff has at most ${maxVersions} versions of ${maxVersionsLength / 1024} KiB in all. End it and create a new tariff.`,
  'schedule',
)

const writePatch = async (transaction: TenantTransaction, tariff: StoredTariff, versions: string): Promise<void> => {
  const terms = termsToText(tariff.schedule)
  await transaction.query(sql`
    update tariffs set display_name = ${tariff.displayName}, provider_id = ${tariff.providerId},
      contract_end = ${toTimestampOrNull(tariff.contractEnd)}, terms = ${terms}, versions = ${versions},
      special_days = ${specialDaysOfTariff(tariff)}
    where ${ownedBy(transaction)} and id = ${tariff.id}`)
}

const removeTariff = async (
  transaction: TenantTransaction,
  id: string,
  how: 'closed_at' | 'voided_at',
  at: number,
): Promise<Result<TariffChange>> => {
  const found = await lockTariff(transaction, id)
  if (found === null) return notFound
  const { before, others } = found
  const managed = refuseManaged(before.planId, 'tariff')
  if (managed !== null) return managed
  await transaction.query(
    sql`update tariffs set ${raw(how)} = ${toTimestamp(at)} where ${ownedBy(transaction)} and id = ${id}`,
  )
  const changed = changedInterval(before, how === 'voided_at' ? null : { ...before, closedAt: at }, others)
  return accepted({ tariff: before, changed, recostRequest: await requestRecost(transaction, before, changed, at) })
}

/**
 * End a tariff at `at` (ms). The tariff is hidden, and costs until now stay. Returns its last state.
 * Refuses `not_found` and `plan_managed`.
 */
export const endTariff = (transaction: TenantTransaction, id: string, at: number): Promise<Result<TariffChange>> =>
  removeTariff(transaction, id, 'closed_at', at)

/**
 * Void a tariff: all costs with its prices are recalculated without it. Returns its last state. Refuses `not_found`
 * and `plan_managed`.
 */
export const voidTariff = (transaction: TenantTransaction, id: string, at: number): Promise<Result<TariffChange>> =>
  removeTariff(transaction, id, 'voided_at', at)

/** Retrieve a tariff; null if there is none or it has ended. */
export const retrieveTariff = async (transaction: TenantTransaction, id: string): Promise<StoredTariff | null> => {
  const { rows } = await transaction.query<TariffRow>(sql`
    select ${tariffColumns} from tariffs where ${ownedBy(transaction)} and id = ${id} and ${isActiveTariff}`)
  const [row] = rows
  return row === undefined ? null : tariffFromRow(row)
}

/** Conditions of a list of tariffs; null for no condition. */
type TariffFilter = {
  readonly locationId: string | null
  readonly direction: TariffDirection | null
  readonly type: TariffType | null
}

const listing = (transaction: TenantTransaction, { locationId, direction, type }: TariffFilter): Listing => ({
  table: 'tariffs',
  columns: tariffColumns,
  scope: ownedBy(transaction),
  filter: allOf(
    isActiveTariff,
    matching('location_id', locationId),
    matching('direction', direction),
    matching('type', type),
  ),
})

/** List all tariffs of a location, newest first. */
export const listTariffs = async (
  transaction: TenantTransaction,
  tariffFilter: TariffFilter & { readonly locationId: string },
): Promise<readonly StoredTariff[]> => {
  const { columns, scope, filter } = listing(transaction, tariffFilter)
  const { rows } = await transaction.query<TariffRow>(sql`
    select ${columns} from tariffs where ${scope} and ${filter} order by id desc`)
  return readTariffRows(rows, tariffFromRow, transaction.accountId)
}

/** Maximum stored bytes of the prices on a page, compressed about tenfold. A single larger tariff is still returned. */
const maxPageBytes = 2 ** 18

/**
 * List the same tariffs, each to be read after the transaction, because reading is slow. A page ends before its limit
 * if its tariffs have many prices.
 * Refuses `cursor_not_found`.
 */
export const listTariffPage = async (
  transaction: TenantTransaction,
  filter: TariffFilter,
  paging: Paging,
): Promise<Result<Page<() => StoredTariff>>> => {
  const size = sql`pg_column_size(terms) + pg_column_size(versions)`
  const bounded = { ...listing(transaction, filter), size, maxBytes: maxPageBytes }
  const page = await readBoundedPage<TariffRow>(transaction.query, bounded, paging)
  return mapPage(page, row => () => tariffFromRow(row))
}

type PricedLocation = {
  readonly timezone: string
  readonly currencyCode: string
  readonly importCurrency: string | null
  readonly exportCurrency: string | null
}

/** Lock a location and its tariffs until the transaction ends. */
const lockPricedLocation = (transaction: TenantTransaction, locationId: string): Promise<PricedLocation | null> =>
  readFirst(transaction.query)(sql`
    select timezone, currency_code as "currencyCode",
      (select currency_code from market_sources where id = import_market_source_id) as "importCurrency",
      (select currency_code from market_sources where id = export_market_source_id) as "exportCurrency"
    from locations where ${ownedBy(transaction)} and id = ${locationId} and deleted_at is null for no key update`)

/** The tariffs of a location that are not voided, ended ones included. */
const tariffsOf = async (transaction: TenantTransaction, locationId: string): Promise<readonly StoredTariff[]> => {
  const { rows } = await transaction.query<TariffRow>(sql`
    select ${tariffColumns} from tariffs where ${ownedBy(transaction)} and location_id = ${locationId}
      and voided_at is null`)
  return readTariffRows(rows, tariffFromRow, transaction.accountId)
}

type LockedTariff = { readonly before: StoredTariff; readonly others: readonly StoredTariff[] }

const lockTariff = async (transaction: TenantTransaction, id: string): Promise<LockedTariff | null> => {
  const seen = await retrieveTariff(transaction, id)
  if (seen === null || (await lockPricedLocation(transaction, seen.locationId)) === null) return null
  const tariffs = await tariffsOf(transaction, seen.locationId)
  const before = tariffs.find(tariff => tariff.id === id && tariff.closedAt === null)
  return before === undefined ? null : { before, others: tariffs.filter(tariff => tariff.id !== id) }
}

/**
 * Raise the pricing revision of a tariff's location and write the recost request of an interval; null without an
 * interval.
 */
const requestRecost = async (
  transaction: TenantTransaction,
  { locationId, direction }: StoredTariff,
  interval: OpenInterval | null,
  at: number,
): Promise<OutboxMessage | null> => {
  if (interval === null) return null
  const { accountId, liveMode, query } = transaction
  const { rows } = await query<{ revision: number }>(sql`
    update locations set pricing_revision = pricing_revision + 1
    where ${ownedBy(transaction)} and id = ${locationId} returning pricing_revision as revision`)
  if (rows[0] === undefined) throw new Error('A locked location does not exist.')
  await writeEvents(transaction, [priceEvent(transaction, { locationId, direction, ...interval })], at)
  const recostRequest = newRecostRequest({
    accountId,
    liveMode,
    locations: [locationId],
    revision: rows[0].revision,
    ...interval,
  })
  return (await writeRecostRequests(query, [recostRequest], at))[0] ?? null
}
