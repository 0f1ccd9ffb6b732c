import { type IncomingMessage, type RequestListener, type Server, type ServerResponse, STATUS_CODES } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { getRequestListener } from '@hono/node-server'
import type { Hono } from 'hono'
import { apiVersionDates } from '../../contract/api-version.ts'
import { errorObject, statusOf } from '../../contract/error.ts'
import { type Refusal, refused } from '../../domain/refusal.ts'
import type { Ports } from './binding.ts'
import { orderedServer } from './in-order.ts'
import { areChunksTooSmall } from './request-body.ts'

/** Limits of the server itself: what comes before a request can be read at all. */
const serverLimits = {
  /** Request line and headers together, in bytes. */
  maxHeaderSize: 16 * 2 ** 10,
  /** From the first byte to the last header, and to the last byte of the body, in ms. */
  headersTimeout: 15_000,
  // A body of an operation that comes too slowly is answered by the operation's own limit of 30 s, which must come first.
  requestTimeout: 35_000,
  keepAliveTimeout: 65_000,
  connectionsCheckingInterval: 1_000,
} as const

/** Connections that may wait to be taken; systems have their own bound. Beyond it clients try again after seconds, or are cut off at last. */
const maxBacklog = 4_096

/** What clients sent before they could know of the end is still read, on new connections too; longer than it is on its way, in ms. */
const graceMs = 200

const drainStepMs = 50

/** How often it is looked whether more of an answered request comes, and how many times at the most. */
const lingerStepMs = 1_000
const maxLingerSteps = 15

export type Listener = AsyncDisposable & {
  readonly host: string
  readonly port: number
  /**
   * Say with each answer that the connection ends, after a moment take no more connections, let running requests end within the time limit
   * (ms, from the call on), then cut what is left.
   */
  readonly close: (limitMs: number) => Promise<void>
}

type ListenerDependencies = Pick<Ports, 'now' | 'newRequestId' | 'log'>

const refusalOf = (code: string | undefined): Refusal => {
  if (code === 'HPE_HEADER_OVERFLOW')
    return refused('headers_too_large', 'Send headers of at most 16 KiB together').refusal
  if (code === 'ERR_HTTP_REQUEST_TIMEOUT')
    return refused('request_timeout', 'Send the whole request within 30 seconds').refusal
  return refused('header_invalid', 'Send a request that follows HTTP/1.1').refusal
}

/** The error object of a request that never became one, with the headers that every answer has. */
const unreadableAnswer = (refusal: Refusal, dependencies: ListenerDependencies) => {
  const requestId = dependencies.newRequestId()
  const body = JSON.stringify(
    errorObject(refusal, { context: 'api.request_read', requestId, at: dependencies.now(), apiVersion: 'current' }),
  )
  const headers = {
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': String(Buffer.byteLength(body)),
    'X-Request-Id': requestId,
    'Api-Version': apiVersionDates.current,
    'X-Content-Type-Options': 'nosniff',
    Connection: 'close',
  }
  return { status: statusOf(refusal.code, 'current'), headers, body }
}

/** Answer bytes that are no request with the error object too, as far as the socket still takes it. */
const answerParseError = (
  error: Error & { readonly code?: string },
  socket: Socket,
  dependencies: ListenerDependencies,
): void => {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const { status, headers, body } = unreadableAnswer(refusalOf(error.code), dependencies)
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  socket.end([`HTTP/1.1 ${status} ${STATUS_CODES[status]}`, ...lines, '', body].join('\r\n'))
}

/**
 * Let the rest of a request come that is answered already, while any of it comes and for some seconds: a connection that is cut while the
 * client still writes takes the answer away from it. Source: RFC 9112, 9.6.
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

/** The server keeps the first of several Host headers; a proxy before it may have chosen another one. Source: RFC 9112, 3.2. */
const countHosts = ({ rawHeaders }: IncomingMessage): number =>
  rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === 'host').length

/** How often a request that cannot be read is logged: once in so many ms, with the number of those that were not. */
const unreadableLogMs = 1_000

/** Log requests that cannot be read in one line without a stack, at most one line a second: whoever sends them can send many. */
const logUnreadable = ({ log }: Pick<ListenerDependencies, 'log'>): ((error: unknown) => void) => {
  let [lastAt, skipped] = [-unreadableLogMs, 0]
  return error => {
    const now = performance.now()
    if (now - lastAt < unreadableLogMs) {
      skipped += 1
      return
    }
    const reason = (error instanceof Error ? error.message : String(error)).slice(0, 200)
    log.warn({ reason, left_out: skipped }, 'a request could not be read')
    lastAt = now
    skipped = 0
  }
}

