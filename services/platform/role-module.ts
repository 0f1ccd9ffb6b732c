import type { Secrets } from './access/secrets.ts'
import type { ClickHouse } from './clickhouse/clickhouse.ts'
import type { Config } from './config/config.ts'
import type { createApp } from './http/app.ts'
import type { Binding, StaticRoute } from './http/binding.ts'
import type { IdempotencyKeys } from './http/idempotency-store.ts'
import type { HealthCheck } from './http/static-routes.ts'
import type { Codec } from './log/avro/codec.ts'
import type { Log } from './log/log.ts'
import type { Database } from './postgres/database.ts'
import type { Lease } from './postgres/leases.ts'
import type { SignInFailures } from './postgres/registry/store-sign-in-failures.ts'
import type { Tenant } from './postgres/transaction.ts'
import type { Logger } from './telemetry/logger.ts'
import type { Metrics } from './telemetry/metrics.ts'
import type { WebhookHttpClient } from './webhook-client/webhook-http-client.ts'

/** Announces changes of own references inside a process, so that its caches forget them. */
export type ReferenceChanges = {
  /** Call after the commit of a change and before its answer. */
  readonly announce: (tenant: Tenant) => void
  readonly listen: (listener: (tenant: Tenant) => void) => void
}

export const referenceChanges = (): ReferenceChanges => {
  const listeners: ((tenant: Tenant) => void)[] = []
  return {
    announce: tenant => {
      for (const listener of listeners) listener(tenant)
    },
    listen: listener => {
      listeners.push(listener)
    },
  }
}

/** Slow work of the cost worker of this process. */
export type SlowBacklogSource = {
  /** Return whether an account has so much slow work that the gateway must refuse its submissions. */
  readonly isLogFull: (accountId: string) => boolean
  /**
   * Return the offset up to which the worker has read a partition, if its committed offset waits for slow work only.
   * Null if the offset does not wait for slow work.
   */
  readonly readUpTo: (partition: number) => number | null
}

/** Reports the slow work of the cost worker to the gateway of the same process. */
export type SlowBacklog = SlowBacklogSource & { readonly setSource: (source: SlowBacklogSource) => void }

const emptyBacklog: SlowBacklogSource = { isLogFull: () => false, readUpTo: () => null }

/** Create the backlog of a process. It is empty until a worker calls `setSource`. */
export const slowBacklog = (): SlowBacklog => {
  let source = emptyBacklog
  return {
    isLogFull: accountId => source.isLogFull(accountId),
    readUpTo: partition => source.readUpTo(partition),
    setSource: nextSource => {
      source = nextSource
    },
  }
}

/** Stores and other resources of a process. */
export type Stores = {
  readonly database: Database
  readonly log: Log
  readonly codec: Codec
  readonly clickHouse: ClickHouse
  readonly secrets: Secrets
  readonly metrics: Metrics
  /**
   * Return the generation of the topic. Throws after the number of partitions changed: the process must be restarted.
   */
  readonly generation: () => number
}

/** Dependencies that each role of a process receives. */
export type SharedDependencies = Stores & {
  readonly config: Config
  readonly logger: Logger
  readonly webhookClient: WebhookHttpClient
  readonly idempotency: IdempotencyKeys
  readonly referenceChanges: ReferenceChanges
  readonly slowBacklog: SlowBacklog
  readonly signInFailures: Pick<SignInFailures, 'report'>
}

/** Dependencies of one turn of leased work. */
export type LeasedTurn = {
  /** Extend the lease by its full duration. Returns null if another process has the lease now. */
  readonly renewLease: () => Promise<Lease | null>
  /** Aborted when the process stops. */
  readonly signal: AbortSignal
}

/** Periodic work that one process at a time does under a lease. */
export type LeasedWork = {
  /** Name of the lease. */
  readonly name: string
  /** Pause in ms if no work is left. */
  readonly restMs: number
  /** Duration of the lease in ms; 10 s if absent. A third of it after the last renewal, the next turn renews it. */
  readonly leaseMs?: number
  /** Do a limited amount of work. Returns true if more work is left. An error is logged, and the work pauses. */
  readonly turn: (turn: LeasedTurn) => Promise<boolean>
  /** Called each time that another process has the lease. */
  readonly onStandby?: () => void
}

/** Operations, pages, background work and health checks of a role or wing. */
export type RoleModule = {
  /** Operations of customers. The OpenAPI documents list them. */
  readonly operations: readonly Binding[]
  /** Operations of the operator. The OpenAPI documents do not list them. */
  readonly operatorOperations: readonly Binding[]
  readonly staticRoutes: readonly StaticRoute[]
  /** Work that the processes of the query service do under leases. */
  readonly leasedWork: readonly LeasedWork[]
  /** Checks that the loops of the role make progress. */
  readonly liveChecks: readonly HealthCheck[]
  /** Checks of parts that can refuse requests while the process stays ready for the others. */
  readonly partChecks: readonly HealthCheck[]
  /** Add pages that call the API of this process. */
  readonly mount: (app: ReturnType<typeof createApp>) => void
}

export const emptyRoleModule: RoleModule = {
  operations: [],
  operatorOperations: [],
  staticRoutes: [],
  leasedWork: [],
  liveChecks: [],
  partChecks: [],
  mount: () => undefined,
}
