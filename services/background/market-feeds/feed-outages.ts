import { tariffEvent } from '../../contract/events/event.ts'
import { groupByTenant } from '../../domain/tenant.ts'
import type { Database } from '../../platform/postgres/database.ts'
import { writeEvents } from '../../platform/postgres/events/events.ts'
import {
  advanceOutage,
  tariffsPricedBy,
  type UnreportedOutage,
  unreportedOutages,
} from '../../platform/postgres/pricing/market-feeds.ts'
import { locationsPricedBy } from '../../platform/postgres/pricing/pricing-input.ts'
import { withOperator } from '../../platform/postgres/transaction.ts'

/** Time without new prices after which accounts get an event. Prices that were known in advance cover the first day. */
const outageAfterMs = 48 * 3_600_000
/** Longer than the longest pause between two attempts. */
const attemptedWithinMs = 3 * 3_600_000
const pageSize = 1_000

const publishOutageEvents = async (database: Database, outage: UnreportedOutage, at: number): Promise<number> => {
  let published = 0
  for (let cursor = outage.cursor; ; ) {
    const page = await locationsPricedBy(database.operator, outage.sourceId, cursor, pageSize)
    const tariffs = await tariffsPricedBy(database.operator, outage.sourceId, page.locations)
    const hasMovedCursor = await withOperator(database, async ({ query }) => {
      if (!(await advanceOutage(query, { ...outage, cursor }, page, at))) return false
      for (const [tenant, tenantTariffs] of groupByTenant(tariffs)) {
        const events = tenantTariffs.map(tariff => tariffEvent('tariff.fetch.failed', tariff))
        await writeEvents({ ...tenant, query }, events, at)
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
 * Publish `tariff.fetch.failed` for each active tariff of a source that has had no new prices for 48 hours, once per
 * outage. After a crash the next call continues. Returns the number of events.
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
