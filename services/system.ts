import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { forecastWork } from './background/forecast-work.ts'
import { openBackground } from './background/open.ts'
import { resealWork } from './background/reseal-work.ts'
import { openConnectWing } from './connect/open.ts'
import { openConsole } from './console/open.ts'
import { apiVersions } from './contract/api-version.ts'
import { openApiDocument } from './contract/openapi/openapi.ts'
import { openCostWorker } from './cost-worker/open.ts'
import { openIngestGateway } from './ingest-gateway/open.ts'
import { importArea } from './interchange/console/import-area.ts'
import { openInterchangeWing } from './interchange/open.ts'
import { validateCsv } from './interchange/service/validate-csv.ts'
import { documentedOperations } from './operations.ts'
import { authenticator, operatorAuthenticator } from './platform/access/authenticate.ts'
import { bearerTokens } from './platform/access/bearer-token.ts'
import { sealWith } from './platform/access/seal.ts'
import { loadCredentialsKey, type Secret } from './platform/access/secrets.ts'
import { keyVerifier } from './platform/access/verify-key.ts'
import { currentInstant } from './platform/clock.ts'
import { type Config, type Role, roles } from './platform/config/config.ts'
import { localAddress, serviceAddress } from './platform/config/service-address.ts'
import { createApp } from './platform/http/app.ts'
import { defaultLimits, type Ports } from './platform/http/binding.ts'
import { idempotencyKeys } from './platform/http/idempotency-store.ts'
import { listen } from './platform/http/listen.ts'
import { documentRoute, type HealthCheck, healthRoutes } from './platform/http/static-routes.ts'
import { keyStore, readKeyState } from './platform/postgres/registry/api-keys.ts'
import { takeIdempotencyLock } from './platform/postgres/registry/idempotency.ts'
import { referenceFinder } from './platform/postgres/registry/references.ts'
import { openSignInFailures } from './platform/postgres/registry/store-sign-in-failures.ts'
import { confirmSecret } from './platform/postgres/secret-fingerprints.ts'
import {
  type RoleModule,
  referenceChanges,
  type SharedDependencies,
  type Stores,
  slowBacklog,
} from './platform/role-module.ts'
import type { Logger } from './platform/telemetry/logger.ts'
import { serveMetrics } from './platform/telemetry/metrics.ts'
import { isLoopbackHost } from './platform/webhook-client/address-rule.ts'
import { openWebhookHttpClient } from './platform/webhook-client/webhook-http-client.ts'
import { openQueryService, type WingDependencies } from './query-service/open.ts'
import { refusalEvents } from './query-service/refusal-events.ts'
import { prepareSandbox, type StartedService } from './sandbox.ts'
import { openStores, type Report, storeChecks } from './stores.ts'
import { documentationPages } from './web/documentation/documentation-pages.ts'
import { notFoundPage } from './web/reference/landing.ts'
import { referencePages } from './web/reference/reference-page.ts'
import { openWebhookWorker } from './webhook-worker/open.ts'

/** The running system of a process. Dispose drains it and closes its resources in reverse order. */
export type System = AsyncDisposable & StartedService & { readonly port: number }

/**
 * Time limits of a stop in ms, counted from its beginning. A stop takes at most 15 s.
 * Running requests end first, because one can wait 10 s for the log.
 * Requests can also wait for workers, which stop after 5 s at the latest.
 */
const stopLimits = { requestsMs: 10_500, workersAfterMs: 5_000, rolesMs: 13_500 } as const
/** Roles with background work. Requests use only the data that these roles store. */
const workerRoles: readonly Role[] = ['cost-worker', 'webhook-worker']

