import type { Hono } from 'hono'
import sql from 'sql-template-tag'
import { currentInstant } from '../../../services/platform/clock.ts'
import { createApp } from '../../../services/platform/http/app.ts'
import type { Binding } from '../../../services/platform/http/binding.ts'
import type { Database } from '../../../services/platform/postgres/database.ts'
import type { OutboxMessage } from '../../../services/platform/postgres/events/outbox.ts'
import { createAccount } from '../../../services/platform/postgres/registry/accounts.ts'
import { createApiKey } from '../../../services/platform/postgres/registry/api-keys.ts'
import { openWebhookHttpClient } from '../../../services/platform/webhook-client/webhook-http-client.ts'
import { openWorkThread } from '../../../services/platform/work-thread/work-thread.ts'
import type { Provider, QueryServiceDependencies } from '../../../services/query-service/dependencies.ts'
import { queryServiceOperations } from '../../../services/query-service/operations.ts'
import { refusalEvents } from '../../../services/query-service/refusal-events.ts'
import { workThreadOptions } from '../../../services/query-service/work-thread/run-work.ts'
import { openHttpAccess, secret } from '../http/http-access.ts'
import { checkAnswersOf } from '../openapi/documented-answers.ts'
import { flatSchedule } from './object-fixture.ts'
import { useTestDatabase } from './use-database.ts'

/** Facts that replace stored meter data. Tests set them. */
type Facts = { readonly lastSeen: Map<string, number>; readonly withRecords: Set<string> }

/** The query service on a real database, called without a port. `published` lists the published recost requests. */
export type Service = {
  readonly app: Hono
  readonly database: Database
  readonly facts: Facts
  readonly published: OutboxMessage[]
  readonly errors: unknown[]
}

/**
 * Open the HTTP API over a database.
 * The test replaces the clock, the publication of recost requests and the meter data.
 */
export const openService = (
  database: Database,
  at: () => number = currentInstant,
  publish: QueryServiceDependencies['publishRecosts'] = async () => undefined,
  operationsOfWing: OperationsOfWing = () => [],
): Service => {
  const facts: Facts = { lastSeen: new Map(), withRecords: new Set() }
  const published: OutboxMessage[] = []
  const errors: unknown[] = []
  const { dependencies: shared, ports } = openHttpAccess(database)
  const dependencies: QueryServiceDependencies = {
    ...shared,
    thread: openWorkThread(workThreadOptions),
    metering: {
      lastSeen: async (_, ids) => new Map([...facts.lastSeen].filter(([id]) => ids.includes(id))),
      devicesAt: async () => [],
      wasMeteredAt: async () => false,
      hasRecords: async (_, id) => facts.withRecords.has(id),
      countRows: async (_, ids) => ids.filter(id => facts.withRecords.has(id)).length,
    },
    providersOf: async ids => {
      const { rows } = await database.operator<Provider>(sql`
        select id, display_name as "displayName", logo_url as "logoUrl" from providers where id = any(${ids})`)
      return rows
    },
    publishRecosts: async orders => {
      published.push(...orders)
      await publish(orders)
    },
    announcePrices: async () => undefined,
    onReferencesChanged: () => undefined,
    validateWebhookUrl: openWebhookHttpClient({ allowedNetworks: [] }).validateUrl,
  }
  const app = createApp([...queryServiceOperations(dependencies), ...operationsOfWing(dependencies)], [], {
    ...ports,
    onRefusal: refusalEvents(database, { warn: (fields: object) => void errors.push(fields) } as never),
    now: at,
    log: { warn: fields => errors.push(fields), error: fields => errors.push(fields) },
  })
  return { app: checkAnswersOf(app), database, facts, published, errors }
}

/** Open the HTTP API over a new database for the tests of a file. Close the database after the tests. */
export const useService = async (at?: () => number, operationsOfWing?: OperationsOfWing): Promise<Service> =>
  openService((await useTestDatabase()).database, at, undefined, operationsOfWing)

/** Operations of a wing on the same dependencies. */
type OperationsOfWing = (dependencies: QueryServiceDependencies) => readonly Binding[]

