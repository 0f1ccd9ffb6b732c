import type { Pages } from './pages.js'

/** Row of the table of operations. */
export type OperationRow = {
  readonly method: string
  readonly path: string
  /** Credentials: the key or a token, the account id with the key, or none. */
  readonly access: string
  readonly isList: boolean
  readonly takesKey: boolean
}

/** Options of one call. */
export type CallOptions = {
  /** Key of a `POST` that creates or changes an object. Default: a random key for each call. */
  readonly idempotencyKey?: string
  readonly signal?: AbortSignal
}

/** Path, query and body of an operation, with the options of the call. */
export type Input<Data> = Omit<Data, 'url' | 'headers'> & CallOptions

type Call<Data, Answer> =
  Record<never, never> extends Omit<Data, 'url' | 'headers'>
    ? (input?: Input<Data>) => Answer
    : (input: Input<Data>) => Answer

/** Operation with one answer. */
export type SingleOperation<Data, Answer> = Call<Data, Promise<Answer>>

/** Operation that reads a list. */
export type ListOperation<Data, Page> = Call<Data, Page extends { data: Array<infer Item> } ? Pages<Item> : never>
