/** Day type of a calendar: its name without `#`, and its days as day numbers of `civil-date.ts`. */
export type DayType = { readonly name: string; readonly days: ReadonlySet<number> }

/** Public holidays and special days of a location, as day numbers of `civil-date.ts`. */
export type LocationCalendar = { readonly holidays: ReadonlySet<number>; readonly dayTypes: readonly DayType[] }
