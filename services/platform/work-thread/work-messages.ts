/** Result of work: the head of the answer, then its bytes. A chunk is written when the caller reads it. */
export type WorkResult = { readonly head: unknown; readonly chunks: Iterable<Uint8Array<ArrayBuffer>> }

/** Functions that do work on plain data, by name. */
export type WorkTable = Readonly<Record<string, (input: never) => WorkResult>>

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

/** Message from the thread about a task. `end` and `fault` are the last messages of a task. */
export type FromThread =
  | { readonly kind: 'head'; readonly id: number; readonly head: unknown }
  | { readonly kind: 'bytes'; readonly id: number; readonly bytes: Uint8Array<ArrayBuffer> }
  | { readonly kind: 'end'; readonly id: number }
  | { readonly kind: 'fault'; readonly id: number; readonly error: string }

/** Share of the heap of a thread that its work may use. The rest is for the objects of one task. */
export const usableShareOfHeap = 3 / 4

/** Room in MiB for new objects that one garbage collection can make old: more than their spaces hold. */
export const newObjectsMiB = 96
