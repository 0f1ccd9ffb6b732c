import type { LocationCalendar } from '../../domain/charge/location-calendar.ts'
import { specialDaysOf } from '../../domain/tariff/special-days.ts'
import { schedulesOf } from '../../domain/tariff/tariff-version.ts'
import type { Database } from '../postgres/database.ts'
import { type CalendarRevision, loadCalendars } from '../postgres/pricing/calendars.ts'
import type { LocationPricing } from '../postgres/pricing/pricing-input.ts'

/** Cached calendars by id. Locations of one calendar share its days, and so their price plans. */
export type CalendarCache = Map<string, CalendarRevision>

/** More calendars clear the cache: snapshots still reference their own. */
const maxCalendars = 1_000

const namesSpecialDays = ({ tariffs }: LocationPricing): boolean =>
  tariffs.some(tariff => schedulesOf(tariff).some(({ schedule }) => specialDaysOf(schedule).length > 0))

/** Load the calendars of locations whose tariffs name special days, unless they are cached at their revision. */
export const ensureCalendars = async (
  { operator }: Database,
  cache: CalendarCache,
  locations: readonly LocationPricing[],
): Promise<ReadonlyMap<string, LocationCalendar>> => {
  const used = locations.filter(namesSpecialDays).flatMap(({ calendar }) => (calendar === null ? [] : [calendar]))
  const isMissing = ({ id, revision }: (typeof used)[number]) => (cache.get(id)?.revision ?? -1) < revision
  const missing = [...new Set(used.filter(isMissing).map(({ id }) => id))]
  if (cache.size + missing.length > maxCalendars) cache.clear()
  const wanted = [...new Set(used.map(({ id }) => id))].filter(id => missing.includes(id) || !cache.has(id))
  for (const loaded of await loadCalendars(operator, wanted)) cache.set(loaded.id, loaded)
  return new Map(used.flatMap(({ id }) => (cache.has(id) ? [[id, (cache.get(id) as CalendarRevision).calendar]] : [])))
}
