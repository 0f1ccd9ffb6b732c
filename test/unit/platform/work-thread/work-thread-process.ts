import { parentPort } from 'node:worker_threads'
import { serveWork } from '../../../../services/platform/work-thread/serve-work.ts'
import type { PausableWork } from '../../../../services/platform/work-thread/work-messages.ts'

/** Do `steps` pauses of `ms` each, then send chunks. `done` counts pauses and chunks. */
export type StepsInput = {
  readonly steps: number
  readonly ms: number
  readonly chunks: number
  readonly done: Int32Array<SharedArrayBuffer>
}

const busyFor = (ms: number): void => {
  const until = performance.now() + ms
  while (performance.now() < until);
}

function* steps({ steps: count, ms, chunks, done }: StepsInput): PausableWork {
  for (let step = 0; step < count; step += 1) {
    busyFor(ms)
    Atomics.add(done, 0, 1)
    yield undefined
  }
  yield { head: { count } }
  for (let chunk = 0; chunk < chunks; chunk += 1) {
    Atomics.add(done, 1, 1)
    yield { bytes: new TextEncoder().encode(`${chunk},`) }
  }
}

/** Works that end badly. */
function* broken(how: 'at the start' | 'after the head' | 'out of memory'): PausableWork {
  if (how === 'at the start') throw new RangeError('planned')
  yield { head: null }
  if (how === 'after the head') throw new RangeError('planned')
  const retained: unknown[] = []
  for (;;) {
    for (let index = 0; index < 50_000; index += 1) retained.push({ index })
    yield undefined
  }
}

if (parentPort === null) throw new Error('this is the file of a thread')
serveWork(parentPort, { steps, broken })
