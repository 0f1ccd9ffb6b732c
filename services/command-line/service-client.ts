import { callRequest, type InDoubles, type ParametersOf, receivedAnswer, type SentBodyOf } from '../contract/call.ts'
import type { AnswerOf, Operation } from '../contract/operation.ts'
import { accountLogin } from '../contract/registry/account.ts'
import { type Answer, CallError, refusalOf, type ServiceCalls } from '../platform/call-service.ts'

export { CallError, refusalOf } from '../platform/call-service.ts'

/** Answer of an operation as commands receive it. */
export type Received<O extends Operation> = InDoubles<AnswerOf<O>>

/** Calls give up after 30 s without an answer. */
export type ServiceClient = ServiceCalls & {
  /** Begin a download of any length. The caller reads the body. Rejects if the service does not answer. */
  readonly download: (
    path: string,
    moreHeaders: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ) => Promise<{ readonly status: number; readonly body: AsyncIterable<Uint8Array> | null }>
  /**
   * Call an operation and return its answer. A body that is a text is sent as it is.
   * Throws `CallError` with the message of a refusal.
   */
  readonly ask: <O extends Operation>(
    operation: O,
    parameters: ParametersOf<O>,
    body?: SentBodyOf<O> | string,
  ) => Promise<Received<O>>
}

const timeoutMs = 30_000

const causeOf = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error)
  if (error.name === 'TimeoutError') return `no answer within ${timeoutMs / 1000} s`
  const { cause } = error
  if (cause instanceof AggregateError) return causeOf(cause.errors[0])
  return cause instanceof Error ? cause.message : error.message
}

const retryAfterMsOf = (header: string | null): number | null =>
  header === null || !/^\d+$/.test(header) ? null : Number(header) * 1000

/** Create a client that sends the given headers with every call. `parse` reads the JSON of an answer. */
export const serviceClient = (
  baseUrl: string,
  headers: Readonly<Record<string, string>>,
  parse: (text: string) => unknown = JSON.parse,
): ServiceClient => {
  const call: ServiceClient['call'] = async <T>(
    method: string,
    path: string,
    body?: unknown,
    mediaType = 'application/json',
    moreHeaders: Readonly<Record<string, string>> = {},
  ): Promise<Answer<T>> => {
    const content: Record<string, string> = body === undefined ? {} : { 'Content-Type': mediaType }
    const signal = AbortSignal.timeout(timeoutMs)
    const text = body === undefined ? null : typeof body === 'string' ? body : JSON.stringify(body)
    try {
      const response = await fetch(new URL(path, baseUrl), {
        method,
        headers: { ...headers, ...content, ...moreHeaders },
        signal,
        body: text,
        redirect: 'manual',
      })
      const isJson = response.headers.get('Content-Type')?.includes('json') ?? false
      const responseText = await response.text()
      const retryAfterMs = retryAfterMsOf(response.headers.get('Retry-After'))
      return {
        status: response.status,
        body: isJson && responseText !== '' ? (parse(responseText) as T) : null,
        retryAfterMs,
      }
    } catch (error) {
      throw new CallError(`${method} ${baseUrl}${path}: ${causeOf(error)}`, null, null, error)
    }
  }
  const ask: ServiceClient['ask'] = async (operation, parameters, body) => {
    const { method, path } = callRequest(operation, parameters)
    const answer = await call<unknown>(method, path, body)
    if (answer.status < 200 || answer.status >= 300 || answer.body === null) throw refusalOf(method, path, answer)
    return receivedAnswer(operation, answer.body) as Received<typeof operation>
  }
  const download: ServiceClient['download'] = (path, moreHeaders, signal) =>
    fetch(new URL(path, baseUrl), { headers: { ...headers, ...moreHeaders }, signal, redirect: 'manual' }).then(
      ({ status, body }) => ({ status, body }),
      error => {
        if (signal.aborted) throw error
        throw new CallError(`GET ${baseUrl}${path}: ${causeOf(error)}`, null, null, error)
      },
    )
  return { call, ask, download }
}

/** Log in with the key of an account and return a client that sends the bearer token. Throws `CallError`. */
export const logIn = async (baseUrl: string, account: string, key: string): Promise<ServiceClient> => {
  const loginClient = serviceClient(baseUrl, {
    Authorization: `Basic ${Buffer.from(`${account}:${key}`).toString('base64')}`,
  })
  const { bearer_token: token } = await loginClient.ask(accountLogin, {})
  return serviceClient(baseUrl, { Authorization: `Bearer ${token}` })
}
