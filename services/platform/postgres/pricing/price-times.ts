import sql from 'sql-template-tag'
import { toTimestamp } from '../column.ts'
import type { Query } from '../database.ts'
import type { TenantTransaction } from '../transaction.ts'

/**
 * Tell when a location, its tariffs or its market prices last changed (ms); null for an unknown location. A change of prices is known by
 * the location's events, which are kept for 90 days.
 */
export const pricesChangedAt = async (
  { query, accountId, liveMode }: TenantTransaction,
  locationId: string,
): Promise<number | null> => {
  const { rows } = await query<{ changed: number }>(sql`
    select greatest(l.time_created,
      (select max(greatest(t.time_created, t.closed_at, t.voided_at)) from tariffs t
       where t.account_id = l.account_id and t.live_mode = l.live_mode and t.location_id = l.id),
      (select e.time_created from events e
       where e.account_id = l.account_id and e.live_mode = l.live_mode and e.object_id = l.id and e.type = 'location.update'
       order by e.id desc limit 1)) as changed
    from locations l where l.account_id = ${accountId} and l.live_mode = ${liveMode} and l.id = ${locationId}`)
  return rows[0]?.changed ?? null
}

/** Tell when the prices of a source are fetched next after `at` (ms); null where nothing fetches them, or the time has passed. */
export const nextPublication = async (operator: Query, sourceId: string, at: number): Promise<number | null> => {
  const { rows } = await operator<{ next: number }>(sql`
    select next_at as next from market_feeds where source_id = ${sourceId} and next_at > ${toTimestamp(at)}`)
  return rows[0]?.next ?? null
}
