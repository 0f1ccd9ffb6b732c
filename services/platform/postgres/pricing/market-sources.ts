import sql from 'sql-template-tag'
import type { SharedSource } from '../../../domain/market-feed/shared-sources.ts'
import type { Tenant } from '../../../domain/tenant.ts'
import { deterministicId } from '../../ids/new-id.ts'
import { toTimestamp } from '../column.ts'
import { countRows, type Query, readRows } from '../database.ts'

/** The importer of sources that public feeds can fill. */
export const publicFeeds = 'public-feeds'

/** Ids of shared sources are derived from this instant, area and currency, so every installation has the same ids. */
const sharedSourceInstant = Date.UTC(2025, 0, 1)

/** Return the id of the shared source of an area in a currency. */
export const sharedSourceId = (area: string, currencyCode: string): string =>
  deterministicId('marketSource', sharedSourceInstant, [area, currencyCode])

/**
 * Create the missing shared sources. A source that ever existed, even a deleted one, stays unchanged; so does an area
 * that has a source of the operator in that currency. Returns the number of created sources. Repeats and concurrent
 * calls change nothing.
 */
export const seedSharedSources = (operator: Query, drafts: readonly SharedSource[]): Promise<number> => {
  const rows = drafts.map(draft => ({ ...draft, id: sharedSourceId(draft.area, draft.currencyCode) }))
  return countRows(operator)(sql`
    insert into market_sources (id, account_id, live_mode, display_name, currency_code, area, resolution_minutes,
      importer, time_created)
    select d.id, null, null, d.display_name, d.currency_code, d.area, d.resolution_minutes, ${publicFeeds},
      ${toTimestamp(sharedSourceInstant)}
    from unnest(${rows.map(({ id }) => id)}::text[], ${rows.map(({ displayName }) => displayName)}::text[],
      ${rows.map(({ currencyCode }) => currencyCode)}::text[], ${rows.map(({ area }) => area)}::text[],
      ${rows.map(({ resolutionMinutes }) => resolutionMinutes)}::integer[]) as d(id, display_name, currency_code, area,
      resolution_minutes)
    where not exists (select 1 from market_sources s
      where s.account_id is null and s.deleted_at is null and s.area = d.area and s.currency_code = d.currency_code)
    on conflict do nothing`)
}

/** Shared source that older locations of its area may lack; `createdAt` in ms. */
export type UnlinkedSource = {
  readonly id: string
  readonly area: string
  readonly currencyCode: string
  readonly createdAt: number
}

/**
 * Read the shared sources whose locations are not all linked yet, in the order of ids, as `marketOfArea` prefers them.
 */
export const unlinkedSources = (operator: Query): Promise<readonly UnlinkedSource[]> =>
  readRows(operator)(sql`
    select id, area, currency_code as "currencyCode", time_created as "createdAt" from market_sources
    where account_id is null and area is not null and deleted_at is null and linked_at is null order by id`)

/** Record that all locations were checked for some sources. */
export const markLinked = async (operator: Query, ids: readonly string[], at: number): Promise<void> => {
  await operator(sql`update market_sources set linked_at = ${toTimestamp(at)} where id = any(${ids})`)
}

/** Location with an address and without a source. `address` is JSON text. */
export type SourcelessLocation = Tenant & {
  readonly id: string
  readonly currencyCode: string
  readonly address: string
}

/**
 * Page through the active locations with an address and without a source, of all accounts and both modes, after one of
 * them.
 */
export const sourcelessLocations = (
  operator: Query,
  after: Pick<SourcelessLocation, 'accountId' | 'liveMode' | 'id'> | null,
  limit: number,
): Promise<readonly SourcelessLocation[]> => {
  const { accountId, liveMode, id } = after ?? { accountId: '', liveMode: false, id: '' }
  return readRows(operator)<SourcelessLocation>(sql`
    select account_id as "accountId", live_mode as "liveMode", id, currency_code as "currencyCode",
      postal_address::text as address
    from locations
    where (account_id, live_mode, id) > (${accountId}, ${liveMode}, ${id}) and import_market_source_id is null
      and postal_address is not null and deleted_at is null
    order by account_id, live_mode, id limit ${limit}`)
}
