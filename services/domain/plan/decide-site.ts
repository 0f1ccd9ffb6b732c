import type { LocationCalendar } from '../charge/location-calendar.ts'
import { writeDate } from '../civil-date.ts'
import type { TimeZone } from '../civil-time.ts'
import { accepted, type Refusal, type Result, refused } from '../refusal.ts'
import { daysOfName, meetingTypes } from '../tariff/special-days.ts'
import type { SpecialDay, Tariff, TariffDirection } from '../tariff/tariff.ts'
import { changedInterval, type OpenInterval, overlappingTariff } from '../tariff/tariff-change.ts'
import {
  compareDerived,
  type DerivedChanges,
  type DerivedCharge,
  type DerivedTariff,
  derivedCharges,
  derivedKeyText,
  derivedTariffs,
} from './derived-objects.ts'
import {
  type DerivedKey,
  type OpenDays,
  type PlanAssignment,
  type PlanVersion,
  planLimits,
  sharedDays,
  versionDays,
} from './plan.ts'

/** Active tariff of a location. `origin` is null if the plan did not create the tariff. The schedule may be empty. */
export type SiteTariff = { readonly tariff: Tariff; readonly origin: DerivedKey | null }

/** Charge of a location that the plan created. */
export type SiteCharge = DerivedKey & OpenDays & { readonly id: string }

/** Location of an assignment, with its active tariffs and the charges that the plan created. */
export type Site = {
  readonly locationId: string
  readonly zone: TimeZone
  readonly currencyCode: string
  /** Currencies of the market sources of a direction; null without a source. */
  readonly importCurrency: string | null
  readonly exportCurrency: string | null
  readonly calendar: LocationCalendar | null
  readonly tariffs: readonly SiteTariff[]
  readonly charges: readonly SiteCharge[]
  /** Number of charges of the location that the plan did not create. */
  readonly otherCharges: number
}

/** Part of a plan that decides the tariffs and charges of its locations. */
export type PlanTerms = { readonly currencyCode: string; readonly versions: readonly PlanVersion[] }

type StoredTariff = DerivedKey & { readonly tariff: Tariff }

/** Changes that apply a plan to a location. `prices`: intervals (ms) in which the prices of a direction change. */
export type SiteChanges = {
  readonly tariffs: DerivedChanges<DerivedTariff, StoredTariff>
  readonly charges: DerivedChanges<DerivedCharge, SiteCharge>
  readonly prices: readonly (OpenInterval & { readonly direction: TariffDirection })[]
}

/** Return whether a plan has nothing to change at a location. */
export const isUnchanged = ({ tariffs, charges }: SiteChanges): boolean =>
  [tariffs, charges].every(({ created, moved, removed }) => created.length + moved.length + removed.length === 0)

/** Tariff of a location as it will be. Its id is its origin until it is stored. */
const newTariff = ({ tariff, contractStart, contractEnd, ...origin }: DerivedTariff): Tariff => ({
  id: derivedKeyText(origin),
  direction: tariff.direction,
  type: tariff.type,
  marketRates: tariff.marketRates,
  contractStart,
  contractEnd,
  closedAt: null,
  schedule: [],
})

const daysText = ({ startDay, endDay }: OpenDays): string =>
  `from ${startDay === null ? 'ever' : writeDate(startDay)} to ${endDay === null ? 'an open end' : writeDate(endDay)}`

/** Return the first assignment that shares days with another one; null if there is none. */
export const overlappingAssignment = (
  assignment: PlanAssignment,
  others: readonly PlanAssignment[],
): PlanAssignment | null =>
  others.find(other => other.id !== assignment.id && sharedDays(other, assignment) !== null) ?? null

/** Refuse an assignment that shares days with another assignment of the same plan and location. */
export const refuseOverlap = (
  locationId: string,
  assignment: PlanAssignment,
  others: readonly PlanAssignment[],
): Refusal | null => {
  const other = overlappingAssignment(assignment, others)
  if (other === null) return null
  return refused(
    'tariff_overlap',
    `Location ${locationId} has this plan already, ${daysText(other)} (${other.id}): choose other dates`,
    'start_date',
  ).refusal
}

