import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Sandbox } from '../../services/platform/access/sandbox-file.ts'
import { type RawReply, rawSender } from '../support/http/raw-http.ts'
import { createOtherAccount, openRecords, tokenOf } from '../support/registry/accounts.ts'
import { closeWithRun } from '../support/system/close-with-run.ts'
import { startPrepared } from '../support/system/prepared-folder.ts'
import { dataFolder, removeData } from '../support/system/running-system.ts'
import { allHours } from '../support/tariffs/all-hours.ts'
import type { ProbeRequest } from './probe.ts'

/** Caller of one account in live mode. A request has status 0 if the server closes the connection. */
export type Caller = {
  readonly send: (
    method: string,
    path: string,
    body?: unknown,
    headers?: Readonly<Record<string, string>>,
  ) => Promise<RawReply>
  /** Send a request and return its JSON. Retries while the service answers 429 or 503. Throws for other errors. */
  readonly ask: <T>(
    method: string,
    path: string,
    body?: unknown,
    headers?: Readonly<Record<string, string>>,
  ) => Promise<T>
  readonly authorization: string
}

/** Service under test: an account that sends inputs, and the requests of another account for probes. */
export type Target = {
  readonly serviceUrl: string
  /** Null if the service exports no metrics. */
  readonly metricsUrl: string | null
  /** Processes of the service, first the service itself, then PostgreSQL. */
  readonly pids: readonly number[]
  readonly requests: readonly ProbeRequest[]
  readonly hostile: Caller
  /** Hostile account in test mode, in which webhooks may use http. */
  readonly hostileTest: Caller
  readonly other: Caller
  /** Keys of the hostile account. */
  readonly sandbox: Sandbox
}

const cut: RawReply = { status: 0, headers: {}, text: '' }
/**
 * Return true if the caller must retry. On a busy machine the service can also refuse reads; the retries count as
 * waits.
 */
const mustRetry = ({ status }: RawReply): boolean => status === 429 || status === 503
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
        if (!mustRetry(reply) || performance.now() > deadline)
          throw new Error(`${method} ${path}: ${reply.status} ${reply.text}`)
      }
    },
  }
}

type WithId = { readonly id: string }

const hourly = { start_time: '2025-09-15T10:00:00Z', end_time: '2025-09-15T11:00:00Z' }

/** Create a location with a price and a record, and return the probes that read them. Most of the probes are cheap. */
const readsOf = async (other: Caller): Promise<readonly ProbeRequest[]> => {
  const locationBody = { timezone: 'Europe/Berlin', currency_code: 'EUR' }
  const { id } = await other.ask<WithId>('POST', '/locations', locationBody)
  await other.ask('POST', '/tariffs', {
    location_id: id,
    direction: 'IMPORT',
    type: 'COMMODITY',
    schedule: allHours([{ fixed: 0.3 }]),
  })
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

/** Start an embedded service on a new data folder, with two accounts. Webhooks may go to this machine. */
export const openTarget = async (): Promise<Target & AsyncDisposable> => {
  const folder = dataFolder()
  const system = await startPrepared(folder, { WATTLEDGER_WEBHOOK_ALLOW_NETWORKS: '127.0.0.0/8' })
  const { sandbox } = system
  const database = await openRecords(folder)
  const otherAccount = await createOtherAccount(database, folder, sandbox)
  await database[Symbol.asyncDispose]()
  const hostile = callerOf(sandbox.base_url, await tokenOf(sandbox, sandbox.live_key))
  const other = callerOf(sandbox.base_url, await tokenOf(otherAccount, otherAccount.live_key))
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