/**
 * Pass on no chunk of a body after those that refuse the body: the parser reads up to 64 KiB in one turn, and each of ten thousand tiny chunks
 * costs ten times as much in the streams as in the parser. The socket is not read any more then.
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
 * Listen to requests. The adapter cuts a connection whose body is not there half a second after the answer; it keeps that for bodies of
 * unknown length alone, which it may have begun to read.
 */
const requestListener = (
  app: Hono,
  errorHandler: (error: unknown) => Response,
  dependencies: ListenerDependencies,
): RequestListener => {
  const listenUnknownLength = getRequestListener(app.fetch, { errorHandler })
  const listenKnownLength = getRequestListener(app.fetch, { errorHandler, autoCleanupIncoming: false })
  return (incoming, outgoing) => {
    if (countHosts(incoming) > 1) {
      const { status, headers, body } = unreadableAnswer(duplicateHost, dependencies)
      outgoing.writeHead(status, headers).end(body)
      return
    }
    if (incoming.headers['content-length'] === undefined) {
      limitChunks(incoming)
      return void listenUnknownLength(incoming, outgoing)
    }
    outgoing.once('finish', () => {
      if (!incoming.complete) linger(incoming)
    })
    void listenKnownLength(incoming, outgoing)
  }
}

/** Longest path and longest request target (path and query), in bytes. Source: docs/rules/versions-and-transport.md #request-targets. */
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

/** Refuse a target that is too long before the router or any pattern reads it; the body that may come with it is left unread. */
const refuseLongTargets =
  (listener: RequestListener, dependencies: ListenerDependencies): RequestListener =>
  (incoming, outgoing) => {
    if (!isTargetTooLong(incoming.url ?? '')) {
      listener(incoming, outgoing)
      return
    }
    outgoing.once('finish', () => {
      if (!incoming.complete) linger(incoming)
    })
    const { status, headers, body } = unreadableAnswer(targetTooLong, dependencies)
    outgoing.writeHead(status, headers).end(body)
  }

const closeServer = (server: Server): Promise<void> =>
  new Promise((resolve, reject) => server.close(error => (error === undefined ? resolve() : reject(error))))

/** Let everything that waits for this process now be looked at: the event loop takes one new connection in each of its turns. */
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

/** Close no connection as idle while an answer was written whole and is still being sent: the server takes that one for idle too. */
const keepSendingConnections = (server: Server, listener: RequestListener): RequestListener => {
  const activeResponses = new Set<ServerResponse>()
  const closeIdle = server.closeIdleConnections.bind(server)
  server.closeIdleConnections = () => {
    for (const { writableEnded, writableFinished } of activeResponses) if (writableEnded && !writableFinished) return
    closeIdle()
  }
  return (incoming, outgoing) => {
    activeResponses.add(outgoing)
    outgoing.once('close', () => activeResponses.delete(outgoing))
    listener(incoming, outgoing)
  }
}

const closeWithin = async (server: Server, limitMs: number): Promise<void> => {
  const until = performance.now() + limitMs
  server.prependListener('request', (_, outgoing) => outgoing.setHeader('Connection', 'close'))
  await sleep(Math.min(graceMs, limitMs))
  // On a busy machine the time may be over before this process has looked once at what came meanwhile.
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
      if (address === null || typeof address === 'string') reject(new Error('the server has no port'))
      else resolve(address)
    })
  })

/**
 * Serve an app on a host and port; port 0 takes a free one.
 * Throws when the port is taken. Closing is orderly: 10 s for what is under way, when disposed of.
 */
export const listen = async (
  app: Hono,
  { host, port }: { readonly host: string; readonly port: number },
  dependencies: ListenerDependencies,
): Promise<Listener> => {
  const logError = logUnreadable(dependencies)
  const errorHandler = (error: unknown): Response => {
    logError(error)
    const { status, headers, body } = unreadableAnswer(refusalOf(undefined), dependencies)
    return new Response(body, { status, headers })
  }
  const answerRequest = refuseLongTargets(requestListener(app, errorHandler, dependencies), dependencies)
  const server = orderedServer(serverLimits, opened => keepSendingConnections(opened, answerRequest))
  // An expectation that nobody knows may be passed over; the server's own answer to one would have no error object.
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