const refuseMarket = ({ tariff }: DerivedTariff, site: Site): Refusal | null => {
  if (!tariff.marketRates) return null
  const currency = tariff.direction === 'EXPORT' ? site.exportCurrency : site.importCurrency
  if (currency === site.currencyCode) return null
  const message =
    currency === null
      ? `Location ${site.locationId} has no market source in ${site.currencyCode}: set its market_sources first`
      : `The market source of location ${site.locationId} is in ${currency}: choose a source in ${site.currencyCode}`
  return refused('currency_mismatch', message, 'location_id').refusal
}

const refuseSpecialDays = (names: readonly SpecialDay[], { calendar, locationId }: Site): Refusal | null => {
  const [first] = names
  if (first === undefined) return null
  if (calendar === null) {
    const message = `The plan names ${first}, and location ${locationId} has no calendar: set its calendar_id first`
    return refused('calendar_required', message, 'location_id').refusal
  }
  const unknown = names.find(name => daysOfName(calendar, name) === undefined)
  if (unknown === undefined) return null
  const message = `The calendar of location ${locationId} has no day type ${unknown}: add it to the calendar`
  return refused('day_type_not_found', message, 'location_id').refusal
}

/** Refuse a schedule that names two day types with a common day, because its bands could have equal rank there. */
const refuseMeetingTypes = (
  schedules: readonly (readonly SpecialDay[])[],
  { calendar, locationId }: Site,
): Refusal | null => {
  if (calendar === null) return null
  const meeting = schedules.map(names => meetingTypes(names, calendar)).find(types => types !== undefined)
  if (meeting === undefined) return null
  const message = `The plan names ${meeting.join(' and ')}, and the calendar of location ${locationId} has a day of both: change the calendar`
  return refused('schedule_overlap', message, 'location_id').refusal
}

const refuseConflict = (
  { tariffs: { created, moved } }: Pick<SiteChanges, 'tariffs'>,
  kept: readonly Tariff[],
  { locationId }: Site,
): Refusal | null => {
  for (const changed of [...created, ...moved.map(({ after }) => after)]) {
    const tariff = newTariff(changed)
    const other = overlappingTariff(tariff, kept)
    if (other !== undefined) {
      const kind = `${tariff.direction} ${tariff.type}`
      const message = `Tariff ${other.id} of location ${locationId} (${kind}) overlaps: end that tariff, or change the dates`
      return refused('tariff_overlap', message, 'start_date').refusal
    }
  }
  return null
}

const refuseCharges = ({ charges }: Pick<SiteChanges, 'charges'>, site: Site): Refusal | null => {
  const count = site.otherCharges + site.charges.length + charges.created.length - charges.removed.length
  if (charges.created.length === 0 || count <= planLimits.charges) return null
  const message = `Location ${site.locationId} would have ${count} charges: at most ${planLimits.charges} are allowed`
  return refused('charge_invalid', message, 'location_id').refusal
}

const refuseAssignments = (
  { tariffs }: Pick<SiteChanges, 'tariffs'>,
  assignments: readonly PlanAssignment[],
  { locationId, tariffs: before }: Site,
): Refusal | null => {
  const { assignmentsPerSite, tariffsPerSite } = planLimits
  const count = before.length + tariffs.created.length - tariffs.removed.length
  const isRefused = tariffs.created.length > 0 && count > tariffsPerSite
  if (assignments.length <= assignmentsPerSite && !isRefused) return null
  const [found, max] = isRefused
    ? [`${count} tariffs`, tariffsPerSite]
    : [`${assignments.length} assignments of this plan`, assignmentsPerSite]
  const message = `Location ${locationId} would have ${found}: at most ${max} are allowed. Delete assignments of earlier days`
  return refused('too_many_assignments', message, 'location_id').refusal
}

const infinite = Number.POSITIVE_INFINITY

