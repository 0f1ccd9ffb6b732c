import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import { defaultWriteLimitMs } from '../../../services/ingest-gateway/write-limit.ts'
import type { Client } from '../system/client.ts'
import { bought, makeHome } from '../system/home.ts'
import { recordsOf } from '../system/stored-costs.ts'
import { until } from '../system/until.ts'
import type { RoleProcess } from './processes.ts'

/** Maximum time in ms of an answer without a broker: the time limit of a submission, and 4 s for a busy machine. */
const answerMs = defaultWriteLimitMs + 4_000
/** Maximum time of a health check in ms. */
const healthMs = 4_000
const homeCount = 6

/** Read the health of a process. Expects an answer within `healthMs`. */
export const healthOf = async ({ url }: Pick<RoleProcess, 'url'>, kind: 'live' | 'ready') => {
  const requestedAt = performance.now()
  const answer = await fetch(`${url}/health/${kind}`)
  const { checks } = (await answer.json()) as { readonly checks: Readonly<Record<string, boolean>> }
  const ms = performance.now() - requestedAt
  expect(ms).toBeLessThan(healthMs)
  return { status: answer.status, checks }
}

/**
 * Stop all brokers with `takeAway` and start them again with the function that it returns.
 * During the outage, each submission is answered with 503 in time, each process is live,
 * and no process that needs the log is ready. After the outage, the same processes store each record once.
 * Return the measured times as a text.
 */
export const verifyLogOutage = async (
  { client, processes }: { readonly client: Client; readonly processes: readonly RoleProcess[] },
  stopBrokers: () => Promise<() => Promise<void>>,
): Promise<string> => {
  const homeIds = await Promise.all(Array.from({ length: homeCount }, () => makeHome(client, { import: 0.3 })))
  const recordOf = (home: string, hour: number) =>
    bought(home, 2, `2025-06-02T1${hour}:00:00Z`, `2025-06-02T1${hour + 1}:00:00Z`)
  const submit = async (home: string, hour: number) => {
    const requestedAt = performance.now()
    const { status, headers } = await client.send('PUT', '/meters/interval', [recordOf(home, hour)])
    return { status, ms: performance.now() - requestedAt, retryAfter: Number(headers.get('Retry-After')) }
  }
  for (const home of homeIds) await client.submit([recordOf(home, 0)])

  const restartBrokers = await stopBrokers()
  const first = Promise.all(homeIds.map(home => submit(home, 1)))
  // The second submissions follow the first ones in the same partitions.
  await sleep(300)
  const second = Promise.all(homeIds.map(home => submit(home, 2)))
  for (const one of processes) expect((await healthOf(one, 'live')).status).toBe(200)
  const readiness = await Promise.all(processes.map(one => healthOf(one, 'ready')))
  for (const { status, checks } of readiness)
    expect([status, checks['log'] ?? false]).toEqual([checks['log'] === undefined ? 200 : 503, false])
  const refused = [...(await first), ...(await second)]
  const restarting = restartBrokers()
  for (const { status, ms, retryAfter } of refused) {
    expect([status, retryAfter > 0]).toEqual([503, true])
    expect(ms).toBeLessThan(answerMs)
  }
  await restarting

  const backAt = performance.now()
  const missing = homeIds.flatMap(home => [recordOf(home, 1), recordOf(home, 2)])
  await until(
    () => client.send('PUT', '/meters/interval', missing),
    ({ status }) => status === 200,
  )
  const tookMs = performance.now() - backAt
  for (const home of homeIds) {
    const rows = await until(
      () => recordsOf(client, home),
      ({ length }) => length === 3,
    )
    expect(rows.map(({ data }) => [data.start_time, data.tariff.cost.value])).toEqual(
      [2, 1, 0].map(hour => [`2025-06-02T1${hour}:00:00Z`, 0.6]),
    )
  }
  for (const one of processes) {
    expect(one.hasExited()).toBe(false)
    await until(
      () => healthOf(one, 'ready'),
      ({ status }) => status === 200,
    )
  }
  const slowest = Math.max(...refused.map(({ ms }) => ms))
  return `503 within ${Math.round(slowest)} ms, accepted again after ${Math.round(tookMs)} ms`
}
