import { setTimeout as sleep } from 'node:timers/promises'
import type { Authorization } from './credentials.js'
import { ApiError, ConnectionError } from './errors.js'
import { parseExact } from './exact-json.js'
import { type FailedAttempt, type RetryOptions, retryAfterMs, retryDelay } from './retry.js'

/** Request without credentials. */
export type WireRequest = {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
  /** True if the effect of two requests is the effect of one. */
  readonly isRepeatable: boolean
  readonly signal?: AbortSignal
}

export type TransportOptions = RetryOptions & {
  /** Time limit of an attempt in ms. Default: 60,000. */
  readonly timeoutMs: number
  readonly fetch: typeof fetch
}

type Attempt<Answer> = { readonly answer: Answer } | { readonly failed: FailedAttempt; readonly error: Error }

/** Read the error object of an answer. A proxy before the service can answer with other text: null. */
const errorBodyOf = (text: string): object | null => {
  try {
    const body = parseExact(text, new Set())
    return typeof body === 'object' && body !== null && 'code' in body ? body : null
  } catch {
    return null
  }
}

const failureOf = async (response: Response): Promise<Attempt<never>> => {
  const text = await response.text()
  const retryAfter = response.headers.get('retry-after')
  const body = errorBodyOf(text)
  const waitMs = retryAfterMs(retryAfter, Date.now())
  const requestId = response.headers.get('x-request-id')
  const error = new ApiError(response.status, body ?? {}, requestId, waitMs === null ? null : waitMs / 1000)
  return { failed: { status: response.status, code: body === null ? null : error.code, retryAfter }, error }
}

const send = async <Answer>(
  request: WireRequest,
  authorization: string | null,
  read: (response: Response) => Promise<Answer>,
  { timeoutMs, fetch }: TransportOptions,
): Promise<Attempt<Answer>> => {
  const limit = AbortSignal.timeout(timeoutMs)
  try {
    const response = await fetch(request.url, {
      method: request.method,
      headers: { ...request.headers, ...(authorization === null ? {} : { Authorization: authorization }) },
      body: request.body ?? null,
      redirect: 'manual',
      signal: request.signal === undefined ? limit : AbortSignal.any([limit, request.signal]),
    })
    return response.ok ? { answer: await read(response) } : await failureOf(response)
  } catch (cause) {
    request.signal?.throwIfAborted()
    const { host } = new URL(request.url)
    const error = new ConnectionError(`${host} did not answer ${request.method}. The outcome is unknown.`, { cause })
    return { failed: { status: null, code: null, retryAfter: null }, error }
  }
}

/**
 * Send a request until it succeeds, is refused, or has no attempt left. `read` only receives the answer:
 * its errors are those of the network.
 * Throws ApiError or ConnectionError, or the reason of the caller's signal.
 */
export const sendWithRetries = async <Answer>(
  request: WireRequest,
  authorization: Authorization | null,
  read: (response: Response) => Promise<Answer>,
  options: TransportOptions,
): Promise<Answer> => {
  let hasRenewed = false
  for (let attempt = 1; ; attempt += 1) {
    const header = authorization === null ? null : await authorization.header()
    const result = await send(request, header, read, options)
    if ('answer' in result) return result.answer
    if (result.failed.code === 'token_expired' && !hasRenewed && header !== null && authorization?.renew(header)) {
      hasRenewed = true
      continue
    }
    const moment = { at: Date.now(), chance: Math.random() }
    const delayMs = retryDelay(result.failed, attempt, request.isRepeatable, options, moment)
    if (delayMs === null) throw result.error
    await sleep(delayMs, undefined, request.signal === undefined ? {} : { signal: request.signal })
  }
}
