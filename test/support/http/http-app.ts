import type { Hono } from 'hono'
import { z } from 'zod'
import { fields, integer, oneOf, optional, text } from '../../../services/contract/field.ts'
import { scaledNumber } from '../../../services/contract/json/exact-number.ts'
import { type Caller, defineOperation, sameRoute } from '../../../services/contract/operation.ts'
import { flag, instantParameter, parameters } from '../../../services/contract/parameter.ts'
import { noReferenceIds } from '../../../services/domain/reference.ts'
import { accepted, refused } from '../../../services/domain/refusal.ts'
import { wrongKey } from '../../../services/platform/access/verify-key.ts'
import { Failure } from '../../../services/platform/failure.ts'
import { type App, createApp } from '../../../services/platform/http/app.ts'
import {
  type Binding,
  bind,
  type ClaimResult,
  defaultLimits,
  type IdempotencyStore,
  type Limits,
  type Ports,
  type StaticRoute,
} from '../../../services/platform/http/binding.ts'

/* Operations that cover every case of the HTTP API, each with a short implementation. */

const answer = { name: 'Echo', shape: z.object({}).loose() }
const base = { summary: 'Test', description: 'Test.', tag: 'Test', access: 'all', answer, status: 200 } as const

export const echo = defineOperation({
  ...base,
  id: 'thing_create',
  routes: sameRoute('POST', '/things'),
  query: parameters({ loud: flag.optional(), at: instantParameter.optional(), non_persistent: flag.optional() }),
  body: fields({
    name: text(),
    tariff_direction: optional(oneOf('IMPORT', 'EXPORT')),
    count: optional(integer({ min: 0, max: 9 })),
  }),
  renames: {
    body: [{ current: 'tariff_direction', earlier: 'direction' }],
    answer: [{ current: 'tariff_direction', earlier: 'direction' }],
  },
  status: 201,
  idempotent: true,
})

export const retrieve = defineOperation({
  ...base,
  id: 'thing_retrieve',
  access: 'read',
  csv: true,
  routes: sameRoute('GET', '/things/{id}'),
})
export const remove = defineOperation({
  ...base,
  id: 'thing_delete',
  routes: sameRoute('DELETE', '/things/{id}'),
  status: 202,
})
export const price = defineOperation({
  ...base,
  id: 'price_retrieve',
  access: 'read',
  routes: {
    current: [{ method: 'POST', path: '/prices/{id}' }],
    earlier: [{ method: 'GET', path: '/tariffs/rates/{id}', bodyInQuery: { numbers: [] } }],
  },
  body: fields({ end_time: optional(text()) }),
})
export const submit = defineOperation({
  ...base,
  id: 'batch_submit',
  access: 'metering',
  routes: sameRoute('PUT', '/meters/interval'),
  body: 'raw',
  bodyLimit: 2 ** 24,
  mediaTypes: ['application/x-ndjson'],
})
export const login = defineOperation({
  ...base,
  id: 'account_login',
  access: 'login',
  routes: { current: [{ method: 'GET', path: '/login' }], earlier: [{ method: 'GET', path: '/login' }] },
})
export const flow = defineOperation({
  ...base,
  id: 'connect_step',
  access: 'open',
  routes: sameRoute('POST', '/flow'),
  body: 'raw',
  anyMediaType: true,
  cors: true,
})
export const failing = defineOperation({
  ...base,
  id: 'trouble_make',
  access: 'read',
  routes: sameRoute('GET', '/trouble/{id}'),
})
export const operators = defineOperation({
  ...base,
  id: 'source_delete',
  operator: true,
  routes: sameRoute('DELETE', '/sources/{id}'),
})

const failWith = async (id: string, waiting: string[]) => {
  if (id === 'away') throw new Failure('store_away', 'SECRET host unreachable', { retriable: true })
  if (id === 'slow') {
    waiting.push(id)
    await new Promise(resolve => setTimeout(resolve, 60_000).unref())
  }
  throw new Error('SECRET /etc/passwd')
}

const bindings = (created: unknown[], waiting: string[]): readonly Binding[] => [
  bind(echo, async request => {
    if (request.body.name === 'refuse')
      return refused('reference_id_taken', 'tariff_direction is taken', 'tariff_direction')
    if (request.body.name === 'wait') {
      waiting.push('wait')
      await new Promise(resolve => setTimeout(resolve, 300))
    }
    if (request.query.non_persistent !== true) created.push(request.body)
    return accepted({
      number: created.length,
      apiVersion: request.apiVersion,
      ...request.query,
      ...request.body,
      exact: scaledNumber(1n, 9),
    })
  }),
  bind(
    retrieve,
    async ({ id }) =>
      id === 'none'
        ? refused('not_found', 'There is no thing with this id')
        : accepted({ id, filler: 'x'.repeat(2_000) }),
    (_, apiVersion) => (apiVersion === 'current' ? 'id\n1\n' : 'earlier_id\n1\n'),
  ),
  bind(remove, async () => accepted({ message: 'Accepted' })),
  bind(price, async ({ id, apiVersion, body }) => accepted({ id, layout: apiVersion, ...body })),
  bind(submit, async ({ body }) => accepted({ length: body.bytes.length, mediaType: body.mediaType })),
  bind(login, async ({ caller: { keyId } }) => accepted({ bearer_token: 'all', key: keyId })),
  bind(flow, async ({ body }) =>
    body.bytes.length > 0
      ? accepted({ route: 'next' })
      : {
          ...refused('body_invalid', 'Send a route'),
          context: 'connect.session_start',
          connectToken: 'cot_1',
          apiVersion: 'earlier' as const,
        },
  ),
  bind(failing, ({ id }) => failWith(id, waiting)),
  bind(operators, async ({ caller }) => accepted({ by: caller.scope })),
]