/** An answer with its body as text and as an object. */
export type Answer = {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly body: Readonly<Record<string, unknown>>
}

/** Return the text of an answer with masked ids and creation times. */
export const maskedText = (answer: Pick<Answer, 'text'>): string =>
  `${JSON.stringify(JSON.parse(answer.text), null, 2)}\n`
    .replace(/\b([a-z]{3})_[0-9a-f]{24}\b/g, '$1_…')
    .replace(/("(?:time_created|last_seen)": )"[^"]+"/g, '$1"…"')
    .replace(/("request_id": )"[^"]+"/g, '$1"…"')

export type Call = (
  method: string,
  path: string,
  body?: unknown,
  headers?: Readonly<Record<string, string>>,
) => Promise<Answer>

/** Create a caller of the HTTP API. A body that is not a string is sent as JSON. */
export const caller =
  (app: Hono, ownHeaders: Readonly<Record<string, string>>): Call =>
  async (method, path, body, headers = {}) => {
    const content = body === undefined ? {} : { 'content-type': 'application/json' }
    const init = { method, headers: { ...content, ...ownHeaders, ...headers } }
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    const response = await app.request(path, body === undefined ? init : { ...init, body: text })
    const written = await response.text()
    return {
      status: response.status,
      headers: response.headers,
      text: written,
      body: written === '' ? {} : JSON.parse(written),
    }
  }

/**
 * An account with a key in one mode. `call` sends its bearer token; `basic` is the Authorization header of its login.
 */
export type Client = { readonly accountId: string; readonly keyId: string; readonly basic: string; readonly call: Call }

/** Create an account with a key of full scope in each mode, and log in with both keys. */
export const makeAccount = async ({
  app,
  database,
}: Service): Promise<{ readonly live: Client; readonly test: Client }> => {
  const at = currentInstant()
  const account = await createAccount(
    database.operator,
    { displayName: 'Test', defaultApiVersion: 'current', requestsPerSecond: null },
    at,
  )
  const logIn = async (liveMode: boolean): Promise<Client> => {
    const tenant = { accountId: account.id, liveMode }
    const created = await createApiKey(database.operator, tenant, { scope: 'all', description: null }, secret, at)
    const basic = `Basic ${btoa(`${account.id}:${created.secret}`)}`
    const { body } = await caller(app, { authorization: basic })('GET', '/login')
    return {
      accountId: account.id,
      keyId: created.apiKey.id,
      basic,
      call: caller(app, { authorization: `Bearer ${body['bearer_token']}` }),
    }
  }
  return { live: await logIn(true), test: await logIn(false) }
}

/** Return the id of an answer. Throws if there is none. */
export const idOf = ({ body, text }: Answer): string => {
  if (typeof body['id'] !== 'string') throw new Error(`The answer has no id: ${text}`)
  return body['id']
}

/** Return the objects of a list answer. Throws if the answer is not a list. */
export const listed = ({ body, text }: Answer): readonly Readonly<Record<string, unknown>>[] => {
  if (!Array.isArray(body['data'])) throw new Error(`The answer is not a list: ${text}`)
  return body['data']
}

/** Create an object. Return its id. */
export const make = async (client: Client, path: string, body: object): Promise<string> => {
  const answer = await client.call('POST', path, body)
  if (answer.status >= 300) throw new Error(`POST ${path}: ${answer.text}`)
  return idOf(answer)
}

/** Create a location in the time zone of Berlin with the currency EUR. */
export const makeLocation = (client: Client, more: object = {}): Promise<string> =>
  make(client, '/locations', { timezone: 'Europe/Berlin', currency_code: 'EUR', ...more })

/** Body of a tariff with one price and without contract dates. */
export const flatTariff = (locationId: string, more: object = {}) => ({
  location_id: locationId,
  direction: 'IMPORT',
  type: 'COMMODITY',
  schedule: flatSchedule,
  ...more,
})

/** Contract dates of a calendar year in UTC. */
export const contractYear = (year: number) => ({
  contract_start_date: `${year}-01-01T00:00:00Z`,
  contract_end_date: `${year + 1}-01-01T00:00:00Z`,
})
