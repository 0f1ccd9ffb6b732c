import { tariffEventData } from '../../contract/events/event.ts'
import type { Database } from '../../platform/postgres/database.ts'
import { writeEvents } from '../../platform/postgres/events/events.ts'
import {
  advanceOutage,
  type TariffKey,
  tariffsPricedBy,
  type UnreportedOutage,
  unreportedOutages,
} from '../../platform/postgres/pricing/market-feeds.ts'
import { locationsPricedBy } from '../../platform/postgres/pricing/pricing-input.ts'
import { withOperator } from '../../platform/postgres/transaction.ts'

/** How long prices may fail to come before accounts are told: until then a day that was known before goes by. */
const outageAfterMs = 48 * 3_600_000
/** Longer than the longest wait between two attempts. */
const attemptedWithinMs = 3 * 3_600_000
const pageSize = 1_000

const eventOf = (tariff: TariffKey) => ({
  type: 'tariff.fetch.failed',
  objectId: tariff.tariffId,
  data: tariffEventData(tariff),
})

const publishOutageEvents = async (database: Database, outage: UnreportedOutage, at: number): Promise<number> => {
  let published = 0
  for (let cursor = outage.cursor; ; ) {
    const page = await locationsPricedBy(database.operator, outage.sourceId, cursor, pageSize)
    const tariffs = await tariffsPricedBy(database.operator, outage.sourceId, page.locations)
    const tenants = Map.groupBy(tariffs, ({ accountId, liveMode }) => `${accountId}/${liveMode}`)
    const hasMovedCursor = await withOperator(database, async ({ query }) => {
      if (!(await advanceOutage(query, { ...outage, cursor }, page, at))) return false
      for (const tenantTariffs of tenants.values()) {
        const [{ accountId, liveMode }] = tenantTariffs as [TariffKey, ...TariffKey[]]
        await writeEvents({ accountId, liveMode, query }, tenantTariffs.map(eventOf), at)
      }
      return true
    })
    if (!hasMovedCursor) return published
    published += tariffs.length
    if (page.isLast) return published
    cursor = page.cursor
  }
}

/**
 * Tell accounts of sources whose prices have failed to come for 48 hours: one `tariff.fetch.failed` for each living tariff that follows
 * one, once an outage, wherever a crash makes this go on. Gives the number of events.
 * Source: docs/rules/markets-and-forecasts.md #outages.
 */
export const publishFeedOutages = async (database: Database, at: number): Promise<number> => {
  let published = 0
  const outages = await unreportedOutages(database.operator, {
    before: at - outageAfterMs,
    since: at - attemptedWithinMs,
  })
  for (const outage of outages) published += await publishOutageEvents(database, outage, at)
  return published
}
