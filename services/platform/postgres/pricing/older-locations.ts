import sql from 'sql-template-tag'
import { type Query, readRows } from '../database.ts'
import type { LocationKey } from './pricing-input.ts'

/** Location from before calendars, with country and state of its address; null without an address. */
export type OlderLocation = LocationKey & {
  readonly address: { readonly country_code: string; readonly state: string | null } | null
}

/** List locations that are older than calendars, of all accounts, up to `limit`. */
export const olderLocations = async (operator: Query, limit: number): Promise<readonly OlderLocation[]> => {
  const rows = await readRows(operator)<LocationKey & { readonly address: string | null }>(sql`
    select account_id as "accountId", live_mode as "liveMode", id as "locationId", postal_address as address
    from locations where needs_calendar order by id limit ${limit}`)
  return rows.map(({ address, ...key }) => ({
    ...key,
    address: address === null ? null : (JSON.parse(address) as OlderLocation['address']),
  }))
}

/** Give an older location its calendar, unless a change of the location was faster. Its tariffs name no special day. */
export const setDefaultCalendar = async (
  operator: Query,
  { accountId, liveMode, locationId }: LocationKey,
  calendarId: string | null,
): Promise<void> => {
  await operator(sql`
    update locations set calendar_id = coalesce(calendar_id, ${calendarId}), needs_calendar = false
    where account_id = ${accountId} and live_mode = ${liveMode} and id = ${locationId} and needs_calendar`)
}
