import { readExactJson } from '../../contract/json/exact-json.ts'
import type { TokenSubject } from '../../platform/access/bearer-token.ts'
import { runInTimeSlices } from '../../platform/concurrency/time-slices.ts'

/** What the interface answered: its object, or the words of its refusal. Numbers keep their texts, so that no digit is lost. */
export type ApiResult<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly status: number; readonly fault: Fault }

/** Why something was not done, in a sentence for the person who asked; `field` names what to change. */
export type Fault = { readonly code: string; readonly message: string; readonly field: string | null }

/** Asks the interface of this service in the name of who is signed in. */
export type Api = <T>(method: 'GET' | 'POST' | 'PATCH' | 'DELETE', path: string, body?: object) => Promise<ApiResult<T>>

/** A list as the interface gives it. */
export type ListOf<T> = { readonly has_more: boolean; readonly data: readonly T[] }

/** The interface of this process; `environment` is what the HTTP adapter says of the socket, for requests that stand for another one. */
export type FetchApi = (request: Request, environment?: unknown) => Response | Promise<Response>

type ApiDependencies = {
  readonly fetch: FetchApi
  /** Sign a bearer token for a subject. */
  readonly sign: (subject: TokenSubject) => Promise<string>
}

/** No request leaves the process: the address is only there because a request has one. */
const baseAddress = 'http://service.internal'

/** Read what the interface answered in slices of the turn of an account: a page may ask for thousands of prices. */
const parse = async (text: string, account: string): Promise<unknown> => {
  const parsed = await runInTimeSlices(readExactJson(text), account)
  if (!parsed.ok) throw new Error(`the interface answered no JSON: ${parsed.refusal.message}`)
  return parsed.value
}

const faultOf = (body: unknown): Fault => {
  const textMember = (name: string): string | null => {
    const value: unknown = typeof body === 'object' && body !== null ? Reflect.get(body, name) : undefined
    return typeof value === 'string' ? value : null
  }
  return {
    code: textMember('code') ?? 'internal_error',
    message: textMember('message') ?? 'The service gave no answer; try again later',
    field: textMember('field'),
  }
}

const readResponse = async <T>(response: Response, account: string): Promise<ApiResult<T>> => {
  const body = await parse(await response.text(), account)
  return response.ok ? { ok: true, value: body as T } : { ok: false, status: response.status, fault: faultOf(body) }
}

/** Give the interface as a key sees it: its scope, limits, events and audit hold for the console as for any other caller. */
export const apiFor = ({ fetch, sign }: ApiDependencies, subject: TokenSubject): Api => {
  return async (method, path, body) => {
    const headers = {
      Authorization: `Bearer ${await sign(subject)}`,
      'Api-Version': '2025-09-14',
      'Content-Type': 'application/json',
    }
    const content = body === undefined ? {} : { body: JSON.stringify(body) }
    return readResponse(
      await fetch(new Request(baseAddress + path, { method, headers, ...content })),
      subject.accountId,
    )
  }
}

/** Log in with an account id and a key for a visitor: wrong keys count for the visitor's peer, as those of `/login` do. */
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
