import { tariffEventData } from '../../contract/event.ts'
import type { Database } from '../../platform/postgres/database.ts'
import { writeEvents } from '../../platform/postgres/events.ts'
import { moveOutage, type TariffKey, tariffsPricedBy, type UntoldOutage, untoldOutages } from '../../platform/postgres/market-feeds.ts'
import { locationsPricedBy } from '../../platform/postgres/pricing-input.ts'
import { withOperator } from '../../platform/postgres/transaction.ts'

/** How long prices may fail to come before accounts are told: until then a day that was known before goes by. */
const patienceMs = 48 * 3_600_000
/** Longer than the longest wait between two attempts. */
const attemptedWithinMs = 3 * 3_600_000
const pageSize = 1_000

const eventOf = (tariff: TariffKey) => ({
  type: 'tariff.fetch.failed',
  objectId: tariff.tariffId,
  data: tariffEventData(tariff),
})

const tellOutage = async (database: Database, outage: UntoldOutage, at: number): Promise<number> => {
  let told = 0
  for (let cursor = outage.cursor; ; ) {
    const page = await locationsPricedBy(database.operator, outage.sourceId, cursor, pageSize)
    const tariffs = await tariffsPricedBy(database.operator, outage.sourceId, page.locations)
    const tenants = Map.groupBy(tariffs, ({ accountId, liveMode }) => `${accountId}/${liveMode}`)
    const isMine = await withOperator(database, async ({ query }) => {
      if (!(await moveOutage(query, { ...outage, cursor }, page, at))) return false
      for (const group of tenants.values()) {
        const [{ accountId, liveMode }] = group as [TariffKey, ...TariffKey[]]
        await writeEvents({ accountId, liveMode, query }, group.map(eventOf), at)
      }
      return true
    })
    if (!isMine) return told
    told += tariffs.length
    if (page.isLast) return told
    cursor = page.cursor
  }
}

/**
 * Tell accounts of sources whose prices have failed to come for 48 hours: one `tariff.fetch.failed` for each living tariff that follows
 * one, once an outage, wherever a crash makes this go on. Gives the number of events.
 * Source: docs/rules/markets-and-forecasts.md #outages.
 */
export const tellOutages = async (database: Database, at: number): Promise<number> => {
  let told = 0
  const outages = await untoldOutages(database.operator, { before: at - patienceMs, since: at - attemptedWithinMs })
  for (const outage of outages) told += await tellOutage(database, outage, at)
  return told
}
