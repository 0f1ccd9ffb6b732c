import { type IncomingMessage, type RequestListener, type Server, type ServerResponse, STATUS_CODES } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { getRequestListener } from '@hono/node-server'
import type { Hono } from 'hono'
import { type ApiVersion, apiVersionDates, apiVersionOfHeader } from '../../contract/api-version.ts'
import { errorObject, statusOf } from '../../contract/error.ts'
import { type Refusal, refused } from '../../domain/refusal.ts'
import type { Ports } from './binding.ts'
import type { DirectWay } from './fast-path/direct-way.ts'
import { currentReadOf, orderedServer } from './in-order.ts'
import { areChunksTooSmall } from './request-body.ts'

/** Limits of the server. They apply before the request reaches the application. */
const serverLimits = {
  /** Request line and headers, in bytes. */
  maxHeaderSize: 16 * 2 ** 10,
  /** Time in ms from the first byte to the last header. `requestTimeout`: to the last byte of the body. */
  headersTimeout: 15_000,
  // The operation itself answers a slow body after 30 s. This limit must be later.
  requestTimeout: 35_000,
  keepAliveTimeout: 65_000,
  connectionsCheckingInterval: 1_000,
} as const

/**
 * Max connections that wait for `accept`. The operating system has its own limit.
 * Clients beyond it retry after seconds.
 */
const maxBacklog = 4_096

/** Time in ms in which a stopping server still accepts connections, for requests that were sent before the stop. */
const graceMs = 200

const drainStepMs = 50

/** Interval and number of checks whether the body of an answered request still arrives. */
const lingerStepMs = 1_000
const maxLingerSteps = 15

export type Listener = AsyncDisposable & {
  readonly host: string
  readonly port: number
  /**
   * Stop in order: send `Connection: close`, stop accepting connections, wait for running requests, then cut the other
   * connections.
   * `limitMs` is the total time from the call.
   */
  readonly close: (limitMs: number) => Promise<void>
}

/** An app. Without `serveDirectly`, all requests take the long way. */
type ServedApp = Pick<Hono, 'fetch'> & { readonly serveDirectly?: DirectWay }

type ListenerDependencies = Pick<Ports, 'now' | 'newRequestId' | 'log'>

const refusalOf = (code: string | undefined): Refusal => {
  if (code === 'HPE_HEADER_OVERFLOW')
    return refused('headers_too_large', 'Send headers of at most 16 KiB together').refusal
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return refused('request_timeout', 'Send the whole request within 30 seconds').refusal
  return refused('header_invalid', 'Send a request that follows HTTP/1.1').refusal
}

const apiVersionOf = ({ headers }: IncomingMessage): ApiVersion =>
  apiVersionOfHeader(headers['api-version']?.toString())

/** Find the API version in the bytes of a request that cannot be parsed. */
const apiVersionOfBytes = (bytes: Buffer | undefined): ApiVersion => {
  const head = bytes?.subarray(0, maxScannedBytes).toString('latin1') ?? ''
  return apiVersionOfHeader(/^api-version:([^\r\n]{0,40})/im.exec(head)?.[1])
}

const maxScannedBytes = 65_536

/** Create the error object of an invalid request, with the headers of all answers. */
const unreadableAnswer = (refusal: Refusal, apiVersion: ApiVersion, dependencies: ListenerDependencies) => {
  const requestId = dependencies.newRequestId()
  const body = JSON.stringify(
    errorObject(refusal, { context: 'api.request_read', requestId, at: dependencies.now(), apiVersion }),
  )
  const headers = {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': String(Buffer.byteLength(body)),
    'X-Request-Id': requestId,
    'Api-Version': apiVersionDates[apiVersion],
    'X-Content-Type-Options': 'nosniff',
    Connection: 'close',
  }
  return { status: statusOf(refusal.code, apiVersion), headers, body }
}