const portsOf = ({ database, secrets, metrics, idempotency, logger, signInFailures }: SharedDependencies): Ports => ({
  authenticate: authenticator(bearerTokens(secrets.secret), subject => readKeyState(database.operator, subject)),
  verifyKey: keyVerifier(secrets.secret, keyStore(database.operator)),
  authenticateOperator: operatorAuthenticator(secrets.operatorKey),
  findReferences: referenceFinder(database),
  idempotency,
  now: currentInstant,
  notFoundPage,
  onRefusal: refusalEvents(database, logger),
  onSignInFailure: signInFailures.report,
  elapsed: () => performance.now(),
  newRequestId: () => `req_${randomUUID().replaceAll('-', '').slice(0, 24)}`,
  log: logger,
  observe: ({ operation, status, apiVersion, durationMs }) => {
    metrics.requests.inc({ operation, status, layout: apiVersion })
    metrics.requestSeconds.observe({ operation }, durationMs / 1000)
  },
})

/** Check that the number of partitions has not changed. After a change the process must be restarted. */
const generationCheck = ({ generation }: Stores): HealthCheck => ({ name: 'lanes', isHealthy: () => generation() >= 0 })

const forbiddenLogIntervalMs = 60_000

/** Log refused webhook addresses at most once a minute. The caller learns only that the address is not public. */
const warnOfForbidden = (logger: Logger): ((host: string) => void) => {
  let silentUntil = 0
  return host => {
    if (currentInstant() < silentUntil) return
    silentUntil = currentInstant() + forbiddenLogIntervalMs
    const advice = 'set WATTLEDGER_WEBHOOK_ALLOW_NETWORKS to allow private networks'
    logger.warn({ host: host.slice(0, 255) }, `Webhook address refused because it is not public; ${advice}`)
  }
}

/**
 * Return whether only programs of this machine reach the service. Others reach a service with a public URL or a proxy.
 * Source: docs/rules/events-and-webhooks.md #addresses.
 */
const isLocalService = ({ host, publicUrl, trustedProxies }: Config): boolean =>
  isLoopbackHost(host) && publicUrl === null && trustedProxies.length === 0

const openShared = async (
  { config, logger }: Pick<SharedDependencies, 'config' | 'logger'>,
  report: Report,
  opening: AsyncDisposableStack,
  chosenRoles: readonly Role[],
): Promise<SharedDependencies> => {
  const stores = await openStores(config, opening, report, chosenRoles)
  const webhookClient = opening.use(
    openWebhookHttpClient({
      allowedNetworks: config.webhookAllowedNetworks,
      allowsLoopbackInTest: isLocalService(config),
      onForbidden: warnOfForbidden(logger),
    }),
  )
  const { holder } = opening.use(await takeIdempotencyLock(stores.database))
  const idempotency = idempotencyKeys(stores.database, sealWith(stores.secrets.secret, 'kept answers'), holder)
  return {
    ...stores,
    config,
    logger,
    webhookClient,
    idempotency,
    referenceChanges: referenceChanges(),
    slowBacklog: slowBacklog(),
    signInFailures: opening.use(openSignInFailures({ database: stores.database, logger }, currentInstant)),
  }
}

/**
 * Close all stacks in parallel with a time limit, so that a role that hangs blocks neither other roles nor the stores.
 */
const closeAll = async (stacks: readonly AsyncDisposableStack[], logger: Logger, limitMs: number): Promise<void> => {
  const closing = stacks.map(stack =>
    stack.disposeAsync().catch((error: unknown) => logger.error({ err: error }, 'Role failed to stop')),
  )
  await Promise.race([Promise.all(closing), sleep(Math.max(1, limitMs), undefined, { ref: false })])
}

/** Stop of the roles: workers end after 5 s at the latest, the other roles after the requests. */
type RoleStop = {
  readonly stackOf: (role: Role) => AsyncDisposableStack
  readonly begin: () => void
  readonly end: () => Promise<void>
}

