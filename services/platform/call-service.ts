import { setTimeout as sleep } from 'node:timers/promises'

/** Response of the service; `body` is null if it is not JSON. */
export type Answer<T> = { readonly status: number; readonly body: T | null; readonly retryAfterMs: number | null }

/** The service refused a call or did not answer; `status` is null without an answer. */
export class CallError extends Error {
  readonly status: number | null
  readonly code: string | null

  constructor(message: string, status: number | null, code: string | null, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.status = status
    this.code = code
  }
}

/** Calls of the API for an account. */
export type ServiceCalls = {
  /**
   * Call the API and return any response. A body that is no text is sent as JSON, a text with its media type.
   * Throws `CallError` without an answer.
   */
  readonly call: <T>(
    method: string,
    path: string,
    body?: unknown,
    mediaType?: string,
    moreHeaders?: Readonly<Record<string, string>>,
  ) => Promise<Answer<T>>
}

/** Error object of the API. */
export type MessageBody = {
  readonly code?: string
  readonly message?: string
  readonly field?: string
  readonly request_id?: string
}

/** Create the error for a response that is not a success. */
export const refusalOf = (method: string, path: string, { status, body }: Answer<unknown>): CallError => {
  const { code, message, field, request_id: requestId } = (body ?? {}) as MessageBody
  const reason = message ?? 'an answer without an error object'
  const codeText = code === undefined ? '' : ` ${code}`
  const fieldText = field === undefined ? '' : ` (${field})`
  const requestIdText = requestId === undefined ? '' : ` [${requestId}]`
  return new CallError(
    `${method} ${path} answered ${status}${codeText}: ${reason}${fieldText}${requestIdText}`,
    status,
    code ?? null,
  )
}

/** Time without any answer after which a call is given up, in ms. A service can need this long for a start. */
const patienceMs = 5 * 60_000
const maxDelayMs = 5_000
const retriedStatuses: readonly (number | null)[] = [408, 429, 502, 503, 504]

/**
 * Call the service until it gives a final answer: busy answers, rate limits and lost connections are retried.
 * Throws `CallError` after 5 minutes, and if `signal` is aborted.
 */
export const callPatiently = async <T>(
  call: () => Promise<Answer<T>>,
  signal: AbortSignal,
  onWait: (reason: string) => void = () => undefined,
): Promise<Answer<T>> => {
  const deadline = performance.now() + patienceMs
  for (let delayMs = 100; ; delayMs = Math.min(delayMs * 2, maxDelayMs)) {
    const answer = await call().catch((error: unknown) => {
      if (error instanceof CallError && error.status === null && performance.now() < deadline) return error
      throw error
    })
    const isLost = answer instanceof CallError
    if (!isLost && !retriedStatuses.includes(answer.status)) return answer
    if (!isLost && performance.now() >= deadline) return answer
    onWait(isLost ? answer.message : `The service answered ${answer.status}.`)
    await sleep(isLost ? delayMs : (answer.retryAfterMs ?? delayMs), undefined, { signal })
  }
}

/** Call the service as `callPatiently` does and return the body of a success. Throws `CallError` for a refusal. */
export const askPatiently = async <T>(
  client: ServiceCalls,
  method: string,
  path: string,
  signal: AbortSignal,
): Promise<T> => {
  const answer = await callPatiently(() => client.call<T>(method, path), signal)
  if (answer.status >= 200 && answer.status < 300 && answer.body !== null) return answer.body
  throw refusalOf(method, path, answer)
}

/** Return the time zone of a location by its id or reference. Throws `CallError` if the key cannot read the location. */
export const zoneOfLocation = async (client: ServiceCalls, name: string, signal: AbortSignal): Promise<string> => {
  const path = `/locations/${encodeURIComponent(name)}`
  const { timezone } = await askPatiently<{ readonly timezone: string }>(client, 'GET', path, signal)
  return timezone
}
