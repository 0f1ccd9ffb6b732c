import { locationEvent } from '../contract/registry/location-view.ts'
import type { Database } from '../platform/postgres/database.ts'
import {
  advanceCalendarFanOut,
  nextCalendarFanOut,
  recostCalendarPage,
} from '../platform/postgres/pricing/calendar-fan-outs.ts'
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

/** Work that prices the locations of changed calendars again, page by page. */
export const calendarFanOut = (database: Database, at: () => number): LeasedWork => ({
  name: 'calendar-fan-out',
  restMs: 1_000,
  turn: () => fanOutCalendarPage(database, at()),
})
