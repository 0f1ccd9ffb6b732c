import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import type { LoadPlan, LoadResult } from './load.ts'

/** Load that runs in a child process. `reportStored` lets a load with `maxAhead` continue. */
export type RunningLoad = { readonly done: Promise<LoadResult>; readonly reportStored: (records: number) => void }

/** Start a load in a child process. */
export const startLoad = (plan: LoadPlan): RunningLoad => {
  const child = fork(new URL('./load.ts', import.meta.url), { execArgv: [] })
  child.send(plan)
  return {
    done: nextMessage<LoadResult>(child),
    reportStored: records => {
      if (child.connected) child.send({ stored: records }, () => undefined)
    },
  }
}

/** Run a load in a child process and return its result. */
export const forkLoad = (plan: LoadPlan): Promise<LoadResult> => startLoad(plan).done

/** Return the next message of a child process. Rejects if the process exits first. */
export const nextMessage = async <T>(child: ChildProcess): Promise<T> => {
  const ended = new AbortController()
  const { signal } = ended
  // The last messages of a child can arrive after its exit. All have arrived when the channel is closed.
  const closed = child.connected ? once(child, 'disconnect', { signal }) : []
  const gone = Promise.all([once(child, 'exit', { signal }), closed]).then(([[code, signal]]) => {
    throw new Error(`A process of the bench exited with ${code ?? signal}.`)
  })
  gone.catch(() => undefined)
  try {
    const [message] = (await Promise.race([once(child, 'message'), gone])) as [T]
    return message
  } finally {
    ended.abort()
  }
}
