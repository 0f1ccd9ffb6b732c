import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Sandbox } from '../../services/platform/access/sandbox-file.ts'
import { closeWithRun } from '../bench/interrupted.ts'
import { type RawReply, rawSender } from '../support/http/raw-http.ts'
import { createOtherAccount, openRecords, tokenOf } from '../support/registry/accounts.ts'
import { dataFolder, removeData, startSystem } from '../support/system/running-system.ts'
import type { ProbeRequest } from './probe.ts'

/** A caller of one account in live mode. Requests that the server cuts resolve with status 0. */
export type Caller = {
  readonly send: (
    method: string,
    path: string,
    body?: unknown,
    headers?: Readonly<Record<string, string>>,
  ) => Promise<RawReply>
  /** The same for success alone, as JSON; waits where the rate limit, a pending batch or a busy service asks for it. */
  readonly ask: <T>(
    method: string,
    path: string,
    body?: unknown,
    headers?: Readonly<Record<string, string>>,
  ) => Promise<T>
  readonly authorization: string
}

/** The service under test: an account that sends inputs, and the requests of another account beside them. */
export type Target = {
  readonly serviceUrl: string
  /** Null where the service exports no metrics. */
  readonly metricsUrl: string | null
  /** The service itself first, then PostgreSQL. */
  readonly pids: readonly number[]
  readonly requests: readonly ProbeRequest[]
  readonly hostile: Caller
  /** The hostile account in test mode, in which webhooks may go to http. */
  readonly hostileTest: Caller
  readonly other: Caller
  /** The keys of the hostile account. */
  readonly sandbox: Sandbox
}

const cut: RawReply = { status: 0, headers: {}, text: '' }
/** A busy machine may refuse reads too: the time that the caller waits for them counts. */
const isPending = ({ status }: RawReply): boolean => status === 429 || status === 503
const timeoutMs = 120_000

/** Call a service with a token. */
export const callerOf = (serviceUrl: string, token: string): Caller => {
  const sender = rawSender(serviceUrl, 64)
  const authorization = `Bearer ${token}`
  const send: Caller['send'] = (method, path, body, headers = {}) => {
    const bytes =
      body === undefined || typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body)
    const all = { authorization, ...(bytes === undefined ? {} : { 'content-type': 'application/json' }), ...headers }
    return sender.send({ method, path, headers: all, ...(bytes === undefined ? {} : { body: bytes }) }).catch(() => cut)
  }
  return {
    send,
    authorization,
    ask: async (method, path, body, headers) => {
      for (const deadline = performance.now() + timeoutMs; ; await new Promise(resolve => setTimeout(resolve, 200))) {
        const reply = await send(method, path, body, headers)
        if (reply.status >= 200 && reply.status < 300) return JSON.parse(reply.text)
        if (!isPending(reply) || performance.now() > deadline)
          throw new Error(`${method} ${path}: ${reply.status} ${reply.text}`)
      }
    },
  }
}

type WithId = { readonly id: string }

const hourly = { start_time: '2025-09-15T10:00:00Z', end_time: '2025-09-15T11:00:00Z' }
const flat = [
  { days_and_hours: [{ hours: [{ valid_from: '00:00:00', valid_to: '00:00:00', rate: [{ fixed: 0.3 }] }] }] },
]

/** Give an account a location with a price and a record; return the probes that read them, most of them cheap. */
const readsOf = async (other: Caller): Promise<readonly ProbeRequest[]> => {
  const locationBody = { timezone: 'Europe/Berlin', currency_code: 'EUR' }
  const { id } = await other.ask<WithId>('POST', '/locations', locationBody)
  await other.ask('POST', '/tariffs', { location_id: id, direction: 'IMPORT', type: 'COMMODITY', schedule: flat })
  const batch = await other.ask<WithId>('PUT', '/meters/interval', [
    { location_id: id, units: 'KWH', value: 1, ...hourly },
  ])
  await other.ask('GET', `/meters/batch?batch_id=${batch.id}`)
  const headers = { authorization: other.authorization, 'content-type': 'application/json' }
  const live = { kind: 'live', method: 'GET', path: '/health/live', headers: {} } as const
  const object = { kind: 'object', method: 'GET', path: `/locations/${id}`, headers } as const
  const cost = {
    kind: 'cost',
    method: 'POST',
    path: `/costs/interval/${id}`,
    headers,
    body: JSON.stringify(hourly),
  } as const
  return [live, object, live, object, live, cost, live, object]
}

const postmasterOf = (folder: string): readonly number[] => {
  try {
    return [Number(readFileSync(join(folder, 'postgres', 'postmaster.pid'), 'utf8').split('\n')[0])]
  } catch {
    return []
  }
}

/** Start the whole service in one process on an empty folder, with two accounts. Webhooks may go to this machine. */
export const openTarget = async (): Promise<Target & AsyncDisposable> => {
  const folder = dataFolder()
  const system = await startSystem(folder, { WATTLEDGER_WEBHOOK_ALLOW_NETWORKS: '127.0.0.0/8' })
  const { sandbox } = system
  const database = await openRecords(folder)
  const stranger = await createOtherAccount(database, folder, sandbox)
  await database[Symbol.asyncDispose]()
  const hostile = callerOf(sandbox.base_url, await tokenOf(sandbox, sandbox.live_key))
  const other = callerOf(sandbox.base_url, await tokenOf(stranger, stranger.live_key))
  return closeWithRun({
    serviceUrl: sandbox.base_url,
    metricsUrl: system.metricsUrl,
    pids: [system.process.pid ?? 0, ...postmasterOf(folder)],
    requests: await readsOf(other),
    hostile,
    hostileTest: callerOf(sandbox.base_url, await tokenOf(sandbox, sandbox.test_key)),
    other,
    sandbox,
    [Symbol.asyncDispose]: async () => {
      await system[Symbol.asyncDispose]()
      removeData(folder)
    },
  })
}
