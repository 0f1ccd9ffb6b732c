import { mayCall, type Operation } from '../../contract/operation.ts'
import type { Html } from '../ui-kit/html.ts'
import type { Api } from './api.ts'
import type { TableView } from './kit/data-table.ts'
import type { Undo } from './kit/last-action.ts'
import type { PageView } from './page-frame.ts'
import type { ConsoleSession } from './session.ts'

/** A request with a session. */
export type ConsoleRequest = {
  readonly session: ConsoleSession
  readonly api: Api
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

/** Return whether the visitor may call an operation. Pages leave out the buttons of other operations. */
export const mayDo = ({ session }: Pick<ConsoleRequest, 'session'>, operation: Pick<Operation, 'access'>): boolean =>
  mayCall(operation, session.scope)

/**
 * Result of a route: a page, a part of a page, or the path of a redirect. A part can show its requests to the API. `sessionToken` replaces the session of the
 * browser; null ends it. The next page offers `undo`.
 */
export type PageResult =
  | PageView
  | { readonly fragment: Html; readonly tables?: readonly TableView[]; readonly showsRequests?: boolean }
  | { readonly to: string; readonly sessionToken?: string | null; readonly undo?: Undo }

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
