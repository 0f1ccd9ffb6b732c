import type { TimeZone } from '../domain/civil-time.ts'
import type { Result } from '../domain/refusal.ts'
import type { BearerTokens } from '../platform/access/bearer-token.ts'
import type { Secret } from '../platform/access/secrets.ts'
import type { DevicePage } from '../platform/clickhouse/meter-cost/meter-object-reads.ts'
import type { GeoPlace, PostalAddress } from '../platform/geocoding/geo-place.ts'
import type { IdempotencyKeys } from '../platform/http/idempotency-store.ts'
import type { Database } from '../platform/postgres/database.ts'
import type { OutboxMessage } from '../platform/postgres/events/outbox.ts'
import type { SourceRevision } from '../platform/postgres/pricing/pricing-input.ts'
import type { Tenant } from '../platform/postgres/transaction.ts'
import type { WorkThread } from '../platform/work-thread/work-thread.ts'

/** What the metering rows tell of a location or device. */
export type MeteringFacts = {
  /** When the newest record of each device was received (ms); devices without records are left out. */
  readonly lastSeen: (tenant: Tenant, deviceIds: readonly string[]) => Promise<ReadonlyMap<string, number>>
  /** Devices of which records at a location are stored: the next ones after a cursor by descending id, or before one (`isBack`) by ascending id. */
  readonly devicesAt: (tenant: Tenant, locationId: string, page: DevicePage) => Promise<readonly string[]>
  /** Whether any record of a device at a location is stored. */
  readonly wasMeteredAt: (tenant: Tenant, deviceId: string, locationId: string) => Promise<boolean>
  /** Whether any record of a location is stored. */
  readonly hasRecords: (tenant: Tenant, locationId: string) => Promise<boolean>
}

/** A supplier of energy as callers see it. */
export type Provider = { readonly id: string; readonly displayName: string; readonly logoUrl: string | null }

/** What the operations of this role are made from. */
export type QueryServiceDependencies = {
  readonly database: Database
  readonly metering: MeteringFacts
  /** Find suppliers by their ids; unknown ones are left out. */
  readonly providersOf: (ids: readonly string[]) => Promise<readonly Provider[]>
  /** Place an address offline; refuses what cannot be placed. */
  readonly geocode: (address: PostalAddress) => Result<GeoPlace>
  /** All market areas that an address may belong to, the likeliest first. */
  readonly areasOf: (address: PostalAddress) => readonly string[]
  /** Tell whether a code is that of a currency in use. */
  readonly isCurrency: (code: string) => boolean
  /** Find a zone by its IANA name; null when none has it. */
  readonly timeZone: (name: string) => TimeZone | null
  /** Put the orders of a committed change into their lanes. Never rejects: what cannot be put stays in the outbox, for the relay. */
  readonly publishRecosts: (orders: readonly OutboxMessage[]) => Promise<void>
  /** Tell the lanes of a committed change of a source's prices. Never rejects. */
  readonly announcePrices: (change: SourceRevision) => Promise<void>
  /** Tell what this process has in memory of own references that a tenant's may have changed; after the commit, before the answer. */
  readonly onReferencesChanged: (tenant: Tenant) => void
  /** Judge the address of a webhook endpoint; gives it in its plain form, or refuses `webhook_url_refused`. */
  readonly validateWebhookUrl: (url: string, liveMode: boolean) => Promise<Result<string>>
  /** Does what takes long. */
  readonly thread: Pick<WorkThread, 'begin'>
  readonly bearerTokens: BearerTokens
  readonly idempotency: Pick<IdempotencyKeys, 'finishWithin'>
  /** Secret under which API keys are hashed. */
  readonly secret: Secret
  /** Shown as a limit of the account; null for none. */
  readonly requestsPerSecond: number | null
}
