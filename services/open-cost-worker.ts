import type { LostEnergy } from './cost-worker/erase.ts'
import { startCostWorker } from './cost-worker/worker.ts'
import { emptyPart, type Part, type Shared } from './part.ts'
import { presentInstant } from './platform/clock.ts'
import { measureUnread } from './platform/metrics.ts'
import { pricingBook } from './platform/pricing-book.ts'
import { timeZone } from './platform/time-zone.ts'
import { putRePrice } from './query-service/lanes/order-lanes.ts'

const topic = 'meter.records.v1'

/** Start the cost worker; it drains with the stack. */
export const openCostWorker = async (shared: Shared, opening: AsyncDisposableStack): Promise<Part> => {
  const { config, database, log, codec, generation, metrics } = shared
  const lanes = { log, codec, generation }
  const costAgain = async (lost: readonly LostEnergy[]): Promise<void> => {
    const order = { locationRevision: null, sourceId: null, priceRevision: null }
    await Promise.all(lost.map(({ locationId, ...one }) => putRePrice(lanes, { ...order, ...one, locationIds: [locationId] })))
  }
  const pricing = pricingBook(database, timeZone)
  const failing = { share: config.failingShare, least: config.failingLocations }
  const worker = opening.use(await startCostWorker({ ...shared, pricing, at: presentInstant, costAgain, failing }))
  measureUnread(metrics, log.partitions(topic), async lane => {
    const { committed, end } = await log.lag(topic, lane, 'cost-worker')
    return end - committed
  })
  return { ...emptyPart, live: [{ name: 'cost-worker', isWell: worker.isLive }] }
}
