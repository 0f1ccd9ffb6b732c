import { connect } from 'node:net'
import type { Target } from './target.ts'

const timeoutMs = 40_000

/** Send bytes on a new connection. Returns the status of the first answer; 0 if there is none. */
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

const headOf = ({ hostile }: Target, line: string, framing: string): string => {
  const headers = ['Host: wattledger', `Authorization: ${hostile.authorization}`, 'Content-Type: application/json']
  return [`${line} HTTP/1.1`, ...headers, framing, '', ''].join('\r\n')
}

/** Send a body of encoded chunks as the hostile account. */
export const sendChunks = (target: Target, line: string, chunks: string): Promise<number> =>
  sendBytes(target.serviceUrl, `${headOf(target, line, 'Transfer-Encoding: chunked')}${chunks}0\r\n\r\n`)

/** Send a request as the hostile account, and read only the first bytes of the answer. Returns its status. */
export const sendUnread = (target: Target, line: string, body: string, openMs: number): Promise<number> =>
  new Promise(resolve => {
    const { hostname, port } = new URL(target.serviceUrl)
    const head = headOf(target, line, `Content-Length: ${Buffer.byteLength(body)}`)
    const socket = connect(Number(port), hostname, () => socket.write(head + body))
    let status = 0
    socket.setTimeout(timeoutMs, () => socket.destroy())
    socket.once('data', chunk => {
      socket.pause()
      status = Number(/^HTTP\/1\.1 (\d{3})/.exec(chunk.toString('latin1'))?.[1] ?? 0)
      setTimeout(() => socket.destroy(), openMs)
    })
    socket.on('error', () => socket.destroy())
    socket.on('close', () => resolve(status))
  })

/**
 * Open connections, send a part of a request on each, add a byte every 100 ms, and close them after a time. Returns
 * 200.
 */
export const keepConnectionsOpen = async (
  serviceUrl: string,
  count: number,
  part: string,
  openMs: number,
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
  await new Promise(resolve => setTimeout(resolve, openMs))
  clearInterval(drip)
  for (const socket of sockets) socket.destroy()
  return 200
}
