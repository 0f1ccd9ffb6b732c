import { setTimeout as sleep } from 'node:timers/promises'
import { bodiesOf } from '../fleet.ts'
import { startLoad } from '../fork-load.ts'
import type { LoadPlan, LoadResult } from '../load.ts'
import type { Pipeline } from './pipeline.ts'

/** What of the time of records is still free: each run takes slots of its own, so that no record comes twice by itself. */
export type Calendar = { nextSlot: number }

export const slotMs = 900_000
const recordsPerBody = 500
const sampleMs = 20
const drainMs = 30_000
/** Longer than any shape lets rows wait. */
const betweenMs = 3_000
const timeoutMs = 120_000

/** The number of rows at instants (ms of the epoch). */
type ProgressSample = { readonly at: number; readonly rows: number }

const planOf = (
  pipeline: Pipeline,
  calendar: Calendar,
  more: Pick<LoadPlan, 'seconds' | 'rate' | 'maxAhead'>,
): LoadPlan => {
  const { hostname: host, port } = new URL(pipeline.gatewayUrl)
  return {
    ...{ host, port: Number(port), path: '/meters/interval', token: pipeline.token },
    ...{ bodies: bodiesOf(pipeline.fleet, recordsPerBody), recordsPerBody, connections: 8 },
    ...{ firstSlot: calendar.nextSlot, slotMs, ...more },
  }
}

/** Wait until all is read and committed, and no row has come for so long; gives how many messages are unread where patience ends. */
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

/** Run a load and look at the table meanwhile; it ends once all accepted is stored, or nothing more comes. */
const watched = async (
  pipeline: Pipeline,
  calendar: Calendar,
  more: Pick<LoadPlan, 'seconds' | 'rate' | 'maxAhead'>,
) => {
  await untilQuiet(pipeline, betweenMs)
  const before = await pipeline.rows()
  const load = startLoad(planOf(pipeline, calendar, more))
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
  calendar.nextSlot = sent.lastSlot + slotMs
  return { sent, looks: samples, seconds: (performance.now() - startedAt) / 1000 }
}

/** Measure records a second that are stored while as many are sent as keeps the pipeline busy: the lag does not grow. */
export const throughputOf = async (pipeline: Pipeline, calendar: Calendar, seconds: number): Promise<number> => {
  const { looks: samples, seconds: took } = await watched(pipeline, calendar, { seconds, rate: null, maxAhead: 50_000 })
  return (samples.at(-1)?.rows ?? 0) / took
}

/** From accepted to countable, in seconds: of the records in the order of acceptance against the number of rows. */
export const lagOf = async (
  pipeline: Pipeline,
  calendar: Calendar,
  seconds: number,
  rate: number,
): Promise<{ readonly p50: number; readonly p99: number }> => {
  const { sent, looks: samples } = await watched(pipeline, calendar, { seconds, rate })
  const lags: number[] = []
  let sample = 0
  sent.acceptedAt.forEach((acceptedAt, index) => {
    while (sample < samples.length && (samples[sample] as ProgressSample).rows < (index + 1) * recordsPerBody)
      sample += 1
    const seenAt = samples[sample]?.at
    lags.push(seenAt === undefined ? Number.POSITIVE_INFINITY : Math.max(0, seenAt - acceptedAt) / 1000)
  })
  lags.sort((a, b) => a - b)
  return { p50: lags[lags.length >> 1] ?? Number.NaN, p99: lags[Math.floor(lags.length * 0.99)] ?? Number.NaN }
}
