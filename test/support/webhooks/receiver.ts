import type { IncomingHttpHeaders, ServerResponse } from 'node:http'
import { type LocalServer, readBody, startLocalServer } from '../http/local-server.ts'

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
export type Receiver = LocalServer & { readonly received: ReceivedRequest[] }

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
  const server = await startLocalServer((request, response) => {
    readBody(request).then(
      body => {
        const one = { path: request.url ?? '', headers: request.headers, body, at: Date.now() }
        received.push(one)
        answer(response, reply(one))
      },
      () => response.destroy(),
    )
  }, host)
  return { ...server, received }
}
