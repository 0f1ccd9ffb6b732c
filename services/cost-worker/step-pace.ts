import { setTimeout as sleep } from 'node:timers/promises'
import { maxBufferedPieces } from './row-buffer.ts'
import type { FetchedMessages } from './step.ts'

/**
 * About 40,000 records. With half of them, inserts and merges cost so much more that the worker becomes slower than the
 * gateway of the same machine.
 */
export const maxStepBytes = 4_000_000

/**
 * Return the maximum bytes of the next step: fewer after a step with too many cost pieces, then twice as many per step.
 */
export const nextStepBytes = (maxBytes: number, fetched: readonly FetchedMessages[], pieces: number): number => {
  if (pieces <= maxBufferedPieces) return Math.min(maxStepBytes, maxBytes * 2)
  const bytes = fetched.reduce((sum, { messages }) => messages.reduce((own, { value }) => own + value.length, sum), 0)
  return (bytes * maxBufferedPieces) / pieces
}

/**
 * Start of a small step, in ms after the start of the step before: after `idle` ms of idle time of the thread, at most
 * after `max` ms.
 */
const smallStepMs = { idle: 50, max: 300 }
const pollMs = 10

/**
 * Lets a small step wait for more records. ClickHouse needs the same time for ten rows as for a thousand rows. The wait
 * is longer if the thread is busy.
 */
export type StepPace = {
  /** Note the start of a step. */
  readonly begin: () => void
  /** Wait until the next step may start. A large step, or an aborted `signal`, ends the wait. */
  readonly wait: (isLarge: () => boolean, signal: AbortSignal) => Promise<void>
}

const threadState = () => ({ now: performance.now(), idleMs: performance.eventLoopUtilization().idle })

/** Create the pace of a worker. Its first step starts at once. */
export const openStepPace = (): StepPace => {
  let lastStart = { now: Number.NEGATIVE_INFINITY, idleMs: Number.NEGATIVE_INFINITY }
  const isTooSoon = (): boolean => {
    const { now, idleMs } = threadState()
    return now < lastStart.now + smallStepMs.max && idleMs < lastStart.idleMs + smallStepMs.idle
  }
  return {
    begin: () => {
      lastStart = threadState()
    },
    wait: async (isLarge, signal) => {
      while (isTooSoon() && !isLarge() && !signal.aborted) await sleep(pollMs)
    },
  }
}
