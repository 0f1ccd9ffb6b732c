import sql from 'sql-template-tag'
import type { AccountFacts } from '../../../domain/registry/account.ts'
import { toTimestamp } from '../column.ts'
import { readRows } from '../database.ts'
import { isActive, ownedBy } from '../page.ts'
import type { TenantTransaction } from '../transaction.ts'

type Bounds = { readonly at: number; readonly endsBefore: number; readonly locations: number; readonly listed: number }

/** Read the facts of an account from its newest locations, its endpoints and its tariffs. */
export const readAccountFacts = async (
  { query, ...tenant }: TenantTransaction,
  { at, endsBefore, locations, listed }: Bounds,
): Promise<AccountFacts> => {
  const read = readRows(query)
  const owned = ownedBy(tenant)
  const zones = await read<{ timezone: string; currency: string; count: number }>(sql`
    select timezone, currency_code as currency, count(*)::int as count
    from (select timezone, currency_code from locations where ${owned} and ${isActive} order by id desc limit ${locations}) l
    group by 1, 2 order by 3 desc, 1`)
  const endpoints = await read<AccountFacts['endpoints']>(sql`
    select count(*) filter (where disabled_at is null)::int as enabled,
      count(*) filter (where disabled_at is null and failing_since is not null)::int as failing,
      count(*) filter (where disabled_at is not null)::int as disabled
    from webhook_endpoints where ${owned} and deleted_at is null`)
  const deliveries = await read<{ count: number }>(sql`
    select count(*)::int as count from (
      select from webhook_deliveries where ${owned} and (status = 'FAILED' or (status = 'PENDING' and attempts > 0))
      limit 10000) d`)
  const endingTariffs = await read<AccountFacts['endingTariffs'][number]>(sql`
    select id, location_id as "locationId", display_name as "displayName", contract_end as "contractEnd",
      (select reference_id from locations l where l.account_id = t.account_id and l.id = t.location_id) as "locationReference",
      (select display_name from locations l where l.account_id = t.account_id and l.id = t.location_id) as "locationName"
    from tariffs t where ${owned} and contract_end > ${toTimestamp(at)} and contract_end <= ${toTimestamp(endsBefore)}
      and closed_at is null and voided_at is null order by contract_end, id limit ${listed}`)
  return {
    timezone: zones[0]?.timezone ?? 'UTC',
    currencyCodes: [...new Set(zones.map(({ currency }) => currency))].sort(),
    endpoints: endpoints[0] ?? { enabled: 0, failing: 0, disabled: 0 },
    failedDeliveries: deliveries[0]?.count ?? 0,
    endingTariffs,
  }
}

/** Own reference and name of a location; null if it has none. */
export type LocationTexts = Pick<AccountFacts['endingTariffs'][number], 'locationReference' | 'locationName'>

/** Read the own references and names of locations by their ids. */
export const readLocationTexts = async (
  { query, ...tenant }: TenantTransaction,
  ids: readonly string[],
): Promise<ReadonlyMap<string, LocationTexts>> => {
  const rows = await readRows(query)<LocationTexts & { id: string }>(sql`
    select id, reference_id as "locationReference", display_name as "locationName" from locations
    where ${ownedBy(tenant)} and id = any(${ids})`)
  return new Map(rows.map(({ id, ...texts }) => [id, texts]))
}
