import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { dataFolder, removeData } from '../../support/running-system.ts'
import { forkLoad } from '../end-to-end.ts'
import { bodiesOf } from '../fleet.ts'
import type { LoadResult } from '../load.ts'

export type BareFigures = { readonly recordsPerSecond: number; readonly load: LoadResult }

const idsOf = (prefix: string, count: number): readonly string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}${(index + 1).toString(16).padStart(24, '0')}`)

/** Measure the bare pipeline under the same load as the product. */
export const barePipeline = async (options: {
  readonly seconds: number
  readonly rate: number | null
  readonly locations: number
  readonly connections: number
}): Promise<BareFigures> => {
  const folder = dataFolder()
  mkdirSync(folder, { recursive: true })
  const child = fork(new URL('./pipeline.ts', import.meta.url), [folder], { execArgv: [] })
  const ask = async <T>(): Promise<T> => (await once(child, 'message'))[0] as T
  try {
    const { port } = await ask<{ port: number }>()
    const fleet = { locations: idsOf('loc_', options.locations), devices: idsOf('dev_', options.locations * 2) }
    const startedAt = performance.now()
    const load = await forkLoad({
      host: '127.0.0.1',
      port,
      path: '/meters/interval',
      token: 'none',
      bodies: bodiesOf(fleet, 500),
      recordsPerBody: 500,
      connections: options.connections,
      seconds: options.seconds,
      rate: options.rate,
      firstSlot: Date.parse('2025-01-01T00:00:00Z'),
      slotMs: 900_000,
    })
    let stored = 0
    for (let waitedMs = 0; waitedMs < 60_000 && stored < load.records; waitedMs += 50) {
      const answer = ask<{ stored: number }>()
      child.send('stored')
      stored = (await answer).stored
      await sleep(50)
    }
    return { recordsPerSecond: (stored * 1000) / (performance.now() - startedAt), load }
  } finally {
    child.kill('SIGKILL')
    removeData(folder)
  }
}

if (import.meta.main) {
  const [seconds = '20', rate = 'max', locations = '2000', connections = '8'] = process.argv.slice(2)
  const options = { seconds: Number(seconds), rate: rate === 'max' ? null : Number(rate), locations: Number(locations) }
  process.stdout.write(`${JSON.stringify(await barePipeline({ ...options, connections: Number(connections) }))}\n`)
}
