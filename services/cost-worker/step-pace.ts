import { setTimeout as sleep } from 'node:timers/promises'
import { maxBufferedPieces } from './row-buffer.ts'
import type { FetchedMessages } from './step.ts'

/** About 40,000 records: in half of it, inserts and their merges cost the engine so much more that a worker falls behind a gateway beside it. */
export const maxStepBytes = 4_000_000

/** How much the next step takes: less behind one that had more pieces than it should, then step by step more again. */
export const nextStepBytes = (maxBytes: number, fetched: readonly FetchedMessages[], pieces: number): number => {
  if (pieces <= maxBufferedPieces) return Math.min(maxStepBytes, maxBytes * 2)
  const bytes = fetched.reduce((sum, { messages }) => messages.reduce((own, { value }) => own + value.length, sum), 0)
  return (bytes * maxBufferedPieces) / pieces
}

/** When a small step may begin: once the thread has rested for so long (ms) since the one before, or could not within so long. */
const smallStepMs = { idle: 50, max: 300 }
const pollMs = 10

/**
 * Lets records gather behind a step that has begun: the engine takes as long for ten rows as for a thousand, and what it takes is missing
 * elsewhere. A thread that is busy lets more of them gather than one that rests; the first step begins at once.
 */
export type StepPace = {
  /** Told when a step begins. */
  readonly begin: () => void
  /** Wait until the next step may begin; not for one that `isLarge`, nor once `signal` is aborted. */
  readonly wait: (isLarge: () => boolean, signal: AbortSignal) => Promise<void>
}

const threadState = () => ({ now: performance.now(), idleMs: performance.eventLoopUtilization().idle })

/** Make the pace of a worker that has not begun a step. */
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
