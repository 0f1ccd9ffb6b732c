import { setTimeout as sleep } from 'node:timers/promises'
import { tokenOf } from '../support/registry/accounts.ts'
import { login } from '../support/system/client.ts'
import type { BenchSystem, OpenBench } from './bench-system.ts'
import { addCharges } from './bills/bill-rows.ts'
import { copiedFleet } from './fleet/copied-fleet.ts'
import { bodiesOf, type Pricing } from './fleet/fleet.ts'
import { forkLoad } from './fork-load.ts'
import type { LoadPlan, LoadResult } from './load.ts'
import { quantileOf, type Samples, samplesSince, sumOf } from './samples.ts'

/** Load on a fleet. `rate` is in records/s; if it is null, a request follows each answer. */
export type FleetLoad = {
  readonly seconds: number
  readonly rate: number | null
  readonly locations: number
  readonly connections: number
  readonly isOpenLoop?: boolean
  readonly pricing?: Pricing
  /** Charges of each location. */
  readonly charges?: readonly object[]
}

export type EndToEnd = {
  readonly recordsPerSecond: number
  /** CPU time for each record, by process. Brokers and load are not included. */
  readonly cpuMicroseconds: Readonly<Record<string, number>>
  readonly load: LoadResult
  /** Records that are accepted but not stored, one value per second. */
  readonly backlog: readonly number[]
  readonly lost: number
  readonly rssMb: number
  /** Time from accepted to stored, in s. `p99New` covers the first seconds, the others cover the rest of the run. */
  readonly lag: { readonly p50: number; readonly p99: number; readonly p99New: number }
  /** The second half of the load, when each object was seen before. CPU time of the roles for each record. */
  readonly secondHalf: { readonly recordsPerSecond: number; readonly cpuMicroseconds: number }
}

const acceptedName = 'wattledger_records_accepted_total'
const storedName = 'wattledger_records_stored_total'
const drainMs = 60_000
/** First seconds of a load, in which the processes compile their code and fill their caches. */
const newSecondsOf = ({ seconds }: FleetLoad): number => Math.min(5, seconds / 2)

/** Bodies of a load in memory, at most. Each has some 100 kB. */
const maxBodies = 1_000

/** Create a fleet and plan its load. At most 250,000 locations of a fleet send records. */
export const planOf = async (system: BenchSystem, load: FleetLoad, recordsPerBody: number): Promise<LoadPlan> => {
  const client = await login(system.sandbox())
  const fleet = await copiedFleet(client, await system.postgresUrl(), load.locations, load.pricing)
  await addCharges(client, fleet.locations, load.charges ?? [])
  const { hostname: host, port } = new URL(system.gatewayUrl())
  return {
    host,
    port: Number(port),
    path: '/meters/interval',
    token: await tokenOf(system.sandbox(), system.sandbox().test_key),
    bodies: bodiesOf(fleet, recordsPerBody, maxBodies),
    recordsPerBody,
    connections: load.connections,
    isOpenLoop: load.isOpenLoop ?? false,
    seconds: load.seconds,
    rate: load.rate,
    firstSlot: Date.parse('2025-01-01T00:00:00Z'),
    slotMs: 900_000,
  }
}

/** Backlog of a system under load, one value per second, and the metrics of each second. */
type LoadObservation = { readonly backlog: readonly number[]; readonly each: readonly TimedSamples[] }
type TimedSamples = { readonly at: number; readonly samples: Samples }

const watch = async (system: BenchSystem, running: Promise<unknown>): Promise<LoadObservation> => {
  const each: TimedSamples[] = []
  let isDone = false
  const done = running.finally(() => {
    isDone = true
  })
  done.catch(() => undefined)
  while (!isDone) {
    await Promise.race([done, sleep(1000)])
    each.push({ at: performance.now(), samples: await system.samples() })
  }
  return { backlog: each.map(({ samples }) => sumOf(samples, acceptedName) - sumOf(samples, storedName)), each }
}

const rateBetween = (from: TimedSamples | undefined, to: TimedSamples | undefined): EndToEnd['secondHalf'] => {
  if (from === undefined || to === undefined) return { recordsPerSecond: 0, cpuMicroseconds: 0 }
  const growthOf = (name: string): number => sumOf(to.samples, name) - sumOf(from.samples, name)
  const records = growthOf(storedName)
  return {
    recordsPerSecond: (records * 1000) / (to.at - from.at),
    cpuMicroseconds: (growthOf('wattledger_process_cpu_seconds_total') * 1e6) / records,
  }
}

const untilStored = async (system: BenchSystem, records: number): Promise<void> => {
  for (const end = performance.now() + drainMs; performance.now() < end; await sleep(50)) {
    if (sumOf(await system.samples(), storedName) >= records) return
  }
}

/** List the durations of the worker's steps, and the CPU time of the processes. */
const stepLines = (samples: Samples): string =>
  [...samples]
    .filter(([name]) =>
      /worker_step\w+_(sum|count)|visible_lag_seconds_(sum|count)|cpu_(user|system)_seconds_total/.test(name),
    )
    .map(([name, value]) => `${name} ${value}\n`)
    .join('')

const perRecord = (
  before: Readonly<Record<string, number>>,
  after: Readonly<Record<string, number>>,
  records: number,
) =>
  Object.fromEntries(
    Object.entries(after).map(([name, seconds]) => [
      name,
      ((seconds - (before[name] ?? 0)) * 1e6) / Math.max(1, records),
    ]),
  )

/** Run a load on a system. BENCH_STEPS prints the durations of the worker's steps. */
export const runLoadOn = async (system: BenchSystem, load: FleetLoad, plan: LoadPlan): Promise<EndToEnd> => {
  const cpuBefore = await system.cpuSeconds()
  const startedAt = performance.now()
  const running = forkLoad(plan)
  const { backlog, each } = await watch(system, running)
  const sent = await running
  await untilStored(system, sent.records)
  const seconds = (performance.now() - startedAt) / 1000
  const cpuAfter = await system.cpuSeconds()
  const samples = await system.samples()
  if (process.env['BENCH_STEPS'] !== undefined) process.stderr.write(stepLines(samples))
  const stored = await system.stored()
  const whileNew = each[Math.min(each.length, newSecondsOf(load)) - 1]?.samples ?? new Map()
  const lagAt = (of: Samples, share: number): number => quantileOf(of, 'wattledger_visible_lag_seconds', share)
  const later = samplesSince(whileNew, samples)
  return {
    recordsPerSecond: stored / seconds,
    cpuMicroseconds: perRecord(cpuBefore, cpuAfter, stored),
    load: sent,
    backlog,
    lost: sent.records - stored,
    rssMb: sumOf(samples, 'wattledger_process_resident_memory_bytes') / 1e6,
    lag: { p50: lagAt(later, 0.5), p99: lagAt(later, 0.99), p99New: lagAt(whileNew, 0.99) },
    secondHalf: rateBetween(each[each.length >> 1], each.at(-1)),
  }
}

/**
 * Measure the records per second that are accepted, priced and stored. The load runs on the same machine. Promise P1.
 */
export const endToEnd = async (open: OpenBench, load: FleetLoad): Promise<EndToEnd> => {
  await using system = await open()
  // Without await, the system would stop before the load has begun.
  return await runLoadOn(system, load, await planOf(system, load, 500))
}
