import { parentPort } from 'node:worker_threads'
import { serveWork } from '../../../../services/platform/work-thread/serve-work.ts'
import type { WorkResult } from '../../../../services/platform/work-thread/work-messages.ts'

/** Work for `steps` times `ms`, then send chunks. `done` counts steps and chunks. */
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

function* chunksOf({ chunks, done }: StepsInput): Generator<Uint8Array<ArrayBuffer>> {
  for (let chunk = 0; chunk < chunks; chunk += 1) {
    Atomics.add(done, 1, 1)
    yield new TextEncoder().encode(`${chunk},`)
  }
}

const steps = (input: StepsInput): WorkResult => {
  for (let step = 0; step < input.steps; step += 1) {
    busyFor(input.ms)
    Atomics.add(input.done, 0, 1)
  }
  return { head: { count: input.steps }, chunks: chunksOf(input) }
}

function* brokenChunks(how: 'after the head' | 'out of memory'): Generator<Uint8Array<ArrayBuffer>> {
  if (how === 'after the head') throw new RangeError('planned')
  const retained: unknown[] = []
  for (;;) {
    retained.push({ size: retained.length })
    if (retained.length < 0) yield new Uint8Array()
  }
}

/** Works that end badly. */
const broken = (how: 'at the start' | 'after the head' | 'out of memory'): WorkResult => {
  if (how === 'at the start') throw new RangeError('planned')
  return { head: null, chunks: brokenChunks(how) }
}

/** Retain objects of about a size until the caller releases them. */
export type HoldInput = { readonly mebibytes: number; readonly isReleased: Int32Array<SharedArrayBuffer> }

const hold = ({ mebibytes, isReleased }: HoldInput): WorkResult => {
  const retained = Array.from({ length: mebibytes }, () => Array.from({ length: 32_768 }, (_, index) => ({ index })))
  while (Atomics.load(isReleased, 0) === 0);
  return { head: retained.length, chunks: [] }
}

if (parentPort === null) throw new Error('this is the file of a thread')
serveWork(parentPort, { steps, broken, hold })
