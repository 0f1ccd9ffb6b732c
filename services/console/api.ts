import { type ApiVersion, apiVersionDates } from '../contract/api-version.ts'
import { callRequest, type ParametersOf, receivedAnswer, receivedDryRun, type SentBodyOf } from '../contract/call.ts'
import type { DryRunWire } from '../contract/dry-run.ts'
import { parseExactJson } from '../contract/json/exact-json.ts'
import type { AnswerOf, Method, Operation } from '../contract/operation.ts'
import type { TokenGrant } from '../platform/access/bearer-token.ts'
import { nextSlice } from '../platform/concurrency/time-slices.ts'
import type { ApiCall } from './kit/api-requests.ts'

/** Response of the API: its object, or its refusal. Numbers keep their text, so that no digit is lost. */
export type ApiResult<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly status: number; readonly fault: Fault }

/** Reason of a refusal for the user; `field` names the invalid field. */
export type Fault = { readonly code: string; readonly message: string; readonly field: string | null }

/** Call the API with the permissions of the session, in the current API version unless another one is given. */
export type Api = <T>(method: Method, path: string, body?: object, apiVersion?: ApiVersion) => Promise<ApiResult<T>>

/** Calls of the API with the permissions of the session. Operations without renames may use the earlier API version. */
export type ApiCalls = {
  readonly call: <O extends Operation>(
    operation: O,
    parameters: ParametersOf<O>,
    body?: SentBodyOf<O>,
    apiVersion?: ApiVersion,
  ) => Promise<ApiResult<AnswerOf<O>>>
  /** Return what a call would change, and change nothing. */
  readonly dryRun: <O extends Operation>(
    operation: O,
    parameters: ParametersOf<O>,
    body?: SentBodyOf<O>,
  ) => Promise<ApiResult<DryRunWire>>
}

/** List of the API. */
export type ListOf<T> = { readonly has_more: boolean; readonly data: readonly T[] }

/** API of this process. `environment` describes the socket of the original request. */
export type FetchApi = (request: Request, environment?: unknown) => Response | Promise<Response>

type ApiDependencies = {
  readonly fetch: FetchApi
  /** Sign a bearer token for a key or user. */
  readonly sign: (subject: TokenGrant) => Promise<string>
}

/** Placeholder: the request does not leave the process. */
const baseAddress = 'http://service.internal'

const parse = (text: string): unknown => {
  const parsed = parseExactJson(text)
  if (!parsed.ok) throw new Error(`The API response is not JSON: ${parsed.refusal.message}.`)
  return parsed.value
}

const faultOf = (body: unknown): Fault => {
  const textMember = (name: string): string | null => {
    const value: unknown = typeof body === 'object' && body !== null ? Reflect.get(body, name) : undefined
    return typeof value === 'string' ? value : null
  }
  return {
    code: textMember('code') ?? 'internal_error',
    message: textMember('message') ?? 'The service did not answer. Load the page again later.',
    field: textMember('field'),
  }
}

/** A shorter response is parsed in a few ms. A longer one waits for its turn. */
const shortTextLength = 65_536

const readResponse = async <T>(response: Response, account: string): Promise<ApiResult<T>> => {
  const text = await response.text()
  if (text.length > shortTextLength) await nextSlice(account)
  const body = parse(text)
  return response.ok ? { ok: true, value: body as T } : { ok: false, status: response.status, fault: faultOf(body) }
}

/** Maximum number of requests that a page shows. */
const maxShownCalls = 20

/**
 * Create the API of a key. Scope, limits, events and audit entries are those of any other caller.
 * The first requests are added to `calls`, which the page shows.
 */
export const apiFor = ({ fetch, sign }: ApiDependencies, subject: TokenGrant, calls: ApiCall[]): Api => {
  return async (method, path, body, apiVersion = 'current') => {
    if (calls.length < maxShownCalls) calls.push({ method, path, body, apiVersion })
    const headers = {
      Authorization: `Bearer ${await sign(subject)}`,
      'Api-Version': apiVersionDates[apiVersion],
      'Content-Type': 'application/json',
    }
    const content = body === undefined ? {} : { body: JSON.stringify(body) }
    return readResponse(
      await fetch(new Request(baseAddress + path, { method, headers, ...content })),
      subject.accountId,
    )
  }
}

/** Create the calls of operations. */
export const apiCallsOf = (api: Api): ApiCalls => ({
  call: async (operation, parameters, sent, apiVersion) => {
    const { method, path, body } = callRequest(operation, parameters, sent)
    const result = await api<unknown>(method, path, body, apiVersion)
    return result.ok ? { ok: true, value: receivedAnswer(operation, result.value) } : result
  },
  dryRun: async (operation, parameters, sent) => {
    const { method, path, body } = callRequest(operation, { ...parameters, dry_run: true }, sent)
    const result = await api<unknown>(method, path, body)
    return result.ok ? { ok: true, value: receivedDryRun(operation, result.value) } : result
  },
})

/** Log in for a visitor. Wrong keys count against the visitor's IP address, as at `/login`. */
export const logIn = async (
  { fetch }: Pick<ApiDependencies, 'fetch'>,
  { accountId, key }: { readonly accountId: string; readonly key: string },
  visitor: { readonly headers: Headers; readonly environment: unknown },
): Promise<ApiResult<{ bearer_token: string }>> => {
  const forwarded = visitor.headers.get('x-forwarded-for')
  const headers = {
    Authorization: `Basic ${Buffer.from(`${accountId}:${key}`).toString('base64')}`,
    ...(forwarded === null ? {} : { 'X-Forwarded-For': forwarded }),
  }
  return readResponse(await fetch(new Request(`${baseAddress}/login`, { headers }), visitor.environment), '')
}
