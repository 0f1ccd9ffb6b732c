import { setTimeout as sleep } from 'node:timers/promises'
import { login } from '../support/client.ts'
import { dataFolder, removeData, startSystem } from '../support/running-system.ts'
import { forkLoad } from './end-to-end.ts'
import { bodiesOf, createFleet } from './fleet.ts'
import type { LoadResult } from './load.ts'
import { tokenOf } from './token.ts'

export type SingleFigures = { readonly requestsPerSecond: number; readonly p50Ms: number; readonly p99Ms: number; readonly failed: number }

/** Measure single-record submissions, each acknowledged once it is durable. Promise P6. */
export const singleRecords = async (seconds: number, connections = 64): Promise<SingleFigures> => {
  const folder = dataFolder()
  const system = await startSystem(folder)
  try {
    const client = await login(system.sandbox)
    const fleet = await createFleet(client, 200, 400)
    const { hostname: host, port } = new URL(system.sandbox.base_url)
    const load: LoadResult = await forkLoad({
      host,
      port: Number(port),
      path: '/meters/interval',
      token: await tokenOf(system.sandbox),
      bodies: bodiesOf(fleet, 1),
      recordsPerBody: 1,
      connections,
      seconds,
      rate: null,
      firstSlot: Date.parse('2025-01-01T00:00:00Z'),
      slotMs: 900_000,
    })
    return { requestsPerSecond: load.requests / load.seconds, p50Ms: load.latencyMs.p50, p99Ms: load.latencyMs.p99, failed: load.failed }
  } finally {
    await system.stop()
    removeData(folder)
  }
}

export type StartFigures = { readonly firstSeconds: number; readonly laterSeconds: number; readonly rssMb: number }

const startOnce = async (folder: string): Promise<{ readonly seconds: number; readonly rssMb: number }> => {
  const startedAt = performance.now()
  const system = await startSystem(folder)
  const seconds = (performance.now() - startedAt) / 1000
  await sleep(500)
  const text = await (await fetch(system.metricsUrl)).text()
  const rss = /^wattledger_process_resident_memory_bytes (\S+)/m.exec(text)?.[1] ?? '0'
  await system.stop()
  return { seconds, rssMb: Number(rss) / 1e6 }
}

/** Measure how long a start takes until the system is ready, the first and the best of later ones. Promise P10. */
export const startTimes = async (): Promise<StartFigures> => {
  const folder = dataFolder()
  try {
    const first = await startOnce(folder)
    const later = [await startOnce(folder), await startOnce(folder), await startOnce(folder)]
    return { firstSeconds: first.seconds, laterSeconds: Math.min(...later.map(({ seconds }) => seconds)), rssMb: first.rssMb }
  } finally {
    removeData(folder)
  }
}
