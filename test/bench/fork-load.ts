import { fork } from 'node:child_process'
import { nextMessage } from '../support/system/child-process.ts'
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
