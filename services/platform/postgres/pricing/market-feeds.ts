import sql from 'sql-template-tag'
import { toTimestamp, toTimestampOrNull } from '../column.ts'
import { type Query, readRows } from '../database.ts'
import { publicFeeds } from './market-sources.ts'
import type { LocationKey } from './pricing-input.ts'

/** State of the fetches; instants in ms. All members are null or zero before the first attempt. */
export type FeedState = {
  readonly nextAt: number | null
  readonly attemptedAt: number | null
  readonly succeededAt: number | null
  readonly feed: string | null
  readonly failures: number
  readonly failingSince: number | null
  readonly reportedAt: number | null
  readonly error: string | null
}

/**
 * Shared source that public feeds can fill, with the state of its fetches. `knownUntil`: end of its last published
 * price (ms, exclusive); `isUsed`: an active location uses its prices.
 */
export type FeedSource = FeedState & {
  readonly id: string
  readonly displayName: string
  readonly area: string
  readonly currencyCode: string
  readonly knownUntil: number | null
  readonly isUsed: boolean
}

const isUsed = sql`(exists (select 1 from locations l where l.import_market_source_id = s.id and l.deleted_at is null)
  or exists (select 1 from locations l where l.export_market_source_id = s.id and l.deleted_at is null))`

/**
 * Read the shared sources that public feeds can fill, by area and currency: all, the one with `id`, or the used ones
 * whose next fetch is due at `dueAt` (ms).
 */
export const listFeedSources = (
  operator: Query,
  filter: { readonly id?: string; readonly dueAt?: number } = {},
): Promise<readonly FeedSource[]> => {
  const { id = null, dueAt } = filter
  const due = dueAt === undefined ? sql`true` : sql`${isUsed} and coalesce(f.next_at <= ${toTimestamp(dueAt)}, true)`
  return readRows(operator)<FeedSource>(sql`
    select s.id, s.display_name as "displayName", s.area, s.currency_code as "currencyCode", ${isUsed} as "isUsed",
      (select p.end_time from market_prices p where p.source_id = s.id and p.published
      order by p.start_time desc limit 1) as "knownUntil",
      f.next_at as "nextAt", f.attempted_at as "attemptedAt", f.succeeded_at as "succeededAt", f.feed,
      coalesce(f.failures, 0) as failures,
      f.failing_since as "failingSince", f.told_at as "reportedAt", f.error
    from market_sources s left join market_feeds f on f.source_id = s.id
    where s.account_id is null and s.deleted_at is null and s.area is not null and s.importer = ${publicFeeds}
      and (${id}::text is null or s.id = ${id}) and ${due}
    order by s.area, s.currency_code`)
}

/** Write the state of a fetch. The state of outage events stays until the outage ends. */
export const writeFeedState = async (
  operator: Query,
  sourceId: string,
  state: Omit<FeedState, 'reportedAt' | 'nextAt'> & { readonly nextAt: number },
): Promise<void> => {
  const values = sql`
    ${toTimestamp(state.nextAt)}, ${toTimestampOrNull(state.attemptedAt)}, ${toTimestampOrNull(state.succeededAt)},
    ${state.feed}, ${state.failures}, ${toTimestampOrNull(state.failingSince)}, ${state.error}`
  await operator(sql`
    insert into market_feeds as f (source_id, next_at, attempted_at, succeeded_at, feed, failures, failing_since, error)
    values (${sourceId}, ${values})
    on conflict (source_id) do update set (next_at, attempted_at, succeeded_at, feed, failures, failing_since, error,
      told_at, told_cursor)
      = (select excluded.next_at, excluded.attempted_at, excluded.succeeded_at, excluded.feed, excluded.failures,
        excluded.failing_since, excluded.error, case when excluded.failing_since is null then null else f.told_at end,
        case when excluded.failing_since is null then null else f.told_cursor end)`)
}

/**
 * Outage of a source whose events are not complete. `since` in ms; `cursor`: the last location with its events (''
 * before the first).
 */
export type UnreportedOutage = { readonly sourceId: string; readonly since: number; readonly cursor: string }

/**
 * Read the outages that began at `before` (ms) or earlier, lack events, and had an attempt since `since`. A source that
 * is no longer fetched has no outage.
 */
export const unreportedOutages = (
  operator: Query,
  { before, since }: { readonly before: number; readonly since: number },
): Promise<readonly UnreportedOutage[]> =>
  readRows(operator)(sql`
    select source_id as "sourceId", failing_since as since, coalesce(told_cursor, '') as cursor from market_feeds
    where failing_since <= ${toTimestamp(before)} and told_at is null and attempted_at >= ${toTimestamp(since)}
    order by source_id`)

/**
 * Record that the tariffs of a page have their events, in the transaction of these events; after the last page the
 * outage is complete. False if the outage has ended or another process was faster: then the caller must write no
 * events.
 */
export const advanceOutage = async (
  query: Query,
  { sourceId, since, cursor }: UnreportedOutage,
  page: { readonly cursor: string; readonly isLast: boolean },
  at: number,
): Promise<boolean> => {
  const moved = await query(sql`
    update market_feeds set told_cursor = ${page.cursor}, told_at = ${page.isLast ? toTimestamp(at) : null}
    where source_id = ${sourceId} and failing_since = ${toTimestamp(since)} and told_at is null
      and coalesce(told_cursor, '') = ${cursor}`)
  return moved.rowCount === 1
}

/** Key of a tariff in any account and mode. */
export type TariffKey = LocationKey & { readonly tariffId: string }

/** Return the keys of active tariffs of some locations that follow a market source, in the order of ids. */
export const tariffsPricedBy = (
  operator: Query,
  sourceId: string,
  locations: readonly LocationKey[],
): Promise<readonly TariffKey[]> =>
  readRows(operator)(sql`
    select t.account_id as "accountId", t.live_mode as "liveMode", t.location_id as "locationId", t.id as "tariffId"
    from unnest(${locations.map(({ accountId }) => accountId)}::text[],
      ${locations.map(({ liveMode }) => liveMode)}::boolean[],
      ${locations.map(({ locationId }) => locationId)}::text[]) as k(account_id, live_mode, id)
    join locations l on l.account_id = k.account_id and l.live_mode = k.live_mode and l.id = k.id
    join tariffs t on t.account_id = l.account_id and t.live_mode = l.live_mode and t.location_id = l.id
    where t.market_rates and t.closed_at is null and t.voided_at is null
      and (t.direction = 'IMPORT' and l.import_market_source_id = ${sourceId}
        or t.direction = 'EXPORT' and l.export_market_source_id = ${sourceId})
    order by t.id`)

/**
 * Return the time of the next fetch of a source after `at` (ms); null if no feed fetches it, or the time has passed.
 */
export const nextPublication = async (operator: Query, sourceId: string, at: number): Promise<number | null> => {
  const { rows } = await operator<{ next: number }>(sql`
    select next_at as next from market_feeds where source_id = ${sourceId} and next_at > ${toTimestamp(at)}`)
  return rows[0]?.next ?? null
}
