import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'

/** An HTTP server on a free port. Disposing the server closes its connections. */
export type LocalServer = AsyncDisposable & {
  readonly url: string
  readonly port: number
  /** Number of all connections so far. */
  readonly connections: () => number
}

/** Start an HTTP server on a free port of the loopback interface or of another host. */
export const startLocalServer = async (answer: RequestListener, host = '127.0.0.1'): Promise<LocalServer> => {
  let connections = 0
  const server = createServer(answer).on('connection', () => {
    connections += 1
  })
  // A close of an idle connection could meet the next request of a client.
  server.keepAliveTimeout = 0
  await new Promise<void>(resolve => server.listen(0, host, resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://${host}:${port}`,
    port,
    connections: () => connections,
    [Symbol.asyncDispose]: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** Read the body of a request as text. */
export const readBody = async (request: IncomingMessage): Promise<string> => {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString('utf8')
}
