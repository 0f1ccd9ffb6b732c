import { randomUUID } from 'node:crypto'
import { layouts } from './contract/layout.ts'
import { openApiDocument } from './contract/openapi.ts'
import type { LostEnergy } from './cost-worker/erase.ts'
import { startCostWorker } from './cost-worker/worker.ts'
import { ingestGatewayOperations } from './ingest-gateway/operations.ts'
import { authenticator, operatorAuthenticator } from './platform/authenticate.ts'
import { batchIds } from './platform/batch-id.ts'
import { bearerTokens } from './platform/bearer-token.ts'
import { presentInstant } from './platform/clock.ts'
import { type Config, type Role, roles } from './platform/config.ts'
import { createApp } from './platform/http/app.ts'
import { defaultLimits, type Ports } from './platform/http/binding.ts'
import { listen } from './platform/http/listen.ts'
import { documentPage, healthPages } from './platform/http/pages.ts'
import { type IdempotencyKeys, idempotencyKeys } from './platform/idempotency-store.ts'
import { serveMetrics } from './platform/metrics.ts'
import { isCurrency } from './platform/place/country.ts'
import { placeOf } from './platform/place/place.ts'
import { listAccounts } from './platform/postgres/accounts.ts'
import { readKeyState } from './platform/postgres/api-keys.ts'
import { holdIdempotency } from './platform/postgres/idempotency-holder.ts'
import { findProviders } from './platform/postgres/providers.ts'
import { pricingBook } from './platform/pricing-book.ts'
import { sealWith } from './platform/seal.ts'
import { loadCredentialsKey } from './platform/secrets.ts'
import type { Logger } from './platform/telemetry.ts'
import { timeZone } from './platform/time-zone.ts'
import { openWebhookDialler } from './platform/webhook-dialler/dialler.ts'
import { recordRefusal } from './query-service/change.ts'
import { type Connect, type ConnectSettings, openConnect } from './query-service/connect/open-connect.ts'
import { mountConsole } from './query-service/console/mount.ts'
import { costOperations } from './query-service/costs/cost-operations.ts'
import { meteringFacts } from './query-service/costs/metering-facts.ts'
import type { QueryServiceDependencies } from './query-service/dependencies.ts'
import { eventRelay } from './query-service/events/event-relay.ts'
import { startLeasedWork } from './query-service/events/timers.ts'
import { recordTimers } from './query-service/events/timers-of-records.ts'
import { deadLetterOperations } from './query-service/lanes/dead-letters.ts'
import { startErasureRelay } from './query-service/lanes/erasure-relay.ts'
import { putRePrice } from './query-service/lanes/order-lanes.ts'
import { startOrderRelay } from './query-service/lanes/order-relay.ts'
import { forecastWork } from './query-service/markets/forecast-work.ts'
import { marketFeedOperations } from './query-service/markets/market-feed-operations.ts'
import { openMarketFeeds } from './query-service/markets/market-feeds.ts'
import { queryServiceOperations } from './query-service/operations.ts'
import { priceOperations } from './query-service/prices/prices.ts'
import { scheduleOperations } from './query-service/prices/schedules.ts'
import { referencePages } from './query-service/reference-page.ts'
import { prepareSandbox, type Sandbox } from './sandbox.ts'
import { openStores, type Report, type Stores } from './stores.ts'
import { attemptCounter } from './webhook-worker/attempt-counter.ts'
import { startWebhookWorker } from './webhook-worker/worker.ts'

/** The whole system in one process, ready; disposing of it drains and closes in the reverse order of opening. */
export type System = AsyncDisposable & {
  readonly baseUrl: string
  readonly metricsUrl: string
  readonly port: number
  /** Null where its file was removed. */
  readonly sandbox: Sandbox | null
  readonly isFirstStart: boolean
}

const topic = 'meter.records.v1'
const drainMs = 10_000

