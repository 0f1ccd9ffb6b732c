import { connect } from 'node:net'
import type { Target } from './target.ts'

const timeoutMs = 40_000

/** Send bytes as they are on a connection of their own. Resolves with the status of the first answer; 0 if there is none. */
export const sendBytes = (serviceUrl: string, bytes: string | Uint8Array): Promise<number> =>
  new Promise(resolve => {
    const { hostname, port } = new URL(serviceUrl)
    const socket = connect(Number(port), hostname, () => socket.write(bytes))
    let text = ''
    const end = (): void => {
      socket.destroy()
      resolve(Number(/^HTTP\/1\.1 (\d{3})/.exec(text)?.[1] ?? 0))
    }
    socket.setTimeout(timeoutMs, end)
    socket.on('data', chunk => {
      text += chunk.toString('latin1').slice(0, 64)
      if (text.length >= 12) end()
    })
    socket.on('error', end)
    socket.on('close', end)
  })

/** Send a body in chunks that are written out already, as the hostile account. */
export const sendChunks = ({ serviceUrl, hostile }: Target, line: string, chunks: string): Promise<number> =>
  sendBytes(
    serviceUrl,
    `${line} HTTP/1.1\r\nHost: wattledger\r\nAuthorization: ${hostile.authorization}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n${chunks}0\r\n\r\n`,
  )

/** Send a request as the hostile account and take nothing of the answer but its first bytes, for a time. Resolves with its status. */
export const sendUnread = (
  { serviceUrl, hostile }: Target,
  line: string,
  body: string,
  holdMs: number,
): Promise<number> =>
  new Promise(resolve => {
    const { hostname, port } = new URL(serviceUrl)
    const head = `${line} HTTP/1.1\r\nHost: wattledger\r\nAuthorization: ${hostile.authorization}\r\nContent-Type: application/json\r\n`
    const socket = connect(Number(port), hostname, () =>
      socket.write(`${head}Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`),
    )
    let status = 0
    socket.setTimeout(timeoutMs, () => socket.destroy())
    socket.once('data', chunk => {
      socket.pause()
      status = Number(/^HTTP\/1\.1 (\d{3})/.exec(chunk.toString('latin1'))?.[1] ?? 0)
      setTimeout(() => socket.destroy(), holdMs)
    })
    socket.on('error', () => socket.destroy())
    socket.on('close', () => resolve(status))
  })

/** Open connections, send a part of a request on each, hold them for a time, and cut them. Resolves with 200. */
export const holdConnections = async (
  serviceUrl: string,
  count: number,
  part: string,
  holdMs: number,
): Promise<number> => {
  const { hostname, port } = new URL(serviceUrl)
  const sockets = Array.from({ length: count }, () => {
    const socket = connect(Number(port), hostname, () => socket.write(part))
    socket.on('error', () => socket.destroy())
    return socket
  })
  const drip = setInterval(() => {
    for (const socket of sockets) if (socket.writable) socket.write('x')
  }, 100)
  await new Promise(resolve => setTimeout(resolve, holdMs))
  clearInterval(drip)
  for (const socket of sockets) socket.destroy()
  return 200
}
