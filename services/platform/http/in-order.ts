import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerOptions,
  type ServerResponse,
} from 'node:http'
import type { Socket } from 'node:net'

/** Waiting requests of one connection after which the server stops reading the connection. */
const maxWaiting = 64

/** Bytes that the parser gets at once, up to 300 of the shortest requests. The parser always parses all of them. */
const maxParsedBytes = 8 * 2 ** 10

/**
 * Bytes of a socket that certainly belong to the body of its last request. The parser gets all of them at once, because
 * no request begins in them.
 */
type BodyBytes = WeakMap<Socket, number>

type Exchange = readonly [IncomingMessage, ServerResponse]

/**
 * State of a connection: requests that wait for earlier answers, and the function that resumes reading (null while
 * reading).
 */
type ConnectionQueue = { readonly waiting: Exchange[]; resumeReading: (() => void) | null }

/** Stop reading a connection. Return the function that resumes reading. */
const stopReading = (socket: Socket): (() => void) => {
  const resume = socket.resume
  socket.pause()
  // Node resumes the socket after each complete request.
  socket.resume = () => socket
  return () => {
    socket.resume = resume
    socket.resume()
  }
}

/** Note the body of a request. The part that brought the end of its head may have brought bytes of the body too. */
const noteBody = (bodyBytes: BodyBytes, { socket, headers }: IncomingMessage): void => {
  const length = Number(headers['content-length'] ?? 0)
  if (length > maxParsedBytes) bodyBytes.set(socket, length - maxParsedBytes)
}

/** Bytes of the current read of a socket, while the parser gets them in several parts. */
const currentReads = new WeakMap<Socket, Buffer>()

/** Return the bytes of the current read of a socket. Undefined if the parser got them at once. */
export const currentReadOf = (socket: Socket): Buffer | undefined => currentReads.get(socket)

/**
 * Pass few bytes at once to the parser, so that reading can stop between them.
 * One read of the socket brings up to 64 KiB.
 */
const parseInParts = (bodyBytes: BodyBytes, socket: Socket): void => {
  const parsers = socket.listeners('data')
  socket.removeAllListeners('data')
  const parseRead = (bytes: Buffer): void => {
    for (let from = 0; from < bytes.length; ) {
      // The connection is closed for answers.
      if (!socket.writable) return
      if (socket.isPaused()) {
        socket.unshift(bytes.subarray(from))
        return
      }
      const ofBody = bodyBytes.get(socket) ?? 0
      const to = Math.min(bytes.length, from + (ofBody > 0 ? ofBody : maxParsedBytes))
      if (ofBody > 0) bodyBytes.set(socket, ofBody - (to - from))
      const part = from === 0 && to === bytes.length ? bytes : bytes.subarray(from, to)
      from = to
      for (const parse of parsers) parse.call(socket, part)
    }
  }
  socket.on('data', (bytes: Buffer) => {
    const hasLongHead = bytes.length > maxParsedBytes && (bodyBytes.get(socket) ?? 0) === 0
    if (hasLongHead) currentReads.set(socket, bytes)
    parseRead(bytes)
    if (hasLongHead) currentReads.delete(socket)
  })
}

/**
 * Serve the requests of a connection one after the other.
 * Each waiting request starts in its own turn of the event loop.
 */
const inOrder = (bodyBytes: BodyBytes, listener: RequestListener): RequestListener => {
  const queues = new WeakMap<Socket, ConnectionQueue>()
  const start = (queue: ConnectionQueue, [incoming, outgoing]: Exchange): void => {
    outgoing.on('close', () => {
      if (queue.waiting.length === 0) queues.delete(incoming.socket)
      else setImmediate(startNext, queue, incoming.socket)
    })
    listener(incoming, outgoing)
  }
  const startNext = (queue: ConnectionQueue, socket: Socket): void => {
    const next = queue.waiting.shift()
    if (next === undefined || !socket.writable) return
    if (queue.resumeReading !== null && queue.waiting.length < maxWaiting) {
      queue.resumeReading()
      queue.resumeReading = null
    }
    start(queue, next)
  }
  return (incoming, outgoing) => {
    const { socket } = incoming
    noteBody(bodyBytes, incoming)
    const queue = queues.get(socket)
    if (queue === undefined) {
      const opened = { waiting: [], resumeReading: null }
      queues.set(socket, opened)
      start(opened, [incoming, outgoing])
      return
    }
    queue.waiting.push([incoming, outgoing])
    if (queue.waiting.length >= maxWaiting) queue.resumeReading ??= stopReading(socket)
  }
}

/**
 * Create a server that serves the requests of a connection one after the other, because answers must have the order of
 * requests.
 * All HTTP servers of the product use this function.
 * Node's own server starts all requests of one read in one turn, up to 2,500.
 * Source: RFC 9112, 9.3.2.
 */
export const orderedServer = (options: ServerOptions, listenerOf: (server: Server) => RequestListener): Server => {
  const server = createServer(options)
  const bodyBytes: BodyBytes = new WeakMap()
  return server
    .on('connection', socket => parseInParts(bodyBytes, socket))
    .on('request', inOrder(bodyBytes, listenerOf(server)))
}
