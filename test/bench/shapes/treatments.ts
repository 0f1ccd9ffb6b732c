import { setTimeout as sleep } from 'node:timers/promises'
import { bodiesOf } from '../fleet.ts'
import { startLoad } from '../fork-load.ts'
import type { LoadPlan, LoadResult } from '../load.ts'
import type { Pipeline } from './pipeline.ts'

/** What of the time of records is still free: each run takes slots of its own, so that no record comes twice by itself. */
export type Calendar = { nextSlot: number }

export const slotMs = 900_000
const recordsPerBody = 500
const lookMs = 20
const drainMs = 30_000
/** Longer than any shape lets rows wait. */
const betweenMs = 3_000
const patienceMs = 120_000

/** The number of rows at instants (ms of the epoch). */
type Look = { readonly at: number; readonly rows: number }

const planOf = (pipeline: Pipeline, calendar: Calendar, more: Pick<LoadPlan, 'seconds' | 'rate' | 'mostAhead'>): LoadPlan => {
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
  for (const end = performance.now() + patienceMs; ; await sleep(200)) {
    const now = await pipeline.rows()
    if (now !== rows) [rows, changedAt] = [now, performance.now()]
    const isQuiet = performance.now() - changedAt > quietMs
    if (!isQuiet && performance.now() < end) continue
    const unread = await pipeline.unread()
    if (unread === 0 || performance.now() > end) return unread
  }
}

/** Run a load and look at the table meanwhile; it ends once all accepted is stored, or nothing more comes. */
const watched = async (pipeline: Pipeline, calendar: Calendar, more: Pick<LoadPlan, 'seconds' | 'rate' | 'mostAhead'>) => {
  await untilQuiet(pipeline, betweenMs)
  const before = await pipeline.rows()
  const load = startLoad(planOf(pipeline, calendar, more))
  const looks: Look[] = []
  let result: LoadResult | null = null
  const done = load.done.then(one => {
    result = one
  })
  const startedAt = performance.now()
  for (let endedAt: number | null = null; ; await sleep(lookMs)) {
    const rows = (await pipeline.rows()) - before
    looks.push({ at: performance.timeOrigin + performance.now(), rows })
    load.tellStored(rows)
    const sent = result as LoadResult | null
    if (sent === null) continue
    endedAt ??= performance.now()
    if (rows >= sent.records || performance.now() - endedAt > drainMs) break
  }
  await done
  const sent = result as unknown as LoadResult
  calendar.nextSlot = sent.lastSlot + slotMs
  return { sent, looks, seconds: (performance.now() - startedAt) / 1000 }
}

/** Measure records a second that are stored while as many are sent as keeps the pipeline busy: the lag does not grow. */
export const throughputOf = async (pipeline: Pipeline, calendar: Calendar, seconds: number): Promise<number> => {
  const { looks, seconds: took } = await watched(pipeline, calendar, { seconds, rate: null, mostAhead: 50_000 })
  return (looks.at(-1)?.rows ?? 0) / took
}

/** From accepted to countable, in seconds: of the records in the order of acceptance against the number of rows. */
export const lagOf = async (
  pipeline: Pipeline,
  calendar: Calendar,
  seconds: number,
  rate: number,
): Promise<{ readonly p50: number; readonly p99: number }> => {
  const { sent, looks } = await watched(pipeline, calendar, { seconds, rate })
  const lags: number[] = []
  let look = 0
  sent.acceptedAt.forEach((acceptedAt, index) => {
    while (look < looks.length && (looks[look] as Look).rows < (index + 1) * recordsPerBody) look += 1
    const seenAt = looks[look]?.at
    lags.push(seenAt === undefined ? Number.POSITIVE_INFINITY : Math.max(0, seenAt - acceptedAt) / 1000)
  })
  lags.sort((a, b) => a - b)
  return { p50: lags[lags.length >> 1] ?? Number.NaN, p99: lags[Math.floor(lags.length * 0.99)] ?? Number.NaN }
}
