import type { FetchApi } from '../../console/api.ts'
import type { ConsoleDependencies } from '../../console/console-dependencies.ts'
import type { ConsoleSession } from '../../console/session.ts'
import { apiVersionDates } from '../../contract/api-version.ts'
import type { TokenGrant } from '../../platform/access/bearer-token.ts'
import { CallError, type ServiceCalls } from '../../platform/call-service.ts'
import { undoPath } from '../reading-import/undo-import.ts'

type CallDependencies = {
  readonly fetch: FetchApi
  /** Sign a bearer token for a key or user. */
  readonly sign: (subject: TokenGrant) => Promise<string>
  /** Address of the gateways; null if this process is a gateway. */
  readonly gatewayUrl: string | null
}

/** Placeholder: the request does not leave the process. */
const baseAddress = 'http://service.internal'
const timeoutMs = 30_000

const retryAfterMsOf = (header: string | null): number | null => (header === null ? null : Number(header) * 1_000)

/** Return the calls of a session of the console. */
export const callsOfSession = (dependencies: ConsoleDependencies, session: ConsoleSession): ServiceCalls => {
  const { fetch, gatewayUrl } = dependencies
  const sign = (subject: TokenGrant) => dependencies.bearerTokens.sign(subject, dependencies.at())
  return sessionCalls({ fetch, sign, gatewayUrl }, session)
}

/**
 * Create the calls of an import with the permissions of a session. Submissions and undos go to the gateways, other calls to
 * this process. Each call has a new token, so that an import ends if the session loses its access.
 */
export const sessionCalls = ({ fetch, sign, gatewayUrl }: CallDependencies, subject: TokenGrant): ServiceCalls => ({
  call: async (method, path, body, mediaType = 'application/json') => {
    const isRemote = (method === 'PUT' || path === undoPath) && gatewayUrl !== null
    const headers = {
      Authorization: `Bearer ${await sign(subject)}`,
      'Api-Version': apiVersionDates.current,
      ...(body === undefined ? {} : { 'Content-Type': mediaType }),
    }
    const content = body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }
    const signal = isRemote ? { signal: AbortSignal.timeout(timeoutMs) } : {}
    const request = new Request(new URL(path, isRemote ? gatewayUrl : baseAddress), {
      method,
      headers,
      ...content,
      ...signal,
    })
    try {
      const response = await (isRemote ? globalThis.fetch(request) : fetch(request))
      const text = await response.text()
      const isJson = response.headers.get('Content-Type')?.includes('json') ?? false
      const retryAfterMs = retryAfterMsOf(response.headers.get('Retry-After'))
      return { status: response.status, body: isJson && text !== '' ? JSON.parse(text) : null, retryAfterMs }
    } catch (error) {
      throw new CallError(`${method} ${path}: no answer of the service.`, null, null, error)
    }
  },
})