const openRoleStop = (logger: Logger): RoleStop => {
  const stacks = { workers: [] as AsyncDisposableStack[], others: [] as AsyncDisposableStack[] }
  let stopStartedAt: number | null = null
  let ending: Promise<void> | null = null
  const leftMs = (): number => {
    stopStartedAt ??= performance.now()
    return stopStartedAt + stopLimits.rolesMs - performance.now()
  }
  const endWorkers = (): Promise<void> => {
    ending ??= closeAll(stacks.workers, logger, leftMs())
    return ending
  }
  let workersTimer: NodeJS.Timeout | undefined
  return {
    stackOf: role => {
      const stack = new AsyncDisposableStack()
      stacks[workerRoles.includes(role) ? 'workers' : 'others'].push(stack)
      return stack
    },
    begin: () => {
      stopStartedAt ??= performance.now()
      workersTimer = setTimeout(() => void endWorkers(), stopLimits.workersAfterMs)
    },
    end: async () => {
      clearTimeout(workersTimer)
      await Promise.all([endWorkers(), closeAll(stacks.others, logger, leftMs())])
    },
  }
}

/** Load the key that encrypts provider credentials, and check that the database was written with the same key. */
const openCredentialsKey = async ({ config, database }: SharedDependencies): Promise<Secret> => {
  const loaded = loadCredentialsKey(config.dataFolder, config.credentialsKey, config.formerCredentialsKeys)
  await confirmSecret(database, 'credentials_key', { ...loaded, secret: loaded.value, at: currentInstant() })
  return loaded.value
}

/**
 * Open the wings: parts that the core never imports. Each is one line here. Its operations are one line in `operations.ts`, and
 * its commands are one line in `commands.ts`.
 */
const openWings = (
  shared: SharedDependencies,
  dependencies: WingDependencies,
  opening: AsyncDisposableStack,
  { credentialsKey, isGateway }: { readonly credentialsKey: Secret; readonly isGateway: boolean },
): Promise<readonly RoleModule[]> =>
  Promise.all([
    openConnectWing(shared, dependencies, credentialsKey),
    openInterchangeWing(dependencies),
    openConsole(shared, opening, isGateway, [importArea]),
  ])

/** Open the query service, the background work and the wings. */
const openQueries = async (
  shared: SharedDependencies,
  opening: AsyncDisposableStack,
  isGateway: boolean,
): Promise<readonly RoleModule[]> => {
  const { database, logger, secrets } = shared
  const credentialsKey = await openCredentialsKey(shared)
  const { roleModule: background, relay, start } = await openBackground(shared, opening)
  const options = { ...shared, publishRecosts: relay.publish, announcePrices: relay.announce }
  const queryService = await openQueryService(options, opening)
  const wings = await openWings(shared, queryService.dependencies, opening, { credentialsKey, isGateway })
  const resealing = resealWork({ database, secret: secrets.secret, credentialsKey, logger })
  const forecasts = forecastWork({
    database,
    logger,
    forecast: queryService.forecast,
    announcePrices: relay.announce,
    at: currentInstant,
  })
  const work = wings.flatMap(({ leasedWork }) => leasedWork)
  start([...work, forecasts, ...(resealing === null ? [] : [resealing])])
  return [queryService, background, ...wings]
}

const openRoles = async (
  shared: SharedDependencies,
  { stackOf }: RoleStop,
  chosenRoles: readonly Role[],
): Promise<readonly RoleModule[]> => {
  const roleModules: RoleModule[] = []
  if (chosenRoles.includes('cost-worker')) roleModules.push(await openCostWorker(shared, stackOf('cost-worker')))
  if (chosenRoles.includes('ingest-gateway'))
    roleModules.push(openIngestGateway(shared, stackOf('ingest-gateway'), validateCsv))
  if (chosenRoles.includes('query-service'))
    roleModules.push(...(await openQueries(shared, stackOf('query-service'), chosenRoles.includes('ingest-gateway'))))
  if (chosenRoles.includes('webhook-worker'))
    roleModules.push(await openWebhookWorker(shared, stackOf('webhook-worker')))
  return roleModules
}

