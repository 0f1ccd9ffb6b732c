import { setTimeout as sleep } from 'node:timers/promises'
import { mostPieces } from './row-hold.ts'
import type { Taken } from './step.ts'

/** About 40,000 records: in half of it, inserts and their merges cost the engine so much more that a worker falls behind a gateway beside it. */
export const stepBytes = 4_000_000

/** How much the next step takes: less behind one that had more pieces than it should, then step by step more again. */
export const bytesAfter = (mostBytes: number, taken: readonly Taken[], pieces: number): number => {
  if (pieces <= mostPieces) return Math.min(stepBytes, mostBytes * 2)
  const bytes = taken.reduce((sum, { messages }) => messages.reduce((own, { value }) => own + value.length, sum), 0)
  return (bytes * mostPieces) / pieces
}

/** When a small step may begin: once the thread has rested for so long (ms) since the one before, or could not within so long. */
const smallStepMs = { ofRest: 50, most: 300 }
const lookMs = 10

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

const stateOfThread = () => ({ now: performance.now(), rested: performance.eventLoopUtilization().idle })

/** Make the pace of a worker that has not begun a step. */
export const openStepPace = (): StepPace => {
  let begun = { now: Number.NEGATIVE_INFINITY, rested: Number.NEGATIVE_INFINITY }
  const isTooSoon = (): boolean => {
    const { now, rested } = stateOfThread()
    return now < begun.now + smallStepMs.most && rested < begun.rested + smallStepMs.ofRest
  }
  return {
    begin: () => {
      begun = stateOfThread()
    },
    wait: async (isLarge, signal) => {
      while (isTooSoon() && !isLarge() && !signal.aborted) await sleep(lookMs)
    },
  }
}
