import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from '../telemetry/logger.ts'

/** Running loop. Disposing of it aborts the signal of the current turn and waits for the end of the turn. */
export type Loop = AsyncDisposable & {
  /** End the current pause, or the pause after the current turn: the next turn begins at once. */
  readonly wake: () => void
}

export type LoopOptions = {
  /** Name of the work in the log. */
  readonly name: string
  readonly logger: Pick<Logger, 'warn'>
  /** Do a limited amount of work. Returns the pause in ms before the next turn. */
  readonly turn: (signal: AbortSignal) => Promise<number>
}

/** Pause in ms after a turn that failed. */
const failurePauseMs = 1_000

/** Repeat turns until the loop is disposed of. An error is logged, and the loop pauses. */
export const startLoop = ({ name, logger, turn }: LoopOptions): Loop => {
  const stopping = new AbortController()
  let pause = new AbortController()
  const run = async (): Promise<void> => {
    while (!stopping.signal.aborted) {
      pause = new AbortController()
      const pauseMs = await turn(stopping.signal).catch(error => {
        if (!stopping.signal.aborted) logger.warn({ err: error, task: name }, 'Work failed, retrying')
        return failurePauseMs
      })
      const signal = AbortSignal.any([stopping.signal, pause.signal])
      if (pauseMs > 0) await sleep(pauseMs, undefined, { signal }).catch(() => undefined)
    }
  }
  const running = run()
  return {
    wake: () => pause.abort(),
    [Symbol.asyncDispose]: async () => {
      stopping.abort()
      await running
    },
  }
}