const caller = (scope: Caller['scope'], defaultApiVersion: Caller['defaultApiVersion'] = 'current'): Caller => ({
  accountId: 'acc_1',
  liveMode: false,
  keyId: 'key_1',
  scope,
  defaultApiVersion,
})

/** Callers by token. The token names the scope of its caller. */
const callers: Readonly<Record<string, Caller>> = {
  all: caller('all'),
  read: caller('read'),
  metering: caller('metering'),
  live: { ...caller('all'), liveMode: true },
  'live-other': { ...caller('all'), accountId: 'acc_2', liveMode: true },
  'all-earlier': caller('all', 'earlier'),
  'all-twice': { ...caller('all'), accountId: 'acc_2', requestsPerSecond: 2 },
}

/** Callers by API key. */
const keys: Readonly<Record<string, Caller>> = {
  right: caller('all'),
  sk_right: caller('all'),
  sk_read: caller('read'),
  sk_metering: caller('metering'),
  sk_other: { ...caller('all'), accountId: 'acc_2', liveMode: true },
}

/** Create an idempotency store in memory with the rules of the port. */
export const keysInMemory = (): IdempotencyStore => {
  const stored = new Map<string, { fingerprint: string; claimed: ClaimResult }>()
  const nameOf = ({ accountId, liveMode, key }: { accountId: string; liveMode: boolean; key: string }) =>
    `${accountId} ${liveMode} ${key}`
  return {
    begin: async claim => {
      const storedClaim = stored.get(nameOf(claim))
      if (storedClaim === undefined) {
        stored.set(nameOf(claim), { fingerprint: claim.fingerprint, claimed: { state: 'running' } })
        return { state: 'new' }
      }
      return storedClaim.fingerprint === claim.fingerprint ? storedClaim.claimed : { state: 'mismatch' }
    },
    finish: async (claim, savedAnswer) => {
      stored.set(nameOf(claim), { fingerprint: claim.fingerprint, claimed: { state: 'done', answer: savedAnswer } })
    },
    abandon: async claim => {
      stored.delete(nameOf(claim))
    },
  }
}

export type TestApp = {
  readonly app: App
  readonly ports: Ports
  /** Bodies that the create operation received. */
  readonly created: readonly unknown[]
  /** Slow requests that have started. */
  readonly waiting: () => readonly string[]
  readonly logged: readonly object[]
  readonly observed: readonly { readonly operation: string; readonly status: number }[]
}

const pages: readonly StaticRoute[] = [
  { path: '/health/live', read: async () => ({ status: 200, mediaType: 'application/json', body: '{}' }) },
  {
    path: '/docs/*',
    read: async path => {
      if (path === '/docs/broken') throw new Error('SECRET')
      return path === '/docs/a'
        ? { status: 200, mediaType: 'text/html', body: '<p>', headers: { 'Cache-Control': 'max-age=60' } }
        : null
    },
  },
]

/** Create the HTTP API over the operations above. */
export const testApp = (limits: Partial<Limits> = {}, changed: Partial<Ports> = {}): TestApp => {
  const created: unknown[] = []
  const waiting: string[] = []
  const logged: object[] = []
  const observed: { operation: string; status: number }[] = []
  let requestCount = 0
  const ports: Ports = {
    authenticate: async token => {
      const known = callers[token]
      if (token === 'old') return refused('token_expired', 'Log in again')
      return known === undefined ? refused('bad_credentials', 'Log in') : accepted(known)
    },
    verifyKey: async ({ accountId, apiKey }) => {
      const known = keys[apiKey]
      return known === undefined || (accountId !== null && accountId !== known.accountId) ? wrongKey : accepted(known)
    },
    authenticateOperator: key => (key === 'operator-secret' ? caller('operator') : null),
    findReferences: async () => noReferenceIds,
    idempotency: keysInMemory(),
    now: () => 1_757_844_000_000,
    elapsed: () => performance.now(),
    newRequestId: () => `req_${++requestCount}`,
    log: { warn: logFields => logged.push(logFields), error: logFields => logged.push(logFields) },
    observe: observation => observed.push(observation),
    ...changed,
  }
  const app = createApp(bindings(created, waiting), pages, ports, { ...defaultLimits, ...limits })
  return { app, ports, created, waiting: () => waiting, logged, observed }
}

/** Send one request with a token and a peer address. */
export const send = async (
  app: Hono,
  method: string,
  path: string,
  {
    token = 'all',
    headers = {},
    body,
    peer,
  }: { token?: string | null; headers?: Record<string, string>; body?: unknown; peer?: string } = {},
) => {
  const isRaw = typeof body === 'string' || body instanceof Uint8Array
  const init = {
    method,
    headers: {
      ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: isRaw ? (body as string | Uint8Array<ArrayBuffer>) : JSON.stringify(body) }),
  }
  const environment = peer === undefined ? undefined : { incoming: { socket: { remoteAddress: peer } } }
  const response = await app.request(`http://test${path}`, init, environment)
  const written = await response.text()
  const isJson = response.headers.get('content-type')?.startsWith('application/json') === true && written !== ''
  return {
    status: response.status,
    headers: response.headers,
    text: written,
    json: isJson ? JSON.parse(written) : undefined,
  }
}
