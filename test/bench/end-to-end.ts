import { fork } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { login } from '../support/client.ts'
import { dataFolder, type RunningSystem, removeData, startSystem } from '../support/running-system.ts'
import { bodiesOf, createFleet, type Pricing } from './fleet.ts'
import type { LoadPlan, LoadResult } from './load.ts'
import { tokenOf } from './token.ts'

export type EndToEnd = {
  readonly recordsPerSecond: number
  readonly load: LoadResult
  /** Records accepted and not yet stored, once a second. */
  readonly backlog: readonly number[]
  readonly lost: number
  readonly rssMb: number
  /** From accepted to stored, in seconds, of the chunks of the whole run. */
  readonly lag: { readonly p50: number; readonly p99: number }
}

/** Run a load in a process of its own. */
export const forkLoad = (plan: LoadPlan): Promise<LoadResult> =>
  new Promise((resolve, reject) => {
    const child = fork(new URL('./load.ts', import.meta.url), { execArgv: [] })
    child.once('message', result => resolve(result as LoadResult))
    child.once('error', reject)
    child.once('exit', code => (code === 0 ? undefined : reject(new Error(`the load ended with ${code}`))))
    child.send(plan)
  })

/** The sum of a metric over its labels. */
export const metricOf = async (system: RunningSystem, name: string): Promise<number> => {
  const text = await (await fetch(system.metricsUrl)).text()
  return text
    .split('\n')
    .filter(line => line.startsWith(`${name} `) || line.startsWith(`${name}{`))
    .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' ') + 1)), 0)
}

/** A share of a histogram's values lies below this; within a bucket they count as spread evenly. */
const quantileOf = (text: string, name: string, share: number): number => {
  const buckets = [...text.matchAll(new RegExp(`^${name}_bucket\\{le="([^"]+)"\\} (\\d+)`, 'gm'))].map(([, le, count]) => [
    Number(le),
    Number(count),
  ])
  const wanted = (buckets.at(-1)?.[1] ?? 0) * share
  let [below, counted] = [0, 0]
  for (const [le = 0, count = 0] of buckets) {
    if (count >= wanted) return Number.isFinite(le) ? below + ((le - below) * (wanted - counted)) / Math.max(1, count - counted) : below
    ;[below, counted] = [le, count]
  }
  return below
}

/** What the worker's steps took, for whoever looks for the time. */
const stepLines = async (system: RunningSystem): Promise<string> => {
  const text = await (await fetch(system.metricsUrl)).text()
  return `${text
    .split('\n')
    .filter(line => /worker_step\w+_(sum|count)|visible_lag_seconds_(sum|count)|cpu_(user|system)_seconds_total/.test(line))
    .join('\n')}\n`
}

/** Measure records a second that are accepted, priced and stored, with the load beside on the same machine. Promise P1. */
export const endToEnd = async (options: {
  readonly seconds: number
  readonly rate: number | null
  readonly locations: number
  readonly connections: number
  readonly pricing?: Pricing
}): Promise<EndToEnd> => {
  const folder = dataFolder()
  const system = await startSystem(folder)
  try {
    const client = await login(system.sandbox)
    const fleet = await createFleet(client, options.locations, options.locations * 2, options.pricing)
    const token = await tokenOf(system.sandbox)
    const { hostname: host, port } = new URL(system.sandbox.base_url)
    const plan: LoadPlan = {
      host,
      port: Number(port),
      path: '/meters/interval',
      token,
      bodies: bodiesOf(fleet, 500),
      recordsPerBody: 500,
      connections: options.connections,
      seconds: options.seconds,
      rate: options.rate,
      firstSlot: Date.parse('2025-01-01T00:00:00Z'),
      slotMs: 900_000,
    }
    const startedAt = performance.now()
    const running = forkLoad(plan)
    const backlog: number[] = []
    let done = false
    const watching = (async () => {
      while (!done) {
        await sleep(1000)
        const accepted = await metricOf(system, 'wattledger_records_accepted_total')
        backlog.push(accepted - (await metricOf(system, 'wattledger_records_stored_total')))
      }
    })()
    const load = await running
    done = true
    await watching
    let stored = 0
    for (let waitedMs = 0; waitedMs < 60_000; waitedMs += 50) {
      stored = await metricOf(system, 'wattledger_records_stored_total')
      if (stored >= load.records) break
      await sleep(50)
    }
    const seconds = (performance.now() - startedAt) / 1000
    if (process.env['BENCH_STEPS'] !== undefined) process.stderr.write(await stepLines(system))
    const rss = await metricOf(system, 'wattledger_process_resident_memory_bytes')
    const metrics = await (await fetch(system.metricsUrl)).text()
    const [p50, p99] = [0.5, 0.99].map(share => quantileOf(metrics, 'wattledger_visible_lag_seconds', share)) as [number, number]
    return { recordsPerSecond: stored / seconds, load, backlog, lost: load.records - stored, rssMb: rss / 1e6, lag: { p50, p99 } }
  } finally {
    await system.stop()
    removeData(folder)
  }
}

if (import.meta.main) {
  const [seconds = '20', rate = '', locations = '2000', connections = '8', pricing = 'time of use'] = process.argv.slice(2)
  const result = await endToEnd({
    seconds: Number(seconds),
    rate: rate === '' || rate === 'max' ? null : Number(rate),
    locations: Number(locations),
    connections: Number(connections),
    pricing: pricing as 'time of use' | 'tiers',
  })
  console.log(JSON.stringify(result))
}
