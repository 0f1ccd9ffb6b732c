/** What work gives step by step: nothing (a pause), what is known before the bytes, or bytes of the answer. */
export type WorkStep = { readonly head: unknown } | { readonly bytes: Uint8Array<ArrayBuffer> } | undefined

/** Work that can be paused after each step. */
export type PausableWork = Generator<WorkStep, void>

/** Kinds of work by name; each begins work on plain data. */
export type WorkTable = Readonly<Record<string, (input: never) => PausableWork>>

/** To the thread: begin work, send so many further chunks of its bytes, or stop it. */
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

/** From the thread: what came of a step. After `end` and `fault` nothing more comes of the work. */
export type FromThread =
  | { readonly kind: 'head'; readonly id: number; readonly head: unknown }
  | { readonly kind: 'bytes'; readonly id: number; readonly bytes: Uint8Array<ArrayBuffer> }
  | { readonly kind: 'end'; readonly id: number }
  | { readonly kind: 'fault'; readonly id: number; readonly error: string }
