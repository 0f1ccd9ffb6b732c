import sql from 'sql-template-tag'
import type { LocationCalendar } from '../../../domain/charge/location-calendar.ts'
import type { Site, SiteCharge, SiteTariff } from '../../../domain/plan/decide-site.ts'
import type { PlanAssignment } from '../../../domain/plan/plan.ts'
import type { Tariff } from '../../../domain/tariff/tariff.ts'
import { timeZone } from '../../time-zone.ts'
import { isActive, ownedBy } from '../page.ts'
import { holdCalendar } from '../pricing/calendars.ts'
import type { TenantTransaction } from '../transaction.ts'

/** Location with the assignments of a plan. */
export type LoadedSite = { readonly site: Site; readonly assignments: readonly PlanAssignment[] }

type LocationRow = Pick<Site, 'locationId' | 'currencyCode' | 'importCurrency' | 'exportCurrency'> & {
  readonly timezone: string
  readonly calendarId: string | null
}

const readLocations = async (
  transaction: TenantTransaction,
  locationIds: readonly string[],
): Promise<readonly LocationRow[]> => {
  const { rows } = await transaction.query<LocationRow>(sql`
    select id as "locationId", timezone, calendar_id as "calendarId", currency_code as "currencyCode",
      (select currency_code from market_sources where id = import_market_source_id) as "importCurrency",
      (select currency_code from market_sources where id = export_market_source_id) as "exportCurrency"
    from locations where ${ownedBy(transaction)} and id = any(${locationIds}) and deleted_at is null`)
  return rows
}

type Origin = {
  readonly locationId: string
  readonly planId: string | null
  readonly assignmentId: string | null
  readonly version: number | null
  readonly key: string | null
}

type TariffRow = Omit<Tariff, 'schedule' | 'closedAt'> & Origin

const readTariffs = async (
  transaction: TenantTransaction,
  locationIds: readonly string[],
): Promise<readonly TariffRow[]> => {
  const { rows } = await transaction.query<TariffRow>(sql`
    select id, location_id as "locationId", direction, type, market_rates as "marketRates",
      contract_start as "contractStart", contract_end as "contractEnd", plan_id as "planId",
      plan_assignment_id as "assignmentId", plan_version as version, plan_key as key
    from tariffs where ${ownedBy(transaction)} and location_id = any(${locationIds})
      and closed_at is null and voided_at is null`)
  return rows
}

const siteTariff = (
  { locationId: _, planId: ofPlan, assignmentId, version, key, ...tariff }: TariffRow,
  planId: string,
): SiteTariff => ({
  tariff: { ...tariff, closedAt: null, schedule: [] },
  origin:
    ofPlan === planId && assignmentId !== null && version !== null && key !== null
      ? { assignmentId, version, key }
      : null,
})

type AssignmentRow = PlanAssignment & { readonly locationId: string }

const readAssignments = async (
  transaction: TenantTransaction,
  planId: string,
  locationIds: readonly string[],
): Promise<readonly AssignmentRow[]> => {
  const { rows } = await transaction.query<AssignmentRow>(sql`
    select id, location_id as "locationId", start_day as "startDay", end_day as "endDay"
    from plan_assignments where ${ownedBy(transaction)} and plan_id = ${planId}
      and location_id = any(${locationIds}) and deleted_at is null
    order by id`)
  return rows
}

/**
 * Load some locations for a plan, by their ids. With `mustLock`, the locations and their tariffs stay locked until the
 * transaction ends. Locks are taken in the order of ids; a caller with several pages takes them in this order too.
 * Deleted and unknown locations are absent.
 */
export const loadSites = async (
  transaction: TenantTransaction,
  planId: string,
  locationIds: readonly string[],
  { mustLock }: { readonly mustLock: boolean },
): Promise<ReadonlyMap<string, LoadedSite>> => {
  // A separate statement, because a statement that waits for a lock reads data from before the wait.
  if (mustLock)
    await transaction.query(sql`
      select 1 from locations where ${ownedBy(transaction)} and id = any(${locationIds})
      order by id for no key update`)
  const locations = await readLocations(transaction, locationIds)
  const calendars = new Map<string, LocationCalendar | null>()
  for (const id of new Set(locations.flatMap(({ calendarId }) => calendarId ?? [])))
    calendars.set(id, await holdCalendar(transaction, id))
  const tariffs = Map.groupBy(await readTariffs(transaction, locationIds), ({ locationId }) => locationId)
  const charges = await readCharges(transaction, planId, locationIds)
  const assignments = Map.groupBy(
    await readAssignments(transaction, planId, locationIds),
    ({ locationId }) => locationId,
  )
  return new Map(
    locations.map(({ timezone, calendarId, ...location }) => {
      const zone = timeZone(timezone)
      if (zone === null) throw new Error(`Location ${location.locationId} has an unknown time zone.`)
      const site: Site = {
        ...location,
        zone,
        calendar: calendarId === null ? null : (calendars.get(calendarId) ?? null),
        tariffs: (tariffs.get(location.locationId) ?? []).map(row => siteTariff(row, planId)),
        ...(charges.get(location.locationId) ?? { charges: [], otherCharges: 0 }),
      }
      return [location.locationId, { site, assignments: assignments.get(location.locationId) ?? [] }]
    }),
  )
}

type SiteCharges = Pick<Site, 'charges' | 'otherCharges'>
type ChargeRow = Origin & Pick<SiteCharge, 'id' | 'startDay' | 'endDay'>

/** Read the charges of a plan at locations, and the number of the others. */
const readCharges = async (
  transaction: TenantTransaction,
  planId: string,
  locationIds: readonly string[],
): Promise<ReadonlyMap<string, SiteCharges>> => {
  const { rows } = await transaction.query<ChargeRow>(sql`
    select id, location_id as "locationId", (terms -> 'startDay')::integer as "startDay",
      (terms -> 'endDay')::integer as "endDay", plan_id as "planId", plan_assignment_id as "assignmentId",
      plan_version as version, plan_key as key
    from charges where ${ownedBy(transaction)} and location_id = any(${locationIds}) and ${isActive}`)
  return new Map(
    [...Map.groupBy(rows, ({ locationId }) => locationId)].map(([locationId, own]) => {
      const charges = own.flatMap(({ id, startDay, endDay, planId: ofPlan, assignmentId, version, key }) =>
        ofPlan === planId && assignmentId !== null && version !== null && key !== null
          ? [{ id, startDay, endDay, assignmentId, version, key }]
          : [],
      )
      return [locationId, { charges, otherCharges: own.length - charges.length }]
    }),
  )
}
