import type { RoleModule, SharedDependencies } from '../platform/role-module.ts'
import { batchIds } from '../platform/batch-id.ts'
import { bearerTokens } from '../platform/access/bearer-token.ts'
import { currentInstant } from '../platform/clock.ts'
import { isCurrency } from '../platform/geocoding/country.ts'
import { marketAreasOf } from '../platform/geocoding/market-areas.ts'
import { geocode } from '../platform/geocoding/geo-place.ts'
import { findProviders } from '../platform/postgres/connect/providers.ts'
import { confirmSecret } from '../platform/postgres/connect/secret-fingerprints.ts'
import { pricingCache } from '../platform/pricing-cache.ts'
import { loadCredentialsKey } from '../platform/access/secrets.ts'
import { timeZone } from '../platform/time-zone.ts'
import { openWorkThread, type WorkThread } from '../platform/work-thread/work-thread.ts'
import { openConnect } from './connect/open-connect.ts'
import { mountConsole } from '../web/console/mount.ts'
import { costOperations } from './costs/cost-operations.ts'
import { meteringFacts } from './costs/metering-facts.ts'
import type { QueryServiceDependencies } from './dependencies.ts'
import { eventRelay } from '../background/event-relay.ts'
import { startLeasedWork } from '../background/leased-work.ts'
import { recordTimers } from '../background/record-timers.ts'
import { deadLetterOperations } from './operator/dead-letters.ts'
import { startErasureRelay } from '../background/erasure-relay.ts'
import { type RecostRelay, startRecostRelay } from '../background/recost-relay.ts'
import { forecastWork } from '../background/forecast-work.ts'
import { marketFeedOperations } from '../background/market-feeds/market-feed-operations.ts'
import { openMarketFeeds } from '../background/market-feeds/market-feeds.ts'
import { queryServiceOperations } from './operations.ts'
import { priceOperations } from './prices/prices.ts'
import { scheduleOperations } from './prices/schedules.ts'
import { resealWork } from '../background/reseal-work.ts'
import { workThreadOptions } from './work/work-thread-options.ts'

const at = currentInstant

const recostAppenderOf = ({ log, codec, generation }: SharedDependencies) => ({ log, codec, generation })

/** Start what brings changes to the lanes and what is due by the clock. */
const openRelays = (shared: SharedDependencies, opening: AsyncDisposableStack): RecostRelay => {
  const { database, log, codec, logger, metrics } = shared
  const relay = opening.use(startRecostRelay({ ...recostAppenderOf(shared), database, logger, at }))
  opening.use(startErasureRelay({ ...recostAppenderOf(shared), database, logger, at }))
  const published = (events: number) => metrics.eventsPublished.inc(events)
  const forecasts = forecastWork({ database, timeZone, announcePrices: relay.announce, logger, at })
  opening.use(
    startLeasedWork({ database, logger }, [
      eventRelay({ database, log, codec, onPublished: published }),
      ...recordTimers(database, at),
      forecasts,
    ]),
  )
  return relay
}

const dependenciesOf = (shared: SharedDependencies, relay: RecostRelay, thread: WorkThread): QueryServiceDependencies => ({
  thread,
  database: shared.database,
  metering: meteringFacts(shared.clickHouse),
  providersOf: ids => findProviders(shared.database.operator, ids),
  idempotency: shared.idempotency,
  geocode,
  areasOf: marketAreasOf,
  isCurrency,
  timeZone,
  publishRecosts: relay.publish,
  announcePrices: relay.announce,
  onReferencesChanged: shared.referenceChanges.announce,
  validateWebhookUrl: shared.webhookClient.validateUrl,
  bearerTokens: bearerTokens(shared.secrets.secret),
  secret: shared.secrets.secret,
  requestsPerSecond: shared.config.rateLimitPerSecond,
})

/** Open the query service: its relays, timers and feeds run until the stack is disposed of. */
export const openQueryService = async (shared: SharedDependencies, opening: AsyncDisposableStack): Promise<RoleModule> => {
  const { config, database, clickHouse, metrics, logger, secrets } = shared
  const relay = openRelays(shared, opening)
  const thread = opening.use(openWorkThread(workThreadOptions))
  const dependencies = dependenciesOf(shared, relay, thread)
  const feedOptions = { database, choice: config.marketFeeds, fetch, timeZone, areasOf: marketAreasOf, at, metrics, logger }
  const marketOptions = { ...feedOptions, publishRecosts: relay.publish, announcePrices: relay.announce }
  opening.use(await openMarketFeeds(marketOptions))
  const pricing = pricingCache(database, timeZone)
  const reads = { database, clickHouse, batchIds: batchIds(secrets.secret), timeZone, pricing, thread }
  const loadedKey = loadCredentialsKey(config.dataFolder, config.credentialsKey, config.formerCredentialsKeys)
  const credentialsKey = loadedKey.value
  await confirmSecret(database, 'credentials_key', { ...loadedKey, secret: credentialsKey, at: at() })
  const connect = await openConnect(dependencies, { pricing, logger, fetch, at, credentialsKey, path: config.connectPath })
  const resealing = resealWork({ database, secret: secrets.secret, credentialsKey, logger })
  opening.use(startLeasedWork({ database, logger }, [connect.work, ...(resealing === null ? [] : [resealing])]))
  return {
    operations: [
      ...costOperations(reads),
      ...priceOperations(reads),
      ...scheduleOperations({ ...reads, ...dependencies }),
      ...queryServiceOperations(dependencies),
      ...connect.operations,
    ],
    operatorOperations: [...deadLetterOperations({ ...recostAppenderOf(shared), logger }), ...marketFeedOperations(marketOptions)],
    staticRoutes: connect.staticRoutes,
    liveChecks: [],
    mount: app => mountConsole(app, { database, bearerTokens: dependencies.bearerTokens, secret: secrets.secret, at, logger }),
  }
}
