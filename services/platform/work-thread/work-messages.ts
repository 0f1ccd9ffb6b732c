/** Result of a step: undefined for a pause, the head of the answer, or bytes of the answer. */
export type WorkStep = { readonly head: unknown } | { readonly bytes: Uint8Array<ArrayBuffer> } | undefined

/** Work that can be paused after each step. */
export type PausableWork = Generator<WorkStep, void>

/** Functions that start work on plain data, by name. */
export type WorkTable = Readonly<Record<string, (input: never) => PausableWork>>

/** Message to the thread: start work, send more chunks of its bytes, or stop it. */
export type ToThread =
  | {
      readonly kind: 'begin'
      readonly id: number
      readonly account: string
      readonly name: string
      readonly input: unknown
    }
  | { readonly kind: 'more'; readonly id: number; readonly chunks: number }
  | { readonly kind: 'stop'; readonly id: number }

/** Message from the thread with the result of a step. `end` and `fault` are the last messages of a task. */
export type FromThread =
  | { readonly kind: 'head'; readonly id: number; readonly head: unknown }
  | { readonly kind: 'bytes'; readonly id: number; readonly bytes: Uint8Array<ArrayBuffer> }
  | { readonly kind: 'end'; readonly id: number }
  | { readonly kind: 'fault'; readonly id: number; readonly error: string }

/** Share of the heap of a thread that its work may use. The rest is for the objects of one slice. */
export const usableShareOfHeap = 3 / 4

/** Room in MiB for new objects that one garbage collection can make old: more than their spaces hold. */
export const newObjectsMiB = 96
