import { setTimeout as sleep } from 'node:timers/promises'
import { dataFolder, startSystem } from '../support/system/running-system.ts'
import type { OpenBench } from './bench-system.ts'
import { removeAfterRun } from './data-folders.ts'
import { planOf } from './end-to-end.ts'
import { forkLoad } from './fork-load.ts'
import { singleLimit } from './limit/limit.ts'
import type { LoadResult } from './load.ts'
import { readSamples, sumOf } from './samples.ts'
import { medianOf, spreadOf } from './statistics.ts'

/** Requests per second and times to the answer of submissions of one record: of the product and of its limit. */
export type SingleFigures = { readonly product: SingleRate; readonly limit: SingleRate | null }

/** Medians of all rounds. `spread` of the rates over rounds, in %. */
type SingleRate = {
  readonly requestsPerSecond: number
  readonly spread: number
  readonly p50Ms: number
  readonly p99Ms: number
}

const rounds = 3
const locations = 200

const ratesOf = (loads: readonly LoadResult[]): readonly number[] =>
  loads.map(({ requests, seconds }) => requests / seconds)

const rateOf = (loads: readonly LoadResult[]): SingleRate => ({
  requestsPerSecond: medianOf(ratesOf(loads)),
  spread: spreadOf(ratesOf(loads)),
  p50Ms: medianOf(loads.map(({ latencyMs }) => latencyMs.p50)),
  p99Ms: medianOf(loads.map(({ latencyMs }) => latencyMs.p99)),
})

/**
 * Measure submissions of one record. The gateway acknowledges a record after it is durable. The product and its limit
 * alternate. `hasLimit`: false for a system without a log in LMDB. Promise P6.
 */
export const singleRecords = async (open: OpenBench, seconds: number, hasLimit: boolean): Promise<SingleFigures> => {
  const load = { seconds: seconds / rounds, rate: null, locations, connections: 64 }
  const limits: LoadResult[] = []
  const loads: LoadResult[] = []
  for (let round = 0; round < rounds; round += 1) {
    if (hasLimit) limits.push(await singleLimit(load))
    await using system = await open()
    loads.push(await forkLoad(await planOf(system, load, 1)))
  }
  if (loads.some(({ failed }) => failed > 0)) throw new Error('Submissions of one record failed.')
  return { product: rateOf(loads), limit: limits.length === 0 ? null : rateOf(limits) }
}

export type StartFigures = { readonly firstSeconds: number; readonly laterSeconds: number; readonly rssMb: number }

const startOnce = async (folder: string): Promise<{ readonly seconds: number; readonly rssMb: number }> => {
  const startedAt = performance.now()
  const system = await startSystem(folder)
  const seconds = (performance.now() - startedAt) / 1000
  await sleep(500)
  const bytes = sumOf(await readSamples([system.metricsUrl]), 'wattledger_process_resident_memory_bytes')
  await system.stop()
  return { seconds, rssMb: bytes / 1e6 }
}

/** Measure the time from start to ready, for the first start and for the fastest of three later starts. Promise P10. */
export const startTimes = async (): Promise<StartFigures> => {
  const folder = dataFolder()
  try {
    const first = await startOnce(folder)
    const later = [await startOnce(folder), await startOnce(folder), await startOnce(folder)]
    return {
      firstSeconds: first.seconds,
      laterSeconds: Math.min(...later.map(({ seconds }) => seconds)),
      rssMb: first.rssMb,
    }
  } finally {
    removeAfterRun(folder)
  }
}
