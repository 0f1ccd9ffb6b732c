import type { Html } from '../reference/html.ts'
import type { Api } from './api.ts'
import type { View } from './frame.ts'
import type { SignedIn } from './session.ts'

/** One request of somebody who is signed in. */
export type Visit = {
  readonly signedIn: SignedIn
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
export type Shown = View | { readonly fragment: Html } | { readonly to: string }

/** One page or action; `{}` in its path stands for an id. */
export type Route = { readonly method: 'GET' | 'POST'; readonly path: string; readonly show: (visit: Visit) => Promise<Shown> }

export const get = (path: string, show: Route['show']): Route => ({ method: 'GET', path, show })
export const post = (path: string, show: Route['show']): Route => ({ method: 'POST', path, show })