const portsOf = ({ database, secrets, metrics }: Stores, idempotency: IdempotencyKeys, logger: Logger): Ports => ({
  authenticate: authenticator(bearerTokens(secrets.secret), subject => readKeyState(database.operator, subject)),
  authenticateOperator: operatorAuthenticator(secrets.operatorKey),
  idempotency,
  at: presentInstant,
  refused: refusal => recordRefusal({ database }, refusal),
  elapsed: () => performance.now(),
  mintRequestId: () => `req_${randomUUID().replaceAll('-', '').slice(0, 24)}`,
  log: logger,
  observe: ({ operation, status, layout, durationMs }) => {
    metrics.requests.inc({ operation, status, layout })
    metrics.requestSeconds.observe({ operation }, durationMs / 1000)
  },
})

const answers = (asked: Promise<unknown>): Promise<boolean> =>
  asked.then(
    () => true,
    () => false,
  )

/** Open Connect where it is mounted, with the key that credentials are sealed under. */
const connectOf = (
  { dataFolder, credentialsKey, connectPath }: Config,
  dependencies: QueryServiceDependencies,
  means: Omit<ConnectSettings, 'path' | 'credentialsKey'>,
): Promise<Connect> =>
  openConnect(dependencies, { ...means, credentialsKey: loadCredentialsKey(dataFolder, credentialsKey), path: connectPath })

/**
 * Open the stores, start the roles and listen. `report` tells of steps that take a while.
 * Rejects with a `Failure` or a system error that says what stands in the way; nothing is left open then.
 */
