import { setTimeout as sleep } from 'node:timers/promises'
import { seeded } from '../../support/ledger/random.ts'
import { bodiesOf } from '../fleet.ts'
import { endMark, startMark } from '../load.ts'
import type { Pipeline, PipelinePart } from './pipeline.ts'
import { type Calendar, slotMs, untilQuiet } from './treatments.ts'

/** What kills left behind. */
export type Verdict = {
  readonly kills: number
  /** Records that were acknowledged, each of them once. */
  readonly acknowledged: number
  readonly missing: number
  /** How often records count beyond once. */
  readonly doubled: number
  /** Messages that were not yet read when it was judged; what they hold is missing too. */
  readonly unread: number
}

const recordsPerBody = 100
const senders = 4
const retryMs = 50
const requestMs = 10_000
/** Longer than any shape lets rows wait. */
const quietMs = 3_000
const resumeMs = 20_000

const deviceOf = /"device_id":"dev_([0-9a-f]{24})"/g

/** Send a submission until it is acknowledged, as a careful caller does. */
const submit = async ({ gatewayUrl, token }: Pipeline, body: string, end: AbortSignal): Promise<boolean> => {
  while (!end.aborted) {
    try {
      const answer = await fetch(`${gatewayUrl}/meters/interval`, {
        ...{ method: 'PUT', body, signal: AbortSignal.timeout(requestMs) },
        headers: { 'Content-Type': 'application/json', Authorization: `Bearer ${token}` },
      })
      await answer.arrayBuffer()
      if (answer.status === 200) return true
    } catch {
      // Its fate is unknown: the same records go again.
    }
    await sleep(retryMs)
  }
  return false
}

/** Send at a rate until the time is over; gives what was acknowledged, by device and start. */
const sendAll = async (
  pipeline: Pipeline,
  calendar: Calendar,
  rate: number,
  end: AbortSignal,
): Promise<ReadonlySet<string>> => {
  const bodies = bodiesOf(pipeline.fleet, recordsPerBody)
  const devices = bodies.map(body => [...body.matchAll(deviceOf)].map(([, digits]) => digits ?? ''))
  const acknowledged = new Set<string>()
  const startedAt = performance.now()
  const first = calendar.nextSlot
  let sent = 0
  const run = async (): Promise<void> => {
    while (!end.aborted) {
      const turn = sent++
      const wait = startedAt + (turn * recordsPerBody * 1000) / rate - performance.now()
      if (wait > 0) await sleep(wait)
      const start = first + Math.floor(turn / bodies.length) * slotMs
      calendar.nextSlot = Math.max(calendar.nextSlot, start + slotMs)
      const body = (bodies[turn % bodies.length] ?? '')
        .replaceAll(startMark, `${new Date(start).toISOString().slice(0, 19)}Z`)
        .replaceAll(endMark, `${new Date(start + slotMs).toISOString().slice(0, 19)}Z`)
      if (!(await submit(pipeline, body, end))) continue
      for (const device of devices[turn % bodies.length] ?? []) acknowledged.add(`${device} ${start}`)
    }
  }
  await Promise.all(Array.from({ length: senders }, run))
  return acknowledged
}

/** Compare what was acknowledged with how often each record counts; one that was never acknowledged may count once. */
export const compare = (
  acknowledged: ReadonlySet<string>,
  counts: ReadonlyMap<string, number>,
): Omit<Verdict, 'kills' | 'unread'> => ({
  acknowledged: acknowledged.size,
  missing: [...acknowledged].filter(record => !counts.has(record)).length,
  doubled: [...counts.values()].reduce((sum, count) => sum + count - 1, 0),
})

/** Wait until rows come again, so that the next kill meets a part at work. */
const untilAtWork = async (pipeline: Pipeline): Promise<void> => {
  const before = await pipeline.rows()
  for (const end = performance.now() + resumeMs; performance.now() < end && (await pipeline.rows()) <= before; )
    await sleep(50)
}

/** Kill a part at random moments while records come in, then count what was acknowledged and is missing, or counts more than once. */
export const verdictUnderKills = async (
  pipeline: Pipeline,
  part: PipelinePart,
  calendar: Calendar,
  options: { readonly kills: number; readonly rate: number; readonly seed: number },
): Promise<Verdict> => {
  const random = seeded(options.seed)
  const from = calendar.nextSlot
  const end = new AbortController()
  const sending = sendAll(pipeline, calendar, options.rate, end.signal)
  for (let kills = 0; kills < options.kills; kills += 1) {
    await untilAtWork(pipeline)
    await sleep(random.whole(2_500))
    await pipeline.kill(part)
  }
  await untilAtWork(pipeline)
  end.abort()
  const acknowledged = await sending
  // What was not committed is written again.
  const unread = await untilQuiet(pipeline, quietMs)
  return { kills: options.kills, unread, ...compare(acknowledged, await pipeline.counts(from, calendar.nextSlot)) }
}
