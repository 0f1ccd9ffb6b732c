import { setTimeout as sleep } from 'node:timers/promises'
import { seededRandom } from '../../support/random.ts'
import { bodiesOf } from '../fleet/fleet.ts'
import { endMark, startMark } from '../load.ts'
import type { Pipeline, PipelinePart } from './pipeline.ts'
import { type FreeSlots, slotMs, untilQuiet } from './throughput-and-lag.ts'

/** Missing and duplicate records after kills. */
export type Verdict = {
  readonly kills: number
  /** Number of different acknowledged records. */
  readonly acknowledged: number
  readonly missing: number
  /** Number of duplicate rows. */
  readonly duplicates: number
  /** Messages that were unread at the end. Their records are also missing. */
  readonly unread: number
}

const recordsPerBody = 100
const senders = 4
const retryMs = 50
const requestMs = 10_000
/** Longer than the time for which any shape buffers rows. */
const quietMs = 3_000
const resumeMs = 20_000

const deviceOf = /"device_id":"dev_([0-9a-f]{24})"/g

/** Send a submission until the gateway acknowledges it. Returns false if the time is over first. */
const submit = async ({ gatewayUrl, token }: Pipeline, body: string, end: AbortSignal): Promise<boolean> => {
  while (!end.aborted) {
    try {
      const answer = await fetch(`${gatewayUrl}/meters/interval`, {
        method: 'PUT',
        body,
        signal: AbortSignal.timeout(requestMs),
        headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${token}` },
      })
      await answer.arrayBuffer()
      if (answer.status === 200) return true
    } catch {
      // The result is unknown, so the same records are sent again.
    }
    await sleep(retryMs)
  }
  return false
}

/** Send at a rate until the time is over. Returns the acknowledged records, by device and start. */
const sendAll = async (
  pipeline: Pipeline,
  freeSlots: FreeSlots,
  rate: number,
  end: AbortSignal,
): Promise<ReadonlySet<string>> => {
  const bodies = bodiesOf(pipeline.fleet, recordsPerBody)
  const devices = bodies.map(body => [...body.matchAll(deviceOf)].map(([, digits]) => digits ?? ''))
  const acknowledged = new Set<string>()
  const startedAt = performance.now()
  const first = freeSlots.nextSlot
  let sent = 0
  const run = async (): Promise<void> => {
    while (!end.aborted) {
      const index = sent++
      const wait = startedAt + (index * recordsPerBody * 1000) / rate - performance.now()
      if (wait > 0) await sleep(wait)
      const start = first + Math.floor(index / bodies.length) * slotMs
      freeSlots.nextSlot = Math.max(freeSlots.nextSlot, start + slotMs)
      const body = (bodies[index % bodies.length] ?? '')
        .replaceAll(startMark, `${new Date(start).toISOString().slice(0, 19)}Z`)
        .replaceAll(endMark, `${new Date(start + slotMs).toISOString().slice(0, 19)}Z`)
      if (!(await submit(pipeline, body, end))) continue
      for (const device of devices[index % bodies.length] ?? []) acknowledged.add(`${device} ${start}`)
    }
  }
  await Promise.all(Array.from({ length: senders }, run))
  return acknowledged
}

/** Compare the acknowledged records with the number of rows of each record. Other records may have one row. */
export const compare = (
  acknowledged: ReadonlySet<string>,
  counts: ReadonlyMap<string, number>,
): Omit<Verdict, 'kills' | 'unread'> => ({
  acknowledged: acknowledged.size,
  missing: [...acknowledged].filter(record => !counts.has(record)).length,
  duplicates: [...counts.values()].reduce((sum, count) => sum + count - 1, 0),
})

/** Wait for new rows, so that the next kill hits a busy process. */
const untilAtWork = async (pipeline: Pipeline): Promise<void> => {
  const before = await pipeline.rows()
  for (const end = performance.now() + resumeMs; performance.now() < end && (await pipeline.rows()) <= before; )
    await sleep(50)
}

/** Kill a part at random times during a load, then count missing and duplicate records. */
export const verdictUnderKills = async (
  pipeline: Pipeline,
  part: PipelinePart,
  freeSlots: FreeSlots,
  options: { readonly kills: number; readonly rate: number; readonly seed: number },
): Promise<Verdict> => {
  const random = seededRandom(options.seed)
  const from = freeSlots.nextSlot
  const end = new AbortController()
  const sending = sendAll(pipeline, freeSlots, options.rate, end.signal)
  for (let kills = 0; kills < options.kills; kills += 1) {
    await untilAtWork(pipeline)
    await sleep(random.below(2_500))
    await pipeline.kill(part)
  }
  await untilAtWork(pipeline)
  end.abort()
  const acknowledged = await sending
  // A restarted writer writes uncommitted records again.
  const unread = await untilQuiet(pipeline, quietMs)
  return { kills: options.kills, unread, ...compare(acknowledged, await pipeline.counts(from, freeSlots.nextSlot)) }
}
