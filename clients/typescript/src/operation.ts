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

/** Input of a change that is made: `dry_run` is absent or false in query and body. */
type Made<Data> = Input<Data> & {
  readonly query?: { readonly dry_run?: false }
  readonly body?: { readonly dry_run?: false }
}

/** Operation with a dry run. The answer follows from `dry_run`; if only the run decides `dry_run`, it is one of both. */
export type RehearsedOperation<Data, Answer, DryRun> = {
  (input: Input<Data> & { readonly query: { readonly dry_run: true } }): Promise<DryRun>
  (input: Made<Data>): Promise<Exclude<Answer, DryRun>>
  (input: Input<Data>): Promise<Answer>
}

/** Operation that reads a list. */
export type ListOperation<Data, Page> = Call<Data, Page extends { data: Array<infer Item> } ? Pages<Item> : never>
