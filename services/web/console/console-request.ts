import type { Html } from '../ui-kit/html.ts'
import type { Api } from './api.ts'
import type { PageView } from './page-frame.ts'
import type { ConsoleSession } from './session.ts'

/** One request of somebody who is signed in. */
export type ConsoleRequest = {
  readonly session: ConsoleSession
  readonly api: Api
  readonly path: string
  /** The ids of the path, in order. */
  readonly ids: readonly string[]
  readonly query: URLSearchParams
  /** What the form holds; empty on a GET. */
  readonly form: URLSearchParams
  /** What every form must carry. */
  readonly csrf: string
  /** The present (ms). */
  readonly at: number
}

/** What a visit is answered with: a page, a part of one, or the way to another. */
export type PageResult = PageView | { readonly fragment: Html } | { readonly to: string }

/** One page or action; `{}` in its path stands for an id. */
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
