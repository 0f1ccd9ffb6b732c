import { connect } from 'node:net'
import type { Target } from './target.ts'

const patienceMs = 40_000

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
    socket.setTimeout(patienceMs, end)
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
