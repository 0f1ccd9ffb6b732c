import { setTimeout as sleep } from 'node:timers/promises'
import { bodiesOf } from '../fleet/fleet.ts'
import { startLoad } from '../fork-load.ts'
import type { LoadPlan, LoadResult } from '../load.ts'
import { quantile } from '../statistics.ts'
import type { Pipeline } from './pipeline.ts'

/**
 * Start of the next slot without records, in ms since the epoch. Each load uses new slots, so no record is a duplicate.
 */
export type FreeSlots = { nextSlot: number }

export const slotMs = 900_000
const recordsPerBody = 500
const sampleMs = 20
const drainMs = 30_000
/** Longer than the time for which any shape buffers rows. */
const betweenMs = 3_000
const timeoutMs = 120_000

/** Number of rows at an instant. */
type ProgressSample = { readonly at: number; readonly rows: number }

const planOf = (
  pipeline: Pipeline,
  freeSlots: FreeSlots,
  more: Pick<LoadPlan, 'seconds' | 'rate' | 'maxAhead'>,
): LoadPlan => {
  const { hostname: host, port } = new URL(pipeline.gatewayUrl)
  return {
    host,
    port: Number(port),
    path: '/meters/interval',
    token: pipeline.token,
    bodies: bodiesOf(pipeline.fleet, recordsPerBody),
    recordsPerBody,
    connections: 8,
    firstSlot: freeSlots.nextSlot,
    slotMs,
    ...more,
  }
}

/**
 * Wait until all messages are committed and no row has arrived for `quietMs`. Returns the number of uncommitted
 * messages after at most 120 s.
 */
export const untilQuiet = async (pipeline: Pipeline, quietMs: number): Promise<number> => {
  let [rows, changedAt] = [-1, performance.now()]
  for (const end = performance.now() + timeoutMs; ; await sleep(200)) {
    const now = await pipeline.rows()
    if (now !== rows) [rows, changedAt] = [now, performance.now()]
    const isQuiet = performance.now() - changedAt > quietMs
    if (!isQuiet && performance.now() < end) continue
    const unread = await pipeline.unread()
    if (unread === 0 || performance.now() > end) return unread
  }
}

/** Run a load and sample the number of rows until all accepted records are stored, or until 30 s after the load. */
const observeLoad = async (
  pipeline: Pipeline,
  freeSlots: FreeSlots,
  more: Pick<LoadPlan, 'seconds' | 'rate' | 'maxAhead'>,
) => {
  await untilQuiet(pipeline, betweenMs)
  const before = await pipeline.rows()
  const load = startLoad(planOf(pipeline, freeSlots, more))
  const samples: ProgressSample[] = []
  let result: LoadResult | null = null
  const done = load.done.then(one => {
    result = one
  })
  const startedAt = performance.now()
  for (let endedAt: number | null = null; ; await sleep(sampleMs)) {
    const rows = (await pipeline.rows()) - before
    samples.push({ at: performance.timeOrigin + performance.now(), rows })
    load.reportStored(rows)
    const sent = result as LoadResult | null
    if (sent === null) continue
    endedAt ??= performance.now()
    if (rows >= sent.records || performance.now() - endedAt > drainMs) break
  }
  await done
  const sent = result as unknown as LoadResult
  freeSlots.nextSlot = sent.lastSlot + slotMs
  return { sent, samples, seconds: (performance.now() - startedAt) / 1000 }
}

/** Measure the stored records per second while at most 50,000 records wait, so that the lag does not grow. */
export const throughputOf = async (pipeline: Pipeline, freeSlots: FreeSlots, seconds: number): Promise<number> => {
  const { samples, seconds: durationSeconds } = await observeLoad(pipeline, freeSlots, {
    seconds,
    rate: null,
    maxAhead: 50_000,
  })
  return (samples.at(-1)?.rows ?? 0) / durationSeconds
}

/**
 * Measure the time from accepted to visible, in s. A record counts as visible when the table has as many rows as
 * the pipeline had accepted up to that record.
 */
export const lagOf = async (
  pipeline: Pipeline,
  freeSlots: FreeSlots,
  seconds: number,
  rate: number,
): Promise<{ readonly p50: number; readonly p99: number }> => {
  const { sent, samples } = await observeLoad(pipeline, freeSlots, { seconds, rate })
  const lags: number[] = []
  let sample = 0
  sent.acceptedAt.forEach((acceptedAt, index) => {
    while (sample < samples.length && (samples[sample] as ProgressSample).rows < (index + 1) * recordsPerBody)
      sample += 1
    const seenAt = samples[sample]?.at
    lags.push(seenAt === undefined ? Number.POSITIVE_INFINITY : Math.max(0, seenAt - acceptedAt) / 1000)
  })
  return { p50: quantile(lags, 0.5) ?? Number.NaN, p99: quantile(lags, 0.99) ?? Number.NaN }
}