/** Return the interval of each direction in which its prices change: from the first change to the last one. */
const changedPrices = (
  { created, moved, removed }: SiteChanges['tariffs'],
  kept: readonly Tariff[],
): SiteChanges['prices'] => {
  const after = [...created.map(newTariff), ...moved.map(one => newTariff(one.after)), ...kept]
  const changes = [
    ...created.map(one => ({ before: null, tariff: newTariff(one) })),
    ...moved.map(one => ({ before: { ...one.before.tariff, schedule: [] }, tariff: newTariff(one.after) })),
    ...removed.map(one => ({ before: one.tariff, tariff: null })),
  ]
  const byDirection = new Map<TariffDirection, { from: number; to: number }>()
  for (const { before, tariff } of changes) {
    const changed = tariff ?? before
    if (changed === null) continue
    const interval = changedInterval(
      before === null || tariff === null ? before : { ...before, id: tariff.id, versions: [] },
      tariff,
      after,
    )
    if (interval === null) continue
    const known = byDirection.get(changed.direction) ?? { from: infinite, to: -infinite }
    byDirection.set(changed.direction, {
      from: Math.min(known.from, interval.from ?? -infinite),
      to: Math.max(known.to, interval.to ?? infinite),
    })
  }
  return [...byDirection].map(([direction, { from, to }]) => ({
    direction,
    from: Number.isFinite(from) ? from : null,
    to: Number.isFinite(to) ? to : null,
  }))
}

/**
 * Decide the changes that apply a plan to a location for its assignments there, which do not overlap. Without an
 * assignment, all tariffs and charges of the plan are removed.
 * Refuses `currency_mismatch`, `calendar_required`, `day_type_not_found`, `schedule_overlap` of day types,
 * `tariff_overlap` with the other tariff, `charge_invalid` for too many charges, `too_many_assignments`.
 * Source: docs/rules/plans.md #derived-tariffs-and-charges.
 */
export const decideSite = (
  { currencyCode, versions }: PlanTerms,
  assignments: readonly PlanAssignment[],
  site: Site,
): Result<SiteChanges> => {
  if (assignments.length > 0 && site.currencyCode !== currencyCode) {
    const message = `The plan is in ${currencyCode}, and location ${site.locationId} in ${site.currencyCode}`
    return refused('currency_mismatch', `${message}: use a plan in ${site.currencyCode}`, 'location_id')
  }
  const stored = site.tariffs.flatMap(({ tariff, origin }) => (origin === null ? [] : [{ ...origin, tariff }]))
  const ofDays = versionDays(versions)
  const tariffs = compareDerived(
    assignments.flatMap(assignment => derivedTariffs(ofDays, assignment, site.zone)),
    stored,
    (required, { tariff }) =>
      required.contractStart === tariff.contractStart && required.contractEnd === tariff.contractEnd,
  )
  const charges = compareDerived(
    assignments.flatMap(assignment => derivedCharges(ofDays, assignment)),
    site.charges,
    (required, one) => required.startDay === one.startDay && required.endDay === one.endDay,
  )
  const changing = new Set([...tariffs.moved.map(one => one.before), ...tariffs.removed].map(one => one.tariff.id))
  const kept = site.tariffs.map(({ tariff }) => tariff).filter(({ id }) => !changing.has(id))
  const names = [...tariffs.created.map(one => one.tariff), ...charges.created.map(one => one.charge)]
  const refusal =
    refuseAssignments({ tariffs }, assignments, site) ??
    tariffs.created.map(one => refuseMarket(one, site)).find(one => one !== null) ??
    refuseSpecialDays([...new Set(names.flatMap(({ specialDays }) => specialDays))], site) ??
    refuseMeetingTypes(
      [
        ...tariffs.created.map(one => one.tariff),
        ...charges.created.map(one => one.charge).filter(one => one.hasSchedule),
      ].map(({ specialDays }) => specialDays),
      site,
    ) ??
    refuseConflict({ tariffs }, kept, site) ??
    refuseCharges({ charges }, site)
  if (refusal !== null) return { ok: false, refusal }
  return accepted({ tariffs, charges, prices: changedPrices(tariffs, kept) })
}
