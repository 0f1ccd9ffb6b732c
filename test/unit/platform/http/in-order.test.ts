import { once } from 'node:events'
import type { RequestListener } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { orderedServer } from '../../../../services/platform/http/in-order.ts'

/** Shortest requests, and no more than one read takes. */
const count = 2_000

/** Requests of one connection, each with its number. */
const requests = (from: number, to: number): string =>
  Array.from({ length: to - from }, (_, at) => `GET /${from + at} HTTP/1.1\r\nHost:a\r\n\r\n`).join('')

const lastRequest = 'GET /last HTTP/1.1\r\nHost:a\r\nConnection: close\r\n\r\n'

/** Serve while work runs. `read`: requests that the parser has read so far. */
const serving = async (
  listener: RequestListener,
  work: (port: number, read: () => number) => Promise<void>,
): Promise<void> => {
  const server = orderedServer({}, () => listener)
  let read = 0
  server.prependListener('request', () => {
    read += 1
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  try {
    await work((server.address() as AddressInfo).port, () => read)
  } finally {
    server.closeAllConnections()
    server.close()
  }
}

/** Send bytes and resolve with the bodies of all answers, once the server ends the connection. */
const bodiesOf = async (port: number, text: string): Promise<readonly string[]> => {
  const socket = connect(port, '127.0.0.1', () => socket.write(text))
  let received = ''
  socket.setEncoding('latin1').on('data', chunk => {
    received += chunk
  })
  await once(socket, 'close')
  return received
    .split('<')
    .slice(1)
    .map(answer => answer.slice(0, answer.indexOf('>')))
}

describe('pipelined requests of one connection', () => {
  it('run one after the other, each in its own turn of the event loop, and are answered in order', async () => {
    let [underWay, mostUnderWay, ofThisTurn, mostOfATurn, answered, mostAhead] = [0, 0, 0, 0, 0, 0]
    let readSoFar = (): number => 0
    const listener: RequestListener = async (incoming, outgoing) => {
      underWay += 1
      ofThisTurn += 1
      mostUnderWay = Math.max(mostUnderWay, underWay)
      mostOfATurn = Math.max(mostOfATurn, ofThisTurn)
      mostAhead = Math.max(mostAhead, readSoFar() - answered)
      setImmediate(() => {
        ofThisTurn = 0
      })
      // The quickest of answers: it needs no turn of its own.
      await null
      underWay -= 1
      answered += 1
      outgoing.end(`<${incoming.url}>`)
    }
    await serving(listener, async (port, read) => {
      readSoFar = read
      const bodies = await bodiesOf(port, `${requests(0, count)}${lastRequest}`)
      expect(bodies).toEqual([...Array.from({ length: count }, (_, at) => `/${at}`), '/last'])
    })
    expect([mostUnderWay, mostOfATurn]).toEqual([1, 1])
    // 64 that may wait, and the requests of 8 KiB more.
    expect(mostAhead).toBeLessThan(64 + 8_192 / 26)
  })

  it('do not start after the connection has ended', async () => {
    const begun: string[] = []
    const listener: RequestListener = ({ url = '' }) => void begun.push(url)
    await serving(listener, async (port, read) => {
      const socket = connect(port, '127.0.0.1', () => socket.write(requests(0, 10)))
      while (read() < 10) await nextTurn()
      socket.destroy()
      for (let turn = 0; turn < 50; turn += 1) await nextTurn()
    })
    expect(begun).toEqual(['/0'])
  })

  it('may have a long body after many waiting requests', async () => {
    const body = 'x'.repeat(2 ** 20)
    const listener: RequestListener = async (incoming, outgoing) => {
      let length = 0
      for await (const chunk of incoming) length += chunk.length
      outgoing.end(`<${length}>`)
    }
    const post = (close: string) => `POST / HTTP/1.1\r\nHost:a\r\n${close}Content-Length: ${body.length}\r\n\r\n${body}`
    await serving(listener, async port => {
      const bodies = await bodiesOf(
        port,
        `${requests(0, 100)}${post('')}${requests(0, 100)}${post('Connection: close\r\n')}`,
      )
      const hundred = Array.from({ length: 100 }, () => '0')
      expect(bodies).toEqual([...hundred, String(body.length), ...hundred, String(body.length)])
    })
  })

  it('wait while a client reads no answers, and continue when it does', async () => {
    const large = `<${'y'.repeat(2 ** 16)}>`
    await serving(
      (_, outgoing) => void outgoing.end(large),
      async port => {
        const socket = connect(port, '127.0.0.1', () => socket.write(`${requests(0, 500)}${lastRequest}`))
        socket.pause()
        for (let turn = 0; turn < 200; turn += 1) await nextTurn()
        let bytes = 0
        socket.on('data', chunk => {
          bytes += chunk.length
        })
        socket.resume()
        await once(socket, 'close')
        expect(bytes).toBeGreaterThan(501 * large.length)
      },
    )
  })
})
