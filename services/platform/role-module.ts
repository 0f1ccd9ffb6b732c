import type { Secrets } from './access/secrets.ts'
import type { ClickHouse } from './clickhouse/clickhouse.ts'
import type { Config } from './config.ts'
import type { createApp } from './http/app.ts'
import type { Binding, StaticRoute } from './http/binding.ts'
import type { HealthCheck } from './http/static-routes.ts'
import type { IdempotencyKeys } from './idempotency-store.ts'
import type { Codec } from './log/avro/codec.ts'
import type { Log } from './log/log.ts'
import type { Metrics } from './metrics.ts'
import type { Database } from './postgres/database.ts'
import type { ReferenceChanges } from './reference-changes.ts'
import type { SlowBacklog } from './slow-backlog.ts'
import type { Logger } from './telemetry.ts'
import type { WebhookHttpClient } from './webhook-client/webhook-http-client.ts'

/** The stores and all that roles share. */
export type Stores = {
  readonly database: Database
  readonly log: Log
  readonly codec: Codec
  readonly clickHouse: ClickHouse
  readonly secrets: Secrets
  readonly metrics: Metrics
  /** The generation of the lanes. Throws once the lanes were renumbered: this process writes into none of the new ones. */
  readonly generation: () => number
}

/** What every role of a process is opened with. */
export type SharedDependencies = Stores & {
  readonly config: Config
  readonly logger: Logger
  readonly webhookClient: WebhookHttpClient
  readonly idempotency: IdempotencyKeys
  /** Between the roles of this process. */
  readonly referenceChanges: ReferenceChanges
  /** From the cost worker of this process to its gateway. */
  readonly slowBacklog: SlowBacklog
}

/** Work that one process at a time does again and again. */
export type LeasedWork = {
  /** Names the lease. */
  readonly name: string
  /** The pause when there is nothing left to do, in ms. */
  readonly restMs: number
  /** Do a bounded piece of the work; true if more waits. Errors are logged, and the work pauses. */
  readonly turn: () => Promise<boolean>
}

/** What a role brings into its process. */
export type RoleModule = {
  /** Operations of callers, as the documents of the interface show them. */
  readonly operations: readonly Binding[]
  /** Operations of the operator, in no document. */
  readonly operatorOperations: readonly Binding[]
  readonly staticRoutes: readonly StaticRoute[]
  /** Signs that its loops move. */
  readonly liveChecks: readonly HealthCheck[]
  /** Add what uses the whole interface as its callers do. */
  readonly mount: (app: ReturnType<typeof createApp>) => void
}

export const emptyRoleModule: RoleModule = {
  operations: [],
  operatorOperations: [],
  staticRoutes: [],
  liveChecks: [],
  mount: () => undefined,
}
