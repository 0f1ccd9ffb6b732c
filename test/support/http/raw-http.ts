import { Agent, type IncomingHttpHeaders, request } from 'node:http'
import { gunzipSync } from 'node:zlib'

/** A request that is sent without additions or corrections. */
export type RawRequest = {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array
}

export type RawReply = { readonly status: number; readonly headers: IncomingHttpHeaders; readonly text: string }

export type RawSender = { readonly send: (request: RawRequest) => Promise<RawReply>; readonly close: () => void }

/** Create a sender for requests that `fetch` would refuse or change. The timeout of an answer is 40 s. */
export const rawSender = (baseUrl: string, connections = 16): RawSender => {
  const agent = new Agent({ keepAlive: true, maxSockets: connections })
  const { hostname, port } = new URL(baseUrl)
  const send: RawSender['send'] = ({ method, path, headers, body }) =>
    new Promise((resolve, reject) => {
      const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }
      const sent = request(
        {
          agent,
          hostname,
          port,
          method,
          path,
          headers: { ...length, ...headers },
          timeout: 40_000,
          maxHeaderSize: 2 ** 17,
        },
        response => {
          const chunks: Buffer[] = []
          response.on('data', (chunk: Buffer) => chunks.push(chunk))
          response.on('error', reject)
          response.on('end', () => {
            const bytes = Buffer.concat(chunks)
            const plain =
              response.headers['content-encoding'] === 'gzip' && bytes.length > 0 ? gunzipSync(bytes) : bytes
            resolve({ status: response.statusCode ?? 0, headers: response.headers, text: plain.toString('utf8') })
          })
        },
      )
      sent.on('timeout', () => sent.destroy(new Error(`${method} ${path} was not answered within 40 s.`)))
      sent.on('error', reject)
      sent.end(body)
    })
  return { send, close: () => agent.destroy() }
}
