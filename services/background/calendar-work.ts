import { locationEvent } from '../contract/registry/location-view.ts'
import { minuteMs } from '../domain/interval.ts'
import { defaultCalendarId } from '../platform/holidays/country-calendar.ts'
import type { Database } from '../platform/postgres/database.ts'
import {
  advanceCalendarFanOut,
  nextCalendarFanOut,
  recostCalendarPage,
} from '../platform/postgres/pricing/calendar-fan-outs.ts'
import { olderLocations, setDefaultCalendar } from '../platform/postgres/pricing/older-locations.ts'
import { withOperator } from '../platform/postgres/transaction.ts'
import type { LeasedWork } from '../platform/role-module.ts'

/**
 * Price the next page of locations again after a change of their calendar. One transaction writes the recost requests
 * and events of a page and moves the cursor, so that each page is done once. False if no change is waiting.
 * Source: docs/rules/calendars.md #changes.
 */
export const fanOutCalendarPage = (database: Database, at: number, limit?: number): Promise<boolean> =>
  withOperator(database, async ({ query }) => {
    const fanOut = await nextCalendarFanOut(query)
    if (fanOut === null) return false
    const { cursor } = await recostCalendarPage(query, fanOut, {
      at,
      ...(limit === undefined ? {} : { limit }),
      eventOf: location => locationEvent('location.update', location, at),
    })
    await advanceCalendarFanOut(query, fanOut, cursor)
    return true
  })

/** Locations of a page that get their calendar. */
const pageSize = 200

/**
 * Set the calendar of the country and state at a page of locations from before calendars. False if none is left.
 * Source: docs/rules/calendars.md #default.
 */
export const giveDefaultCalendars = async (database: Database, at: number): Promise<boolean> => {
  const locations = await olderLocations(database.operator, pageSize)
  for (const location of locations) {
    const calendarId = await defaultCalendarId({ database }, location.address, at)
    await setDefaultCalendar(database.operator, location, calendarId)
  }
  return locations.length === pageSize
}

/** Work on calendars: locations of changed calendars are priced again, and older locations get their calendar. */
export const calendarWork = (database: Database, at: () => number): readonly LeasedWork[] => [
  { name: 'calendar-fan-out', restMs: 1_000, turn: () => fanOutCalendarPage(database, at()) },
  { name: 'location-calendars', restMs: minuteMs, turn: () => giveDefaultCalendars(database, at()) },
]