/** Serve the metrics. If the default port is in use and no port is configured, choose a free port. */
const openMetrics = async (
  { config, metrics }: SharedDependencies,
  report: Report,
): ReturnType<typeof serveMetrics> => {
  const { host, metricsPort: port, isMetricsPortFree } = config
  try {
    return await serveMetrics(metrics, { host, port })
  } catch (error) {
    if (!isMetricsPortFree || !(error instanceof Error) || !('code' in error) || error.code !== 'EADDRINUSE')
      throw error
    const server = await serveMetrics(metrics, { host, port: 0 })
    report(
      `Metrics port ${port} is in use. Metrics are on port ${server.port}. Set WATTLEDGER_METRICS_PORT to choose one.`,
    )
    return server
  }
}

const appOf = (
  { roleModules, ready }: { readonly roleModules: readonly RoleModule[]; readonly ready: readonly HealthCheck[] },
  shared: SharedDependencies,
  ports: Ports,
): ReturnType<typeof createApp> => {
  const operations = roleModules.flatMap(roleModule => roleModule.operations)
  const documented = documentedOperations(operations.map(({ operation }) => operation))
  const liveChecks = [generationCheck(shared), ...roleModules.flatMap(roleModule => roleModule.liveChecks)]
  const staticRoutes = [
    ...healthRoutes(
      liveChecks,
      ready,
      roleModules.flatMap(roleModule => roleModule.partChecks),
    ),
    ...apiVersions.map(apiVersion =>
      documentRoute(`/openapi/${apiVersion}.json`, nextTurn => openApiDocument(documented, apiVersion, '/', nextTurn)),
    ),
    ...referencePages(documented),
    ...documentationPages(documented),
    ...roleModules.flatMap(roleModule => roleModule.staticRoutes),
  ]
  const { rateLimitPerSecond: requestsPerSecond, trustedProxies } = shared.config
  const limits = { ...defaultLimits, requestsPerSecond, trustedProxies }
  const app = createApp(
    [...operations, ...roleModules.flatMap(roleModule => roleModule.operatorOperations)],
    staticRoutes,
    ports,
    limits,
  )
  for (const roleModule of roleModules) roleModule.mount(app)
  return app
}

/**
 * Open the stores, start the roles and listen. `report` prints a line about each slow step.
 * Rejects with a `Failure` or a system error that names the reason. All resources are closed then.
 */
export const openSystem = async (
  config: Config,
  logger: Logger,
  report: Report,
  chosenRoles: readonly Role[] = roles,
): Promise<System> => {
  await using opening = new AsyncDisposableStack()
  const shared = await openShared({ config, logger }, report, opening, chosenRoles)
  const roleStop = openRoleStop(logger)
  opening.defer(roleStop.end)
  const roleModules = await openRoles(shared, roleStop, chosenRoles)
  const ports = portsOf(shared)
  const { host, dataFolder } = config
  const metricsServer = opening.use(await openMetrics(shared, report))
  const app = appOf({ roleModules, ready: storeChecks(shared, chosenRoles) }, shared, ports)
  const listening = await listen(app, { host, port: config.port }, ports)
  const listener = opening.adopt(listening, one => one.close(stopLimits.requestsMs))
  const baseUrl = serviceAddress(config, listener.port)
  const { secret, operatorKey } = shared.secrets
  const sandboxState = chosenRoles.includes('query-service')
    ? await prepareSandbox(shared.database, { dataFolder, baseUrl, secret, operatorKey, at: currentInstant() })
    : { sandbox: null, isNew: false }
  const opened = opening.move()
  return {
    baseUrl,
    metricsUrl: `${localAddress(host, metricsServer.port)}/metrics`,
    port: listener.port,
    sandbox: sandboxState.sandbox,
    isFirstStart: sandboxState.isNew && config.postgresUrl === null,
    [Symbol.asyncDispose]: () => {
      roleStop.begin()
      return opened.disposeAsync()
    },
  }
}
