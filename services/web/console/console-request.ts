import type { Html } from '../ui-kit/html.ts'
import type { Api } from './api.ts'
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
  /** Time of the request in ms. */
  readonly at: number
}

/** Result of a route: a page, a part of a page, or the path of a redirect. */
export type PageResult = PageView | { readonly fragment: Html } | { readonly to: string }

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
