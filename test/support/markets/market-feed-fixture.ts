import sql from 'sql-template-tag'
import { fetchSource, type MarketFetchOptions } from '../../../services/background/market-feeds/fetch-feed.ts'
import { sharedSources } from '../../../services/domain/market-feed/shared-sources.ts'
import type { FeedConfig } from '../../../services/platform/config/feed-config.ts'
import { type FeedSource, listFeedSources } from '../../../services/platform/postgres/pricing/market-feeds.ts'
import { readMarketPrices } from '../../../services/platform/postgres/pricing/market-prices.ts'
import { seedSharedSources, sharedSourceId } from '../../../services/platform/postgres/pricing/market-sources.ts'
import { pricesFrom } from '../../../services/platform/postgres/pricing/price-block.ts'
import { termsToText } from '../../../services/platform/postgres/pricing/tariff-row.ts'
import { withOperator } from '../../../services/platform/postgres/transaction.ts'
import { createMetrics } from '../../../services/platform/telemetry/metrics.ts'
import { timeZone } from '../../../services/platform/time-zone.ts'
import { tieredSchedule } from '../registry/drafts.ts'
import { makeTenants, openTestDatabase } from '../stores/postgres.ts'
import { energyChartsUntil, startFeedServer } from './market-feed-server.ts'

export const hourMs = 3_600_000
export const dayMs = 24 * hourMs
export const noon = Date.parse('2026-03-10T12:30:00Z')
export const midnight = Date.parse('2026-03-10T23:00:00Z')
export const stack = new AsyncDisposableStack()
export const { database } = stack.use(await openTestDatabase())
export const feed = stack.use(await startFeedServer())
export const otherFeed = stack.use(await startFeedServer())
await seedSharedSources(database.operator, sharedSources)
export const { live } = await makeTenants(database)

export const feedConfigOf = (...enabled: FeedConfig['enabled']): FeedConfig => ({
  enabled,
  entsoeToken: 'token-of-the-tests',
  octopus: { product: 'AGILE-24-10-01', isVatIncluded: true, region: null },
})

/** Clock of the fixture. Tests change it. */
export const clock = { now: noon }
export const announced: { sourceId: string; revision: number }[] = []
export const optionsOf = (...enabled: FeedConfig['enabled']): MarketFetchOptions => ({
  database,
  choice: feedConfigOf(...enabled),
  fetch,
  // Enough for a busy machine. Two tests wait for it.
  timeoutMs: 2_000,
  maxBytes: 2 ** 20,
  timeZone,
  announcePrices: async change => {
    announced.push(change)
  },
  at: () => clock.now,
  random: () => 0.5,
  metrics: createMetrics(),
})
export const energyCharts = optionsOf({ name: 'energy-charts', baseUrl: feed.baseUrl })

export const sourceOf = async (area: string, currency = 'EUR'): Promise<FeedSource> => {
  const [source] = await listFeedSources(database.operator, { id: sharedSourceId(area, currency) })
  if (source === undefined) throw new Error(`no source of ${area}`)
  return source
}

export const fetchArea = async (area: string, options = energyCharts, currency = 'EUR') =>
  fetchSource(options, await sourceOf(area, currency), AbortSignal.timeout(10_000))

export const pricesOf = async (area: string, from: number, to: number, currency = 'EUR') => {
  const read = await withOperator(database, writer =>
    readMarketPrices(writer, sharedSourceId(area, currency), { from, to }),
  )
  return pricesFrom(read?.blocks ?? []).map(({ start, end, value }) => [start, (end - start) / 60_000, value])
}

/** Reset the clock, the announcements, the recorded requests and the answers of the feeds. */
export const resetFeeds = (): void => {
  clock.now = noon
  announced.length = 0
  feed.requests.length = 0
  otherFeed.requests.length = 0
  feed.answer = energyChartsUntil(midnight + dayMs)
  otherFeed.answer = () => ({ status: 404, text: '' })
}

let tariffCount = 0
/** Create a location with a market source, and a tariff with the prices of that source. Return the id of the tariff. */
export const makeTariff = async (
  sourceId: string,
  more: { marketRates?: boolean; direction?: string; closedAt?: string | null } = {},
): Promise<string> => {
  const { marketRates = true, direction = 'IMPORT', closedAt = null } = more
  const id = (tariffCount++).toString(16).padStart(24, '0')
  const { accountId, liveMode } = live
  await database.operator(sql`
    insert into locations (account_id, live_mode, id, timezone, currency_code, import_market_source_id, time_created)
    values (${accountId}, ${liveMode}, ${`loc_${id}`}, 'Europe/Berlin', 'EUR', ${sourceId}, now())`)
  await database.operator(sql`
    insert into tariffs (account_id, live_mode, id, location_id, direction, type, connection_type, status, market_rates, closed_at, terms, time_created)
    values (${accountId}, ${liveMode}, ${`trf_${id}`}, ${`loc_${id}`}, ${direction}, 'COMMODITY', 'MANUAL', 'CONNECTED', ${marketRates},
      ${closedAt}::timestamptz, ${termsToText(tieredSchedule(0n))}, now())`)
  return `trf_${id}`
}
