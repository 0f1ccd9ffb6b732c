import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerOptions,
  type ServerResponse,
} from 'node:http'
import type { Socket } from 'node:net'

/** Requests of one connection that may wait before the connection is not read any more. */
const mostWaiting = 64

/** Bytes that the parser takes at once, 300 of the shortest requests: what it was given it parses to the end. */
const parsedAtOnce = 8 * 2 ** 10

type Exchange = readonly [IncomingMessage, ServerResponse]

/** One connection: the requests that wait for the answers before theirs, and how to read on; null while it is read. */
type Line = { readonly waiting: Exchange[]; readOn: (() => void) | null }

/** Stop reading a connection, also where the server asks for more. Returns how to read on. */
const stopReading = (socket: Socket): (() => void) => {
  const resume = socket.resume
  socket.pause()
  // The server reads on after each whole request.
  socket.resume = () => socket
  return () => {
    socket.resume = resume
    socket.resume()
  }
}

/** Give the parser of a connection few bytes at once, so that reading can stop between them: one read brings up to 64 KiB. */
const parseInParts = (socket: Socket): void => {
  const parsers = socket.listeners('data')
  socket.removeAllListeners('data')
  socket.on('data', (bytes: Buffer) => {
    for (let from = 0; from < bytes.length; from += parsedAtOnce) {
      // Nothing can be answered any more.
      if (!socket.writable) return
      if (socket.isPaused()) {
        socket.unshift(bytes.subarray(from))
        return
      }
      const part = bytes.length <= parsedAtOnce ? bytes : bytes.subarray(from, from + parsedAtOnce)
      for (const parse of parsers) parse.call(socket, part)
    }
  })
}

/** Work on the requests of a connection one after the other; each that waited starts in a turn of its own. */
const inOrder = (listener: RequestListener): RequestListener => {
  const lines = new WeakMap<Socket, Line>()
  const start = (line: Line, [incoming, outgoing]: Exchange): void => {
    outgoing.once('close', () => {
      if (line.waiting.length === 0) lines.delete(incoming.socket)
      else setImmediate(startNext, line, incoming.socket)
    })
    listener(incoming, outgoing)
  }
  const startNext = (line: Line, socket: Socket): void => {
    const next = line.waiting.shift()
    if (next === undefined || !socket.writable) return
    if (line.readOn !== null && line.waiting.length < mostWaiting) {
      line.readOn()
      line.readOn = null
    }
    start(line, next)
  }
  return (incoming, outgoing) => {
    const { socket } = incoming
    const line = lines.get(socket)
    if (line === undefined) {
      const opened = { waiting: [], readOn: null }
      lines.set(socket, opened)
      start(opened, [incoming, outgoing])
      return
    }
    line.waiting.push([incoming, outgoing])
    if (line.waiting.length >= mostWaiting) line.readOn ??= stopReading(socket)
  }
}

/**
 * Open a server that works on the requests of a connection one after the other, as their answers must have their order: the only way of the
 * product to serve HTTP. A server of Node starts all requests that one read brings in one turn, up to 2,500 of them.
 * Source: RFC 9112, 9.3.2.
 */
export const orderedServer = (options: ServerOptions, listenerOf: (server: Server) => RequestListener): Server => {
  const server = createServer(options)
  return server.on('connection', parseInParts).on('request', inOrder(listenerOf(server)))
}
