import type { TimeZone } from '../domain/civil-time.ts'
import type { GeoPlace, PostalAddress } from '../domain/geocoding/geo-place.ts'
import type { Result } from '../domain/refusal.ts'
import type { Tenant } from '../domain/tenant.ts'
import type { BearerTokens } from '../platform/access/bearer-token.ts'
import type { Secret } from '../platform/access/secrets.ts'
import type { ClickHouse } from '../platform/clickhouse/clickhouse.ts'
import type { IdempotencyKeys } from '../platform/http/idempotency-store.ts'
import type { BatchIds } from '../platform/ids/batch-id.ts'
import type { Database } from '../platform/postgres/database.ts'
import type { OutboxMessage } from '../platform/postgres/events/outbox.ts'
import type { SourceRevision } from '../platform/postgres/pricing/pricing-input.ts'
import type { WorkThread } from '../platform/work-thread/work-thread.ts'
import type { MeteringFacts } from './costs/metering-facts.ts'
import type { TableStreams } from './exports/table-streams.ts'

/** Supplier of energy as callers see it. */
export type Provider = { readonly id: string; readonly displayName: string; readonly logoUrl: string | null }

/** Stores, clients and settings that the operations of this role use. */
export type QueryServiceDependencies = {
  readonly database: Database
  readonly metering: MeteringFacts
  /** Find suppliers by their ids. Unknown ids are left out. */
  readonly providersOf: (ids: readonly string[]) => Promise<readonly Provider[]>
  /** Find time zone, currency and coordinates of an address, offline. Refuses an address that is not found. */
  readonly geocode: (address: PostalAddress) => Result<GeoPlace>
  /** List the market areas that an address may belong to, the most likely area first. */
  readonly areasOf: (address: PostalAddress) => readonly string[]
  /** Return whether a code is the code of a currency in use. */
  readonly isCurrency: (code: string) => boolean
  /** Find a time zone by its IANA name; null if the name is unknown. */
  readonly timeZone: (name: string) => TimeZone | null
  /** Send the recost requests of a committed change. Never rejects: the relay sends those that fail from the outbox. */
  readonly publishRecosts: (recostRequests: readonly OutboxMessage[]) => Promise<void>
  /** Notify the partitions of a committed change of a source's prices. Never rejects. */
  readonly announcePrices: (change: SourceRevision) => Promise<void>
  /** Clear the cached own references of a tenant in this process. Called after the commit, before the answer. */
  readonly onReferencesChanged: (tenant: Tenant) => void
  /** Validate the URL of a webhook endpoint and return its normal form. Refuses `webhook_url_refused`. */
  readonly validateWebhookUrl: (url: string, liveMode: boolean) => Promise<Result<string>>
  /** Thread that runs the work of large requests. */
  readonly thread: Pick<WorkThread, 'begin'>
  readonly bearerTokens: BearerTokens
  readonly idempotency: Pick<IdempotencyKeys, 'finishWithin'>
  /** Secret of the hashes of API keys. */
  readonly secret: Secret
  /** Start of links to the console; empty if the address of the service is unknown. */
  readonly publicUrl: string
  /** Default rate limit of an account, for display; null if there is none. */
  readonly requestsPerSecond: number | null
}

/** Dependencies of the operations on costs, records and receipts. */
export type CostDependencies = {
  readonly database: Database
  readonly clickHouse: ClickHouse
  readonly batchIds: BatchIds
  readonly streams: TableStreams
  /** Find a time zone by its IANA name; null if the name is unknown. */
  readonly timeZone: (name: string) => TimeZone | null
  /** Thread that runs the work of large requests. */
  readonly thread: Pick<WorkThread, 'begin'>
}
