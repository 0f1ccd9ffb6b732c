import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import type { LoadPlan, LoadResult } from './load.ts'

/** A load that runs in a process of its own; `tellStored` lets one that waits for storage go on. */
export type RunningLoad = { readonly done: Promise<LoadResult>; readonly reportStored: (records: number) => void }

/** Begin a load in a process of its own. */
export const startLoad = (plan: LoadPlan): RunningLoad => {
  const child = fork(new URL('./load.ts', import.meta.url), { execArgv: [] })
  child.send(plan)
  return {
    done: answerOf<LoadResult>(child),
    reportStored: records => {
      if (child.connected) child.send({ stored: records }, () => undefined)
    },
  }
}

/** Run a load in a process of its own. */
export const forkLoad = (plan: LoadPlan): Promise<LoadResult> => startLoad(plan).done

/** The next message of a child. Rejects where it ends before. */
export const answerOf = async <T>(child: ChildProcess): Promise<T> => {
  const ended = new AbortController()
  const { signal } = ended
  // What a child sent last may come behind its end: it has all come once the channel is closed.
  const closed = child.connected ? once(child, 'disconnect', { signal }) : []
  const gone = Promise.all([once(child, 'exit', { signal }), closed]).then(([[code, signal]]) => {
    throw new Error(`a process of the bench ended with ${code ?? signal}`)
  })
  gone.catch(() => undefined)
  try {
    const [message] = (await Promise.race([once(child, 'message'), gone])) as [T]
    return message
  } finally {
    ended.abort()
  }
}
