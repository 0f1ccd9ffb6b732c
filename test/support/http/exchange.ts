import { connect } from 'node:net'
import { type Listener, listen } from '../../../services/platform/http/listen.ts'
import { type TestApp, testApp } from './http-app.ts'

/** Start the test app on a free port of the loopback interface. */
export const startTestApp = async (): Promise<Listener & Pick<TestApp, 'waiting'>> => {
  const { app, ports, waiting } = testApp()
  return { ...(await listen(app, { host: '127.0.0.1', port: 0 }, ports)), waiting }
}

/**
 * Connect and send unchanged bytes. `received` returns the bytes received so far.
 * `ended` resolves with all bytes after the server ends the connection.
 */
export const openExchange = (port: number, text: string) => {
  const socket = connect(port, '127.0.0.1', () => socket.write(text))
  let received = ''
  socket.on('data', chunk => {
    received += chunk.toString()
  })
  const ended = new Promise<string>((resolve, reject) => {
    socket.on('close', () => resolve(received))
    socket.on('error', reject)
  })
  return { socket, received: () => received, ended }
}

/** Connect, send unchanged bytes, and return all bytes of the answer. */
export const exchange = (port: number, text: string): Promise<string> => openExchange(port, text).ended
