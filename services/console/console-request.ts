import { mayCall, type Operation } from '../contract/operation.ts'
import type { Html } from '../web/ui-kit/html.ts'
import type { ApiCalls } from './api.ts'
import type { ConsoleDependencies } from './console-dependencies.ts'
import type { AddedEntry } from './navigation.ts'
import type { PageResult } from './page-frame.ts'
import type { ConsoleSession } from './session.ts'

/** A request with a session. */
export type ConsoleRequest = ApiCalls & {
  readonly session: ConsoleSession
  readonly path: string
  /** Ids of the path, in order. */
  readonly ids: readonly string[]
  readonly query: URLSearchParams
  /** Fields of the sent form; empty on a GET. */
  readonly form: URLSearchParams
  /** Token that each form of the session contains. */
  readonly csrf: string
  /** Address of the console without a path, such as https://meters.example.com; null if it is unknown. */
  readonly origin: string | null
  /** Peer of the request, for counting. */
  readonly peer: string
  /** Token of the session. */
  readonly token: string
  /** Time of the request in ms. */
  readonly at: number
}

/** A request with a session and the navigation of its page, before its route is known. */
export type SignedInRequest = Omit<ConsoleRequest, 'ids' | keyof ApiCalls> & { readonly navigation: () => Html }

/** Return whether the visitor may call an operation. Pages leave out the buttons of other operations. */
export const mayDo = ({ session }: Pick<ConsoleRequest, 'session'>, operation: Pick<Operation, 'access'>): boolean =>
  mayCall(operation, session.scope)

/** A page or an action; `:name` in the path is an id. */
export type ConsoleRoute = {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly answer: (request: ConsoleRequest) => Promise<PageResult>
}

export const getRoute = (path: string, answer: ConsoleRoute['answer']): ConsoleRoute => ({
  method: 'GET',
  path,
  answer,
})
export const postRoute = (path: string, answer: ConsoleRoute['answer']): ConsoleRoute => ({
  method: 'POST',
  path,
  answer,
})

/** A page that writes its answer itself, for example in parts, with the ids of its path. */
export type OwnAnswer = {
  readonly methods: readonly ConsoleRoute['method'][]
  readonly path: string
  /** The answer reads the form of a POST and verifies its token. Otherwise `request.form` has the fields. */
  readonly readsForm: boolean
  readonly answer: (request: SignedInRequest, raw: Request, ids: readonly string[]) => Promise<Response>
}

/** Pages that a part outside the console adds to it. */
export type ConsoleArea = {
  readonly entry: AddedEntry
  readonly open: (dependencies: ConsoleDependencies) => {
    readonly routes: readonly ConsoleRoute[]
    readonly ownAnswers: readonly OwnAnswer[]
  }
}
