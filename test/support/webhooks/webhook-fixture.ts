import { rmSync } from 'node:fs'
import { publishEvents } from '../../../services/background/event-relay.ts'
import type { WebhookAttempt, WebhookDelivery } from '../../../services/domain/webhook/webhook-object.ts'
import { type Codec, openCodec } from '../../../services/platform/log/avro/codec.ts'
import { localSchemaIds } from '../../../services/platform/log/avro/schema-ids.ts'
import { openLmdbLog } from '../../../services/platform/log/lmdb/lmdb-log.ts'
import type { Log } from '../../../services/platform/log/log.ts'
import type { Database } from '../../../services/platform/postgres/database.ts'
import { writeEvents } from '../../../services/platform/postgres/events/events.ts'
import { changeTenant, type Tenant, withTenant } from '../../../services/platform/postgres/transaction.ts'
import { listAttempts, listDeliveries } from '../../../services/platform/postgres/webhooks/webhook-deliveries.ts'
import {
  createEndpoint,
  retrieveEndpoint,
  type StoredEndpoint,
} from '../../../services/platform/postgres/webhooks/webhook-endpoints.ts'
import { newWebhookSecret, webhookSeal } from '../../../services/platform/postgres/webhooks/webhook-secret.ts'
import { openWebhookHttpClient } from '../../../services/platform/webhook-client/webhook-http-client.ts'
import { startWebhookWorker } from '../../../services/webhook-worker/worker.ts'
import { acceptedValue } from '../accepted-value.ts'
import { endpointDraft } from '../registry/drafts.ts'
import { makeTenants, makeTestFolder, openTestDatabase } from '../stores/postgres.ts'
import { until } from '../system/until.ts'

const installationSecret = 'a secret of at least thirty-two characters'

/** A clock that only the test changes. */
export type Clock = { readonly at: () => number; readonly set: (at: number) => void }

export const openClock = (start: number): Clock => {
  let current = start
  return {
    at: () => current,
    set: at => {
      current = at
    },
  }
}

export type CreatedEndpoint = { readonly id: string; readonly secret: string }

/** The webhook worker on a real database and a real log. A test publishes the events itself. */
export type WebhookFixture = AsyncDisposable & {
  readonly database: Database
  readonly tenant: Tenant
  /** Errors that the worker logged. */
  readonly errors: unknown[]
  readonly subscribe: (url: string, eventTypes?: readonly string[]) => Promise<CreatedEndpoint>
  readonly endpoint: (id: string) => Promise<StoredEndpoint>
  /** Write events in one transaction and publish them. Return their ids. */
  readonly emit: (count: number, type?: string) => Promise<readonly string[]>
  /** Return the deliveries of an endpoint, oldest first. */
  readonly deliveries: (endpointId: string) => Promise<readonly WebhookDelivery[]>
  /** Wait for `count` attempts of a delivery. Return the attempts, oldest first. */
  readonly attempts: (deliveryId: string, count: number) => Promise<readonly WebhookAttempt[]>
}

type WebhookFixtureOptions = { readonly at: () => number; readonly random?: () => number; readonly timeoutMs?: number }

const page = { limit: 1_000, startingAfter: null, endingBefore: null }

type FixtureStores = { readonly database: Database; readonly tenant: Tenant; readonly log: Log; readonly codec: Codec }

const actionsOf = ({ database, tenant, log, codec }: FixtureStores, at: () => number) => ({
  subscribe: async (url: string, eventTypes: readonly string[] = ['*']): Promise<CreatedEndpoint> => {
    const secret = newWebhookSecret()
    const sealedSecret = (id: string) => webhookSeal(installationSecret).seal(secret, id)
    const draft = endpointDraft({ url, eventTypes, sealedSecret })
    const made = acceptedValue(
      await changeTenant(database, tenant, transaction => createEndpoint(transaction, draft, at())),
    )
    return { id: made.id, secret }
  },
  endpoint: async (id: string): Promise<StoredEndpoint> => {
    const found = await withTenant(database, tenant, transaction => retrieveEndpoint(transaction, id))
    if (found === null) throw new Error(`The endpoint ${id} does not exist.`)
    return found
  },
  emit: async (count: number, type = 'customer.create'): Promise<readonly string[]> => {
    const drafts = Array.from({ length: count }, (_, index) => ({
      type,
      objectId: `cus_${index}`,
      data: { id: `cus_${index}`, object: 'customer' },
    }))
    const events = await withTenant(database, tenant, transaction => writeEvents(transaction, drafts, at()))
    while (await publishEvents({ database, log, codec, onPublished: () => undefined }));
    return events.map(({ id }) => id)
  },
  deliveries: async (endpointId: string): Promise<readonly WebhookDelivery[]> => {
    const filter = { status: null, eventId: null }
    const list = await withTenant(database, tenant, transaction =>
      listDeliveries(transaction, endpointId, filter, page),
    )
    return list.ok ? list.value.items.toReversed() : []
  },
  attempts: (deliveryId: string, count: number): Promise<readonly WebhookAttempt[]> =>
    until(
      async () => {
        const list = await withTenant(database, tenant, transaction => listAttempts(transaction, deliveryId, page))
        return list.ok ? list.value.items.toReversed() : []
      },
      seen => seen.length >= count,
    ),
})

export const openWebhookFixture = async ({ at, random, timeoutMs }: WebhookFixtureOptions): Promise<WebhookFixture> => {
  const stack = new AsyncDisposableStack()
  const { database } = stack.use(await openTestDatabase())
  const { test: tenant } = await makeTenants(database)
  const folder = stack.adopt(makeTestFolder(), one => rmSync(one, { recursive: true, force: true }))
  const log = stack.adopt(await openLmdbLog({ folder, now: at }), one => one.close())
  const codec = await openCodec(localSchemaIds())
  const errors: unknown[] = []
  const webhookClient = stack.use(
    openWebhookHttpClient({
      allowedNetworks: ['127.0.0.0/8', '::1/128'],
      ...(timeoutMs === undefined ? {} : { timeoutMs }),
    }),
  )
  const recordError = (line: unknown): void => {
    errors.push(line)
  }
  const shared = { log, codec, at, database, webhookClient, secret: installationSecret, onAttempt: () => undefined }
  stack.use(
    await startWebhookWorker({
      ...shared,
      logger: { error: recordError, warn: () => undefined },
      ...(random === undefined ? {} : { random }),
    }),
  )
  return {
    database,
    tenant,
    errors,
    ...actionsOf({ database, tenant, log, codec }, at),
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}
