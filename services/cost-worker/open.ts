import { currentInstant } from '../platform/clock.ts'
import { recordTopic } from '../platform/log/log.ts'
import { appendReprice } from '../platform/log/recost-appender.ts'
import { pricingCache } from '../platform/pricing-cache/pricing-cache.ts'
import { emptyRoleModule, type RoleModule, type SharedDependencies } from '../platform/role-module.ts'
import { measureUnread } from '../platform/telemetry/metrics.ts'
import { timeZone } from '../platform/time-zone.ts'
import type { LostEnergy } from './erase.ts'
import { startCostWorker } from './worker.ts'

/** Start the cost worker. It stops with the stack. */
export const openCostWorker = async (
  shared: SharedDependencies,
  opening: AsyncDisposableStack,
): Promise<RoleModule> => {
  const { config, database, log, codec, generation, metrics } = shared
  const appender = { log, codec, generation }
  const requestRecosts = async (lost: readonly LostEnergy[]): Promise<void> => {
    const noRevisions = { locationRevision: null, sourceId: null, priceRevision: null }
    await Promise.all(
      lost.map(({ locationId, ...lostInterval }) =>
        appendReprice(appender, { ...noRevisions, ...lostInterval, locationIds: [locationId] }),
      ),
    )
  }
  const pricing = pricingCache(database, timeZone)
  const failing = { share: config.failingShare, minLocations: config.failingLocations }
  const worker = opening.use(await startCostWorker({ ...shared, pricing, at: currentInstant, requestRecosts, failing }))
  measureUnread(metrics, log.partitions(recordTopic), async partition => {
    const { committed, end } = await log.lag(recordTopic, partition, 'cost-worker')
    return end - committed
  })
  return { ...emptyRoleModule, liveChecks: [{ name: 'cost-worker', isHealthy: worker.isLive }] }
}
