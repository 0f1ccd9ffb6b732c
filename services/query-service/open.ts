import type { Forecast, ForecastPrice } from '../domain/forecast/forecast-prices.ts'
import { bearerTokens } from '../platform/access/bearer-token.ts'
import { currentInstant } from '../platform/clock.ts'
import { isCurrency } from '../platform/geocoding/country.ts'
import { geocode, marketAreasOf } from '../platform/geocoding/geocode.ts'
import { batchIds } from '../platform/ids/batch-id.ts'
import { recordTopic } from '../platform/log/log.ts'
import { partitionKey, partitionOf } from '../platform/log/partition.ts'
import { waitForRecords } from '../platform/log/stored-records.ts'
import { findProviders } from '../platform/postgres/registry/providers.ts'
import type { Tenant } from '../platform/postgres/transaction.ts'
import { type PricingCache, pricingCache } from '../platform/pricing-cache/pricing-cache.ts'
import { emptyRoleModule, type RoleModule, type SharedDependencies } from '../platform/role-module.ts'
import { timeZone } from '../platform/time-zone.ts'
import { openWorkThread, type WorkThread } from '../platform/work-thread/work-thread.ts'
import { meteringFacts } from './costs/metering-facts.ts'
import type { QueryServiceDependencies } from './dependencies.ts'
import { openExportFolder } from './exports/export-folder.ts'
import { startExportWork } from './exports/export-work.ts'
import { exportOperations } from './exports/exports.ts'
import { openTableStreams } from './exports/table-streams.ts'
import { costOperations, exportedOperations, queryServiceOperations } from './operations.ts'
import { deadLetterOperations } from './operator/dead-letters.ts'
import { priceOperations } from './prices/prices.ts'
import { scheduleOperations } from './prices/schedules.ts'
import { startSimulationWork } from './simulations/simulation-job.ts'
import { simulationOperations } from './simulations/simulations.ts'
import { startBatchWork } from './statement-batches/batch-work.ts'
import { statementBatchOperations } from './statement-batches/statement-batches.ts'
import { createRecordReader } from './statements/gather-records.ts'
import { statementOperations } from './statements/statements.ts'
import { discardWork, runWork, workThreadOptions } from './work-thread/run-work.ts'

/** Dependencies and settings of the query service. */
export type QueryServiceOptions = SharedDependencies &
  Pick<QueryServiceDependencies, 'publishRecosts' | 'announcePrices'>

/** Dependencies of the operations of a wing. */
export type WingDependencies = QueryServiceDependencies & { readonly pricing: PricingCache }

/** Query service of a process. */
export type QueryService = RoleModule & {
  /** Dependencies of operations that a wing adds. */
  readonly dependencies: WingDependencies
  /** Forecast prices in the work thread. */
  readonly forecast: Forecast
}

/** Return the function that forecasts prices in a thread. The work belongs to the service, not to an account. */
const forecastIn =
  (thread: WorkThread): Forecast =>
  async (history, timezone, interval) => {
    const { signal } = new AbortController()
    const input = { history, timezone, interval }
    const started = await runWork(thread, { name: 'forecast', input, isSmall: false, account: '', signal })
    if (!started.ok) throw new Error(`The prices cannot be forecast: ${started.refusal.message}`)
    await discardWork(started.value)
    // The work sends its forecast as the head.
    return started.value.head as readonly ForecastPrice[]
  }

const dependenciesOf = (shared: QueryServiceOptions, thread: WorkThread): QueryServiceDependencies => ({
  thread,
  database: shared.database,
  metering: meteringFacts(shared.clickHouse),
  providersOf: ids => findProviders(shared.database.operator, ids),
  idempotency: shared.idempotency,
  geocode,
  areasOf: marketAreasOf,
  isCurrency,
  timeZone,
  publishRecosts: shared.publishRecosts,
  announcePrices: shared.announcePrices,
  onReferencesChanged: shared.referenceChanges.announce,
  validateWebhookUrl: shared.webhookClient.validateUrl,
  bearerTokens: bearerTokens(shared.secrets.secret),
  secret: shared.secrets.secret,
  publicUrl: shared.config.publicUrl ?? '',
  requestsPerSecond: shared.config.rateLimitPerSecond,
})

/** Number of locations whose pricing the batches of statements keep: those of some pages. */
const batchPricings = 400

/** Time in ms that a request waits for the records that were acknowledged before it. */
const recordsTimeoutMs = 5_000

const statementReads = ({ log, clickHouse }: Pick<QueryServiceOptions, 'log' | 'clickHouse'>) => ({
  records: createRecordReader(clickHouse),
  recordsAreStored: async ({ accountId }: Tenant, locationId: string, signal: AbortSignal): Promise<boolean> => {
    const partition = partitionOf(partitionKey(accountId, locationId), log.partitions(recordTopic))
    if (!(await waitForRecords(log, partition, recordsTimeoutMs, signal))) return false
    await clickHouse.catchUp()
    return true
  },
})

/** Open the query service. Its work thread runs until the stack is disposed of. */
export const openQueryService = async (
  shared: QueryServiceOptions,
  opening: AsyncDisposableStack,
): Promise<QueryService> => {
  const { config, database, clickHouse, log, codec, generation, logger, secrets } = shared
  const thread = opening.use(openWorkThread(workThreadOptions))
  const dependencies = dependenciesOf(shared, thread)
  const pricing = pricingCache(database, timeZone)
  const streams = openTableStreams(config.clickHouse === null ? config.dataFolder : null, opening)
  const reads = { streams, database, clickHouse, batchIds: batchIds(secrets.secret), timeZone, pricing, thread }
  const statements = { ...reads, ...dependencies, ...statementReads({ log, clickHouse }) }
  // A batch reads each location once. Its pricing would fill the cache of the requests, or push others out.
  const batches = {
    ...statements,
    pricing: pricingCache(database, timeZone, batchPricings),
    logger,
    at: currentInstant,
  }
  const batchWork = opening.use(startBatchWork(batches))
  const simulationWork = opening.use(startSimulationWork({ ...statements, logger, now: currentInstant }))
  const folder = config.exportFolder === null ? null : openExportFolder(config.exportFolder)
  const exports =
    folder === null
      ? { wake: () => undefined }
      : opening.use(
          startExportWork({
            ...reads,
            ...exportedOperations(reads, dependencies),
            folder,
            log,
            logger,
            at: currentInstant,
          }),
        )
  return {
    ...emptyRoleModule,
    operations: [
      ...exportOperations({ ...dependencies, folder }, exports),
      ...costOperations(reads),
      ...priceOperations(reads),
      ...scheduleOperations(statements),
      ...statementOperations(statements),
      ...simulationOperations(statements, simulationWork),
      ...statementBatchOperations(batches, batchWork),
      ...queryServiceOperations(dependencies),
    ],
    operatorOperations: deadLetterOperations({ log, codec, generation, logger }),
    forecast: forecastIn(thread),
    dependencies: { ...dependencies, pricing },
  }
}