/** Answer bytes that are not a valid request with an error object, if the socket is still writable. */
const answerParseError = (
  error: Error & { readonly code?: string; readonly rawPacket?: Buffer },
  socket: Socket,
  dependencies: ListenerDependencies,
): void => {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const { status, headers, body } = unreadableAnswer(
    refusalOf(error.code),
    apiVersionOfBytes(currentReadOf(socket) ?? error.rawPacket),
    dependencies,
  )
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  socket.end([`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...lines, '', body].join('\r\n'))
}

/**
 * Read the rest of an already answered request for up to 15 s, while bytes still arrive.
 * If a connection is cut while the client still writes, the client loses the answer. Source: RFC 9112, 9.6.
 */
const linger = (incoming: IncomingMessage): void => {
  const { socket } = incoming
  let seen = socket.bytesRead
  let steps = 0
  const timer = setInterval(() => {
    steps += 1
    const isOver = incoming.complete || socket.destroyed
    const isIdle = socket.bytesRead === seen || steps === maxLingerSteps
    seen = socket.bytesRead
    if (isOver || isIdle) clearInterval(timer)
    if (isIdle && !isOver) socket.destroySoon()
  }, lingerStepMs)
  timer.unref()
}

const duplicateHost = refused('header_invalid', 'Send one Host header: two can mean two different servers.').refusal

/** Node uses the first Host header. A proxy may use another one, so several are refused. Source: RFC 9112, 3.2. */
const countHosts = ({ rawHeaders }: IncomingMessage): number => {
  let count = 0
  for (let index = 0; index < rawHeaders.length; index += 2)
    if (rawHeaders[index]?.length === 4 && rawHeaders[index]?.toLowerCase() === 'host') count += 1
  return count
}

/**
 * Min interval in ms between two log lines of unreadable requests.
 * A line has the number of requests that were not logged.
 */
const unreadableLogMs = 1_000

/** Log unreadable requests without a stack, at most one line per second, so that clients cannot flood the log. */
const logUnreadable = ({ log }: Pick<ListenerDependencies, 'log'>): ((error: unknown) => void) => {
  let [lastAt, skipped] = [-unreadableLogMs, 0]
  return error => {
    const now = performance.now()
    if (now - lastAt < unreadableLogMs) {
      skipped += 1
      return
    }
    const reason = (error instanceof Error ? error.message : String(error)).slice(0, 200)
    log.warn({ reason, left_out: skipped }, 'Request unreadable')
    lastAt = now
    skipped = 0
  }
}

/**
 * Stop passing on the chunks of a body after too many tiny chunks. The request body is then refused.
 * The parser reads up to 64 KiB in one turn.
 * Each of ten thousand tiny chunks costs ten times as much in streams as in the parser.
 */
const limitChunks = (incoming: IncomingMessage): void => {
  const push = incoming.push.bind(incoming)
  let [count, length, isOver] = [0, 0, false]
  incoming.push = (chunk: Uint8Array | null, encoding?: BufferEncoding): boolean => {
    if (isOver) return false
    if (chunk === null) return push(null)
    length += chunk.length
    isOver = areChunksTooSmall(count, length)
    count += 1
    return push(chunk, encoding)
  }
}

/**
 * Create the request listener of an app.
 * By default the Hono adapter cuts a connection if its body is incomplete 0.5 s after the answer.
 * This default stays for bodies of unknown length only. `linger` serves the others.
 */
const requestListener = (
  app: ServedApp,
  logError: (error: unknown) => void,
  dependencies: ListenerDependencies,
): RequestListener => {
  let readApiVersion: ApiVersion = 'current'
  // The adapter creates the request in the turn of the call. It calls this function if the request is invalid.
  const errorHandler = (error: unknown): Response => {
    logError(error)
    const { status, headers, body } = unreadableAnswer(refusalOf(undefined), readApiVersion, dependencies)
    return new Response(body, { status, headers })
  }
  const listenUnknownLength = getRequestListener(app.fetch, { errorHandler })
  const listenKnownLength = getRequestListener(app.fetch, { errorHandler, autoCleanupIncoming: false })
  return (incoming, outgoing) => {
    readApiVersion = apiVersionOf(incoming)
    if (countHosts(incoming) > 1) {
      const { status, headers, body } = unreadableAnswer(duplicateHost, readApiVersion, dependencies)
      outgoing.writeHead(status, headers).end(body)
      return
    }
    if (incoming.headers['content-length'] === undefined) {
      limitChunks(incoming)
      return void listenUnknownLength(incoming, outgoing)
    }
    outgoing.on('finish', () => {
      if (!incoming.complete) linger(incoming)
    })
    if (app.serveDirectly?.(incoming, outgoing) !== true) void listenKnownLength(incoming, outgoing)
  }
}

/**
 * Longest path and longest request target (path and query), in bytes.
 * Source: docs/rules/versions-and-transport.md #request-targets.
 */
const targetLimits = { path: 4_096, target: 8_192 } as const

const isTargetTooLong = (target: string): boolean => {
  if (target.length > targetLimits.target) return true
  const query = target.indexOf('?')
  return (query < 0 ? target.length : query) > targetLimits.path
}

const targetTooLong = refused(
  'target_too_long',
  'Send a path of at most 4 KiB, and a path with its query of at most 8 KiB',
).refusal

/** Refuse a request target that is too long before the router reads it. The body is not read. */
const refuseLongTargets =
  (listener: RequestListener, dependencies: ListenerDependencies): RequestListener =>
  (incoming, outgoing) => {
    if (!isTargetTooLong(incoming.url ?? '')) {
      listener(incoming, outgoing)
      return
    }
    outgoing.on('finish', () => {
      if (!incoming.complete) linger(incoming)
    })
    const { status, headers, body } = unreadableAnswer(targetTooLong, apiVersionOf(incoming), dependencies)
    outgoing.writeHead(status, headers).end(body)
  }

const closeServer = (server: Server): Promise<void> =>
  new Promise((resolve, reject) => server.close(error => (error === undefined ? resolve() : reject(error))))

/** Accept all connections that wait now. The event loop accepts one connection in each turn. */
const acceptBacklog = async (server: Server, until: number): Promise<void> => {
  let acceptedCount = 0
  const count = (): void => {
    acceptedCount += 1
  }
  server.on('connection', count)
  for (let before = -1; acceptedCount !== before && (before < 0 || performance.now() < until); ) {
    before = acceptedCount
    await nextTurn()
  }
  server.off('connection', count)
}

/**
 * Do not close idle connections while a written answer is still being sent, because Node counts its connection as idle.
 */
const keepSendingConnections = (server: Server, listener: RequestListener): RequestListener => {
  const activeResponses = new Set<ServerResponse>()
  const closeIdle = server.closeIdleConnections.bind(server)
  server.closeIdleConnections = () => {
    for (const { writableEnded, writableFinished } of activeResponses) if (writableEnded && !writableFinished) return
    closeIdle()
  }
  return (incoming, outgoing) => {
    activeResponses.add(outgoing)
    outgoing.on('close', () => activeResponses.delete(outgoing))
    listener(incoming, outgoing)
  }
}

const closeWithin = async (server: Server, limitMs: number): Promise<void> => {
  const until = performance.now() + limitMs
  server.prependListener('request', (_, outgoing) => outgoing.setHeader('Connection', 'close'))
  await sleep(Math.min(graceMs, limitMs))
  // On a busy machine the grace time can end before this process has accepted a connection.
  await acceptBacklog(server, until)
  const done = closeServer(server)
  const idle = setInterval(() => server.closeIdleConnections(), drainStepMs)
  const cut = setTimeout(() => server.closeAllConnections(), Math.max(1, until - performance.now()))
  try {
    await done
  } finally {
    clearInterval(idle)
    clearTimeout(cut)
  }
}

const bindServer = (server: Server, host: string, port: number): Promise<AddressInfo> =>
  new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen({ port, host, backlog: maxBacklog }, () => {
      server.off('error', reject)
      const address = server.address()
      if (address === null || typeof address === 'string') reject(new Error('The server has no port'))
      else resolve(address)
    })
  })

/**
 * Serve an app on a host and port. Port 0 chooses a free port.
 * Throws if the port is in use. Dispose closes the server with a time limit of 10 s.
 */
export const listen = async (
  app: ServedApp,
  { host, port }: { readonly host: string; readonly port: number },
  dependencies: ListenerDependencies,
): Promise<Listener> => {
  const answerRequest = refuseLongTargets(requestListener(app, logUnreadable(dependencies), dependencies), dependencies)
  const server = orderedServer(serverLimits, opened => keepSendingConnections(opened, answerRequest))
  // Ignore an unknown Expect header. Node's own answer to it has no error object.
  server.on('checkExpectation', (request, response) => server.emit('request', request, response))
  server.on('clientError', (error: Error, socket) => answerParseError(error, socket as Socket, dependencies))
  const address = await bindServer(server, host, port)
  let closing: Promise<void> | undefined
  const close = (limitMs: number): Promise<void> => {
    closing ??= closeWithin(server, limitMs)
    return closing
  }
  return { host: address.address, port: address.port, close, [Symbol.asyncDispose]: () => close(10_000) }
}
