import { connect } from 'node:net'

/** What a client that sends too slowly gets: the bytes that came back, and when the connection ended, in ms after its start. */
export type SlowEnd = { readonly text: string; readonly afterMs: number }

/** Open a connection, send a part of a request, then one byte now and then until the server ends it. */
export const slowClient = (baseUrl: string, part: string, everyMs: number): Promise<SlowEnd> =>
  new Promise((resolve, reject) => {
    const { hostname, port } = new URL(baseUrl)
    const startedAt = performance.now()
    let drip: NodeJS.Timeout | undefined
    const socket = connect(Number(port), hostname, () => {
      socket.write(part)
      drip = setInterval(() => socket.writable && socket.write('x'), everyMs)
    })
    let text = ''
    socket.setEncoding('utf8')
    socket.on('data', (chunk: string) => (text += chunk))
    // Writing to a connection that the server has ended is a reset, which is an end too.
    socket.on('error', error =>
      'code' in error && (error.code === 'ECONNRESET' || error.code === 'EPIPE') ? undefined : reject(error),
    )
    socket.on('close', () => {
      clearInterval(drip)
      resolve({ text, afterMs: performance.now() - startedAt })
    })
  })
