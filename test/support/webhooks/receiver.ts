import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A POST that the subscriber received. */
export type ReceivedRequest = {
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
  readonly at: number
}

/** Answer of the subscriber: a status with headers and body, no answer, or a broken connection. */
export type Reply =
  | { readonly status: number; readonly headers?: Readonly<Record<string, string>>; readonly body?: string }
  | 'hang'
  | 'reset'

/** A subscriber on the loopback interface that records the received requests. */
export type Receiver = AsyncDisposable & {
  readonly url: string
  readonly port: number
  readonly received: ReceivedRequest[]
  /** Number of all connections so far. */
  readonly connections: () => number
}

const read = async (request: IncomingMessage): Promise<string> => {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString('utf8')
}

const answer = (response: ServerResponse, reply: Reply): void => {
  if (reply === 'hang') return
  if (reply === 'reset') response.destroy()
  else response.writeHead(reply.status, reply.headers).end(reply.body ?? '')
}

/** Open a subscriber. `reply` chooses each answer; the default is 204. */
export const openReceiver = async (
  reply: (received: ReceivedRequest) => Reply = () => ({ status: 204 }),
  host = '127.0.0.1',
): Promise<Receiver> => {
  const received: ReceivedRequest[] = []
  let connections = 0
  const server = createServer((request, response) => {
    read(request).then(
      body => {
        const one = { path: request.url ?? '', headers: request.headers, body, at: Date.now() }
        received.push(one)
        answer(response, reply(one))
      },
      () => response.destroy(),
    )
  })
  server.on('connection', () => {
    connections += 1
  })
  await new Promise<void>(resolve => server.listen(0, host, resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://${host}:${port}`,
    port,
    received,
    connections: () => connections,
    [Symbol.asyncDispose]: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
