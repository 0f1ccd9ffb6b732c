import type { IncomingMessage, ServerResponse } from 'node:http'
import { arrayBuffer } from 'node:stream/consumers'
import type { WrittenAnswer } from '../answer.ts'
import type { ReceivedRequest } from '../request-body.ts'
import type { PathEntries } from '../route-table.ts'

/** Serve a request without router and adapter. Returns false if the request must take the long way. */
export type DirectWay = (incoming: IncomingMessage, outgoing: ServerResponse) => boolean

/** Answer a request of a path. Never rejects. */
type AnswerDirectly = (
  request: ReceivedRequest,
  path: PathEntries,
  environment: { readonly incoming: IncomingMessage },
) => Promise<WrittenAnswer>

/** Longest body in bytes. Such a body usually arrives with its headers. */
const maxBodyBytes = 65_536

/** Host that no URL parser changes. Ports from 60,000 on take the long way, because some of them are invalid. */
const plainHost = /^[a-z0-9._-]+(?::(?:\d{1,4}|[1-5]\d{4}))?$/

const isSubmission = ({ path, entries }: PathEntries): boolean =>
  !path.includes('{') &&
  entries.every(
    ({ binding: { operation } }) =>
      operation.access === 'metering' && operation.endsWithClient !== true && operation.cors !== true,
  )

/**
 * Return whether a request has the form that clients usually send: a bearer key, a short JSON body of known length, and
 * no header twice. Node joins or drops duplicates.
 */
const isUsual = ({ method, headers, rawHeaders }: IncomingMessage): boolean => {
  const length = Number(headers['content-length'] ?? 0)
  return (
    (method === 'PUT' || method === 'POST') &&
    headers['content-type'] === 'application/json' &&
    length > 0 &&
    length <= maxBodyBytes &&
    headers.authorization?.startsWith('Bearer ') === true &&
    plainHost.test(headers.host ?? '') &&
    headers['content-encoding'] === undefined &&
    headers['transfer-encoding'] === undefined &&
    headers.expect === undefined &&
    headers.upgrade === undefined &&
    Object.keys(headers).length * 2 === rawHeaders.length
  )
}

/** Return the body if all of its bytes have arrived, otherwise null. */
const arrivedBody = (incoming: IncomingMessage): Uint8Array | null =>
  incoming.complete && incoming.readableLength === Number(incoming.headers['content-length']) ? incoming.read() : null

const receivedRequest = (incoming: IncomingMessage): ReceivedRequest => {
  const { method = '', url = '', headers } = incoming
  const { host: authority } = headers
  const get = (name: string): string | null => {
    const value = headers[name]
    return typeof value === 'string' ? value : null
  }
  return {
    method,
    url: `http://${authority}${url}`,
    headers: { get, has: name => headers[name] !== undefined },
    body: null,
    arrivedBody: () => arrivedBody(incoming),
    arrayBuffer: () => arrayBuffer(incoming),
  }
}

const writeAnswer = (outgoing: ServerResponse, { status, headers, body }: WrittenAnswer): void => {
  if (body instanceof ReadableStream) throw new TypeError('The answer of a submission must not be a stream.')
  outgoing.writeHead(status, headers)
  outgoing.end(body)
}

/**
 * Create the direct way of usual submissions. All other requests take the long way, through the router.
 * Law: both ways give the same answer and the same records.
 */
export const directWay = (paths: readonly PathEntries[], answer: AnswerDirectly): DirectWay => {
  const submissions = new Map(paths.filter(isSubmission).map(path => [path.path, path]))
  const serve = async (incoming: IncomingMessage, outgoing: ServerResponse, path: PathEntries): Promise<void> => {
    try {
      writeAnswer(outgoing, await answer(receivedRequest(incoming), path, { incoming }))
    } catch (error) {
      outgoing.destroy(error instanceof Error ? error : new Error(String(error)))
    }
  }
  return (incoming, outgoing) => {
    const path = submissions.get(incoming.url ?? '')
    if (path === undefined || !isUsual(incoming)) return false
    void serve(incoming, outgoing, path)
    return true
  }
}
