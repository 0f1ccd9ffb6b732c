import { type ApiVersion, apiVersionOfHeader } from '../../contract/api-version.ts'
import type { Operation } from '../../contract/operation.ts'
import type { Ports } from './binding.ts'
import type { ReceivedRequest } from './request-body.ts'

/** State of a request while it is answered. An error object at any step is written from it. */
export type Trace = {
  readonly requestId: string
  readonly at: number
  apiVersion: ApiVersion
  operation: Operation | null
  liveMode: boolean | undefined
  /** Value of `context` in an error object. */
  context: string
  connectToken: string | undefined
  /** True while the service waits for the body. A timeout is then the fault of the client. */
  isReadingBody: boolean
  /** Headers of the answer, also of an error. */
  readonly headers: Record<string, string>
}

const safeRequestId = /^[A-Za-z0-9._~:+/=@-]{1,128}$/

/** Start the trace of a request. A safe `X-Request-Id` of the client becomes the request id. */
export const createTrace = ({ headers }: Pick<ReceivedRequest, 'headers'>, ports: Ports): Trace => {
  const given = headers.get('x-request-id') ?? ''
  return {
    requestId: safeRequestId.test(given) ? given : ports.newRequestId(),
    at: ports.now(),
    apiVersion: apiVersionOfHeader(headers.get('api-version') ?? undefined),
    operation: null,
    liveMode: undefined,
    context: 'api.path_find',
    connectToken: undefined,
    isReadingBody: false,
    headers: {},
  }
}

/** Set the operation that answers a request. */
export const setOperation = (trace: Trace, operation: Operation): void => {
  trace.operation = operation
  trace.context = operation.context ?? `api.${operation.id}`
}
