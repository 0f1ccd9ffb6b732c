import { connect } from 'node:net'

/** Result of a slow client: the received bytes, and the time in ms until the connection ended. */
export type SlowEnd = { readonly text: string; readonly afterMs: number }

/**
 * Open a connection, send a part of a request, then one byte every `everyMs` ms until the server ends the connection.
 */
export const slowClient = (baseUrl: string, part: string, everyMs: number): Promise<SlowEnd> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(baseUrl)
    const startedAt = performance.now()
    let timer: NodeJS.Timeout | undefined
    const socket = connect(Number(port), hostname, () => {
      socket.write(part)
      timer = setInterval(() => socket.writable && socket.write('x'), everyMs)
    })
    let text = ''
    socket.setEncoding('utf8')
    socket.on('data', (chunk: string) => (text += chunk))
    // A write to a connection that the server has closed causes a reset. This is an end, too.
    socket.on('error', error =>
      'code' in error && (error.code === 'ECONNRESET' || error.code === 'EPIPE') ? undefined : reject(error),
    )
    socket.on('close', () => {
      clearInterval(timer)
      resolve({ text, afterMs: performance.now() - startedAt })
    })
  })
