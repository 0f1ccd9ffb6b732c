import sql from 'sql-template-tag'
import { expect } from 'vitest'
import { type FanOutPage, fanOutPage } from '../../../services/background/price-fan-out.ts'
import type { Log } from '../../../services/platform/log/log.ts'
import { partitionKey, partitionOf } from '../../../services/platform/log/partition.ts'
import { type Lease, takeLease } from '../../../services/platform/postgres/leases.ts'
import { putMarketPrices } from '../../../services/platform/postgres/pricing/market-prices.ts'
import { createMarket } from '../../../services/platform/postgres/pricing/markets.ts'
import { termsToText } from '../../../services/platform/postgres/pricing/tariff-row.ts'
import { type Tenant, withOperator } from '../../../services/platform/postgres/transaction.ts'
import { openPartitions } from '../../support/partitions/open-partitions.ts'
import { tieredSchedule } from '../../support/registry/drafts.ts'
import { makeTenants, openTestDatabase } from '../../support/stores/postgres.ts'

export const at = 1_760_000_000_000
export const hourMs = 3_600_000
export const partitions = 2
export const stack = new AsyncDisposableStack()
export const { database } = stack.use(await openTestDatabase())
export const partitionLog = stack.use(await openPartitions(partitions))
export const { operator } = database
/** Time of the pages: hours after the change, as with a backlog. */
export const workedAt = at + 5 * hourMs
export const options = { ...partitionLog, database, at: () => workedAt }
export const tenants = await Promise.all([makeTenants(database), makeTenants(database)])

let sources = 0
export const newSource = (): Promise<string> =>
  withOperator(database, async keeper => {
    const draft = {
      displayName: `shared ${sources++}`,
      currencyCode: 'EUR',
      area: null,
      resolutionMinutes: 60,
      importer: null,
    }
    return (await createMarket(keeper, draft, at)).id
  })

export const putPrice = (sourceId: string, from: number, value: bigint) =>
  withOperator(database, keeper =>
    putMarketPrices(keeper, sourceId, [{ start: at + from * hourMs, end: at + (from + 1) * hourMs, value }]),
  )

let seeded = 0
/** Create locations on a source, each with one tariff; `change` can vary the tariff. Returns their ids. */
export const seed = async (
  { accountId, liveMode }: Tenant,
  sourceId: string,
  count: number,
  tariff: object = {},
): Promise<readonly string[]> => {
  const ids = Array.from({ length: count }, () => `loc_${(seeded++).toString(16).padStart(24, '0')}`)
  const { direction, marketRates, closedAt, voidedAt } = {
    direction: 'IMPORT',
    marketRates: true,
    closedAt: null,
    voidedAt: null,
    ...tariff,
  }
  await operator(sql`
    insert into locations (account_id, live_mode, id, timezone, currency_code, import_market_source_id,
      export_market_source_id, time_created)
    select ${accountId}, ${liveMode}, id, 'Europe/Berlin', 'EUR', ${sourceId}, ${sourceId}, now()
    from unnest(${ids}::text[]) as l(id)`)
  await operator(sql`
    insert into tariffs (account_id, live_mode, id, location_id, direction, type, connection_type, status, market_rates,
      closed_at, voided_at,
      terms, time_created)
    select ${accountId}, ${liveMode}, replace(id, 'loc_', 'trf_'), id, ${direction}, 'COMMODITY', 'MANUAL', 'CONNECTED',
      ${marketRates},
      ${closedAt}::timestamptz, ${voidedAt}::timestamptz, ${termsToText(tieredSchedule(0n))}, now()
      from unnest(${ids}::text[]) as l(id)`)
  return ids
}

let leases = 0
export const newLease = async (): Promise<Lease> => {
  const lease = await takeLease(operator, `lease ${leases++}`, 'this', 10_000)
  if (lease === null) throw new Error('no lease')
  return lease
}

/** Do pages until none is left. */
export const workAll = async (pageSize: number, using = options): Promise<readonly FanOutPage[]> => {
  const lease = await newLease()
  const pages: FanOutPage[] = []
  for (;;) {
    const page = await fanOutPage(using, lease, pageSize)
    if (page === null) return pages
    pages.push(page)
  }
}

export const eventsOf = async (ids: readonly string[]): Promise<readonly string[]> => {
  const { rows } = await operator<{ id: string }>(sql`
    select object_id as id from events where type = 'location.update' and object_id = any(${ids}) order by object_id`)
  return rows.map(({ id }) => id)
}

export const takeRequests = async () => {
  const requests = await partitionLog.takeRequests()
  for (const { partition, request } of requests) {
    for (const id of request.locationIds)
      expect(partitionOf(partitionKey(request.accountId ?? '', id), partitions)).toBe(partition)
    expect(request.locationIds.length).toBeLessThanOrEqual(500)
  }
  return requests
}

export const locationsIn = (requests: Awaited<ReturnType<typeof takeRequests>>): readonly string[] =>
  requests.flatMap(({ request }) => request.locationIds).toSorted()

/** Log with a callback before and after each append. */
export const logThat = (
  before: (count: number) => void,
  after: () => Promise<void> = async () => undefined,
): Pick<Log, 'append' | 'partitions'> => {
  let count = 0
  const append: Log['append'] = async (...message) => {
    before(++count)
    const offset = await partitionLog.log.append(...message)
    await after()
    return offset
  }
  return { append, partitions: partitionLog.log.partitions }
}