export const openSystem = async (config: Config, logger: Logger, report: Report, chosen: readonly Role[] = roles): Promise<System> => {
  const runs = (role: Role): boolean => chosen.includes(role)
  const isQueried = runs('query-service')
  await using opening = new AsyncDisposableStack()
  const stores = await openStores(config, opening, report)
  const { database, log, codec, clickHouse, secrets, metrics } = stores
  const generation = () => stores.generation
  const pricing = pricingBook(database, timeZone)
  const lanes = { log, codec, generation }
  const costAgain = async (lost: readonly LostEnergy[]): Promise<void> => {
    const order = { locationRevision: null, sourceId: null, priceRevision: null }
    await Promise.all(lost.map(({ locationId, ...one }) => putRePrice(lanes, { ...order, ...one, locationIds: [locationId] })))
  }
  const failing = { share: config.failingShare, least: config.failingLocations }
  const at = presentInstant
  const forWorker = { log, codec, clickHouse, database, pricing, metrics, logger, at, costAgain, failing }
  const worker = runs('cost-worker') ? opening.use(await startCostWorker(forWorker)) : null
  const relay = opening.use(startOrderRelay({ ...lanes, database, logger }))
  if (isQueried) opening.use(startErasureRelay({ ...lanes, database, logger, at }))
  const published = (events: number) => metrics.eventsPublished.inc(events)
  const forecasts = forecastWork({ database, timeZone, announce: relay.announce, logger, at })
  const leased = [eventRelay({ database, log, codec, published }), ...recordTimers(database, at), forecasts]
  if (isQueried) opening.use(startLeasedWork({ database, logger }, leased))
  const priceFeeds = { database, choice: config.marketFeeds, fetch, timeZone, placeOf, at, metrics, logger }
  const markets = { ...priceFeeds, publishOrders: relay.publish, announcePrices: relay.announce }
  if (isQueried) opening.use(await openMarketFeeds(markets))
  const dialler = opening.use(openWebhookDialler({ allowedNetworks: config.webhookAllowedNetworks }))
  const attempted = attemptCounter(metrics)
  const forWebhooks = { database, log, codec, dialler, secret: secrets.secret, logger, at, attempted }
  const webhooks = runs('webhook-worker') ? opening.use(await startWebhookWorker(forWebhooks)) : null
  const { holder } = opening.use(await holdIdempotency(database))
  const idempotency = idempotencyKeys(database, holder, sealWith(secrets.secret, 'kept answers'))
  const ports = portsOf(stores, idempotency, logger)
  const counts = {
    accepted: (lane: number, records: number) => metrics.accepted.inc({ lane: String(lane) }, records),
    refused: (records: number) => metrics.refused.inc(records),
    bytes: (bytes: number) => metrics.submittedBytes.inc(bytes),
  }
  const gatewayPricing = pricingBook(database, timeZone)
  const gateway = { database, log, codec, clickHouse, pricing: gatewayPricing, secret: secrets.secret, generation, counts }
  const reads = { database, clickHouse, batchIds: batchIds(secrets.secret), timeZone }
  const dependencies = {
    database,
    metering: meteringFacts(clickHouse),
    providersOf: (ids: readonly string[]) => findProviders(database.operator, ids),
    idempotency,
    placeOf,
    isCurrency,
    timeZone,
    publishOrders: relay.publish,
    announcePrices: relay.announce,
    judgeWebhookUrl: dialler.judge,
    bearerTokens: bearerTokens(secrets.secret),
    secret: secrets.secret,
    requestsPerSecond: config.rateLimitPerSecond,
  }
  const registries = queryServiceOperations(dependencies)
  const priceReads = { ...reads, pricing: pricingBook(database, timeZone) }
  const prices = [...priceOperations(priceReads), ...scheduleOperations({ ...priceReads, ...dependencies })]
  const connect = isQueried ? await connectOf(config, dependencies, { pricing: priceReads.pricing, logger, fetch, at }) : null
  if (connect !== null) opening.use(startLeasedWork({ database, logger }, [connect.work]))
  const operations = [
    ...(runs('ingest-gateway') ? ingestGatewayOperations(gateway) : []),
    ...(isQueried ? [...costOperations(reads), ...prices, ...registries, ...(connect?.operations ?? [])] : []),
  ]
  const limits = { ...defaultLimits, requestsPerSecond: config.rateLimitPerSecond }
  const checks = {
    live: [
      ...(worker === null ? [] : [{ name: 'cost-worker', isWell: worker.isLive }]),
      ...(webhooks === null ? [] : [{ name: 'webhook-worker', isWell: webhooks.isLive }]),
    ],
    ready: [
      { name: 'postgres', isWell: () => answers(listAccounts(database.operator)) },
      { name: 'clickhouse', isWell: () => answers(clickHouse.rows('SELECT 1')) },
      { name: 'log', isWell: () => answers(log.lag(topic, 0, 'cost-worker')) },
    ],
  }
  const declared = operations.map(({ operation }) => operation)
  const pages = [
    ...healthPages(checks.live, checks.ready),
    ...layouts.map(layout => documentPage(`/openapi/${layout}.json`, () => openApiDocument(declared, layout, '/'))),
    ...referencePages(declared),
    ...(connect?.pages ?? []),
  ]
  const forOperator = isQueried ? [...deadLetterOperations({ ...lanes, logger }), ...marketFeedOperations(markets)] : []
  const app = createApp([...operations, ...forOperator], pages, ports, limits)
  if (isQueried) mountConsole(app, { database, bearerTokens: bearerTokens(secrets.secret), secret: secrets.secret, at, logger })
  const metricsServer = opening.use(await serveMetrics(metrics, { host: config.host, port: config.metricsPort }))
  const listener = opening.adopt(await listen(app, { host: config.host, port: config.port }, ports), one => one.close(drainMs))
  const baseUrl = `http://${config.host}:${listener.port}`
  const { secret, operatorKey } = secrets
  const { dataFolder } = config
  const made = isQueried
    ? await prepareSandbox(database, { dataFolder, baseUrl, secret, operatorKey, at: presentInstant() })
    : { sandbox: null, isNew: false }
  const open = opening.move()
  return {
    baseUrl,
    metricsUrl: `http://${config.host}:${metricsServer.port}/metrics`,
    port: listener.port,
    sandbox: made.sandbox,
    isFirstStart: made.isNew,
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  }
}
