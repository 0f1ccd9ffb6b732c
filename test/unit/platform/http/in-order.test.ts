import { once } from 'node:events'
import type { RequestListener } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { orderedServer } from '../../../../services/platform/http/in-order.ts'
import { seededRandom } from '../../../support/random.ts'

/** Shortest requests, and no more than one read takes. */
const count = 2_000

/** Requests that the parser reads before their turn: 64 that may wait, and the requests of 8 KiB more. */
const maxAhead = 64 + 8_192 / 26

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

/** Resolve with the bodies of all answers, once the server ends the connection. */
const readAnswers = async (socket: Socket): Promise<readonly string[]> => {
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

/** Send bytes and resolve with the bodies of all answers, once the server ends the connection. */
const bodiesOf = (port: number, text: string): Promise<readonly string[]> => {
  const socket = connect(port, '127.0.0.1', () => socket.write(text))
  return readAnswers(socket)
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
    expect(mostAhead).toBeLessThan(maxAhead)
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

  it('may have a long body after many waiting requests, and many requests may follow it', async () => {
    const body = 'x'.repeat(2 ** 20)
    let [answered, mostAhead] = [0, 0]
    let readSoFar = (): number => 0
    const listener: RequestListener = async (incoming, outgoing) => {
      let length = 0
      for await (const chunk of incoming) length += chunk.length
      mostAhead = Math.max(mostAhead, readSoFar() - answered)
      answered += 1
      outgoing.end(`<${length}>`)
    }
    const post = (close: string) => `POST / HTTP/1.1\r\nHost:a\r\n${close}Content-Length: ${body.length}\r\n\r\n${body}`
    await serving(listener, async (port, read) => {
      readSoFar = read
      const bodies = await bodiesOf(
        port,
        `${requests(0, 100)}${post('')}${requests(0, count)}${post('Connection: close\r\n')}`,
      )
      const empty = (length: number) => Array.from({ length }, () => '0')
      expect(bodies).toEqual([...empty(100), String(body.length), ...empty(count), String(body.length)])
    })
    expect(mostAhead).toBeLessThan(maxAhead)
  })

  it('keep their own bodies of any length, in pieces of any length', async () => {
    const random = seededRandom(3)
    const edges = [0, 1, 8_191, 8_192, 8_193, 16_384, 65_535, 65_536, 65_537]
    const lengths = Array.from({ length: 120 }, () => edges[random.below(edges.length * 2)] ?? random.below(200_000))
    const bodyOf = (length: number, at: number) => String.fromCharCode(97 + (at % 26)).repeat(length)
    const listener: RequestListener = async (incoming, outgoing) => {
      const chunks: Buffer[] = []
      for await (const chunk of incoming) chunks.push(chunk)
      const text = Buffer.concat(chunks).toString('latin1')
      outgoing.end(`<${text.length} ${[...new Set(text)].join('')}>`)
    }
    const text = lengths
      .map((length, at) => {
        const close = at === lengths.length - 1 ? 'Connection: close\r\n' : ''
        return `PUT / HTTP/1.1\r\nHost:a\r\n${close}Content-Length: ${length}\r\n\r\n${bodyOf(length, at)}`
      })
      .join('')
    await serving(listener, async port => {
      const socket = connect({ port, host: '127.0.0.1', noDelay: true })
      const answers = readAnswers(socket)
      for (let from = 0; from < text.length; ) {
        const to = from + 1 + random.below(random.below(3) === 0 ? 300 : 90_000)
        if (!socket.write(text.slice(from, to), 'latin1')) await once(socket, 'drain')
        from = to
      }
      const expected = lengths.map((length, at) => `${length} ${bodyOf(Math.min(length, 1), at)}`)
      expect(await answers).toEqual(expected)
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
