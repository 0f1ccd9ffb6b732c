import { currentInstant } from '../platform/clock.ts'
import { marketAreasOf } from '../platform/geocoding/geocode.ts'
import { emptyRoleModule, type LeasedWork, type RoleModule, type SharedDependencies } from '../platform/role-module.ts'
import { timeZone } from '../platform/time-zone.ts'
import { calendarWork } from './calendar-work.ts'
import { erasureRelay } from './erasure-relay.ts'
import { eventRelay } from './event-relay.ts'
import { startLeasedWork } from './leased-work.ts'
import { marketFeedOperations } from './market-feeds/market-feed-operations.ts'
import { openMarketFeeds } from './market-feeds/market-feeds.ts'
import { planWork } from './plan-work.ts'
import { recordTimers } from './record-timers.ts'
import { type RecostRelay, startRecostRelay } from './recost-relay.ts'

const at = currentInstant

/** Work that runs by lease in the processes of the query service. */
export type Background = {
  readonly roleModule: RoleModule
  readonly relay: RecostRelay
  /** Start more work under leases. It runs until the stack is disposed of. */
  readonly start: (tasks: readonly LeasedWork[]) => void
}

/** Start relays, timers and market feeds. They run until the stack is disposed of. */
export const openBackground = async (
  shared: SharedDependencies,
  opening: AsyncDisposableStack,
): Promise<Background> => {
  const { config, database, log, codec, generation, logger, metrics } = shared
  const appender = { log, codec, generation }
  const relay = opening.use(startRecostRelay({ ...appender, database, logger, at }))
  const start = (tasks: readonly LeasedWork[]): void => void opening.use(startLeasedWork({ database, logger }, tasks))
  start([
    erasureRelay({ ...appender, database, logger, at }),
    eventRelay({ database, log, codec, onPublished: events => metrics.eventsPublished.inc(events) }),
    ...calendarWork(database, at),
    ...recordTimers(database, at),
    planWork({ database, publishRecosts: relay.publish, at }),
  ])
  const feedOptions = {
    database,
    choice: config.marketFeeds,
    fetch,
    timeZone,
    areasOf: marketAreasOf,
    at,
    metrics,
    logger,
  }
  const marketOptions = { ...feedOptions, publishRecosts: relay.publish, announcePrices: relay.announce }
  start([await openMarketFeeds(marketOptions)])
  return { roleModule: { ...emptyRoleModule, operatorOperations: marketFeedOperations(marketOptions) }, relay, start }
}
