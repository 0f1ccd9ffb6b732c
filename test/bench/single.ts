import { setTimeout as sleep } from 'node:timers/promises'
import { dataFolder, startSystem } from '../support/system/running-system.ts'
import type { OpenBench } from './bench-system.ts'
import { removeAfterRun } from './data-folders.ts'
import { planOf } from './end-to-end.ts'
import { forkLoad } from './fork-load.ts'
import { readSamples, sumOf } from './samples.ts'

export type SingleFigures = {
  readonly requestsPerSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  readonly failed: number
}

/** Measure submissions of one record. The gateway acknowledges a record after it is durable. Promise P6. */
export const singleRecords = async (open: OpenBench, seconds: number, connections = 64): Promise<SingleFigures> => {
  await using system = await open()
  const load = await forkLoad(await planOf(system, { seconds, rate: null, locations: 200, connections }, 1))
  return {
    requestsPerSecond: load.requests / load.seconds,
    p50Ms: load.latencyMs.p50,
    p99Ms: load.latencyMs.p99,
    failed: load.failed,
  }
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
