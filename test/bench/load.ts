import { connect, type Socket } from 'node:net'
import { quantile } from './statistics.ts'

/**
 * Load of metering submissions over keep-alive connections. It shares the machine with the measured system, so it must
 * use little CPU: the bodies are created once, and each submission overwrites only the times in its body.
 */
export type LoadPlan = {
  readonly host: string
  readonly port: number
  readonly path: string
  readonly token: string
  /** Texts of the bodies, with `startMark` and `endMark` instead of times. */
  readonly bodies: readonly string[]
  readonly recordsPerBody: number
  /** Number of connections. In an open loop: maximum number of connections. */
  readonly connections: number
  /** True if each request is sent at its planned time, even if earlier requests have no answer. */
  readonly isOpenLoop?: boolean
  readonly seconds: number
  /** Records per second. If it is null, a request follows each answer. */
  readonly rate: number | null
  /** Maximum number of records that are sent but not stored. The load waits above it. No limit by default. */
  readonly maxAhead?: number
  readonly firstSlot: number
  readonly slotMs: number
}

export type LoadResult = {
  readonly seconds: number
  readonly requests: number
  readonly records: number
  readonly failed: number
  /** Failed requests whose connection broke before the answer. */
  readonly unanswered: number
  readonly latencyMs: { readonly p50: number; readonly p99: number; readonly max: number }
  readonly lastSlot: number
  /** CPU time of the process that sends. */
  readonly cpuSeconds: number
  /** Time at which each submission was accepted, in ms since the epoch, in order. */
  readonly acceptedAt: readonly number[]
}

export const startMark = '@start@@@@@@@@@@@@@@'
export const endMark = '@end@@@@@@@@@@@@@@@@'

type Template = { readonly bytes: Buffer; readonly starts: readonly number[]; readonly ends: readonly number[] }

const offsetsOf = (text: string, mark: string): readonly number[] => {
  const offsets: number[] = []
  for (let at = text.indexOf(mark); at !== -1; at = text.indexOf(mark, at + mark.length)) offsets.push(at)
  return offsets
}

const requestHead = (plan: LoadPlan, length: number): string =>
  [
    `PUT ${plan.path} HTTP/1.1`,
    `Host: ${plan.host}:${plan.port}`,
    `Authorization: Bearer ${plan.token}`,
    'Content-Type: application/json',
    `Content-Length: ${length}`,
    '',
    '',
  ].join('\r\n')

const templateOf = (plan: LoadPlan, body: string): Template => {
  const text = requestHead(plan, Buffer.byteLength(body)) + body
  return { bytes: Buffer.from(text, 'latin1'), starts: offsetsOf(text, startMark), ends: offsetsOf(text, endMark) }
}

const stamp = (at: number): string => `${new Date(at).toISOString().slice(0, 19)}Z`

const patch = ({ bytes, starts, ends }: Template, from: number, to: number): void => {
  const [start, end] = [Buffer.from(stamp(from)), Buffer.from(stamp(to))]
  for (const offset of starts) start.copy(bytes, offset)
  for (const offset of ends) end.copy(bytes, offset)
}

/** Send one request, wait for the whole answer and return its status. */
const exchange = (socket: Socket, bytes: Buffer): Promise<number> =>
  new Promise((resolve, reject) => {
    let received = ''
    const finish = (work: () => void): void => {
      socket.off('data', read)
      socket.off('error', fail)
      socket.off('close', fail)
      work()
    }
    const fail = (error?: unknown): void =>
      finish(() => reject(error instanceof Error ? error : new Error('The connection was closed.')))
    const read = (chunk: Buffer): void => {
      received += chunk.toString('latin1')
      const head = received.indexOf('\r\n\r\n')
      if (head === -1) return
      const length = /content-length: (\d+)/i.exec(received)?.[1]
      if (length === undefined ? !received.endsWith('0\r\n\r\n') : received.length < head + 4 + Number(length)) return
      finish(() => resolve(Number(received.slice(9, 12))))
    }
    if (socket.destroyed) return fail()
    socket.on('data', read)
    socket.on('error', fail)
    socket.on('close', fail)
    socket.write(bytes)
  })

type PlannedRequest = { readonly body: number; readonly slot: number; readonly due: number }

/** State of a running load: the next request, and the results so far. */
type LoadState = {
  readonly plan: LoadPlan
  /** End of the load, by `performance.now()`. */
  readonly until: number
  readonly nextRequest: () => PlannedRequest
  /** True if more than `maxAhead` records are sent but not stored. */
  readonly isAhead: () => boolean
  readonly latencies: number[]
  readonly acceptedAt: number[]
  sent: number
  failed: number
  unanswered: number
}

const pause = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms))

const openSocket = async ({ host, port }: LoadPlan): Promise<Socket> => {
  const socket = connect({ host, port, noDelay: true })
  await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject))
  // An error between two exchanges needs a listener. The next exchange finds that the socket is destroyed.
  return socket.on('error', () => undefined)
}

const send = async (sending: LoadState, socket: Socket, bytes: Buffer): Promise<void> => {
  const at = performance.now()
  const status = await exchange(socket, bytes)
  sending.latencies.push(performance.now() - at)
  if (status === 200) sending.acceptedAt.push(performance.timeOrigin + performance.now())
  else sending.failed += 1
}

/** Wait until a request is due and return its bytes. */
const prepareRequest = async (
  { plan }: LoadState,
  templates: readonly Template[],
  { body, slot, due }: PlannedRequest,
): Promise<Buffer> => {
  const wait = due - performance.now()
  if (wait > 1) await pause(wait)
  const template = templates[body] as Template
  patch(template, slot, slot + plan.slotMs)
  // Another connection may send the same body.
  return Buffer.from(template.bytes)
}

/** Send over one connection, one request after the other. */
const sendSequentially = async (sending: LoadState, templates: readonly Template[]): Promise<void> => {
  const { plan, until, isAhead, nextRequest } = sending
  const socket = await openSocket(plan)
  while (performance.now() < until) {
    if (isAhead()) {
      await pause(2)
      continue
    }
    const request = nextRequest()
    if (request.due > until) break
    await send(sending, socket, await prepareRequest(sending, templates, request))
  }
  socket.destroy()
}

/** Send each request when it is due, over an idle or a new connection. */
const sendWhenDue = async (sending: LoadState): Promise<void> => {
  const { plan, until, nextRequest } = sending
  const templates = plan.bodies.map(body => templateOf(plan, body))
  const idle: Socket[] = []
  const inFlight = new Set<Promise<void>>()
  let ended = Promise.withResolvers<void>()
  for (let request = nextRequest(); request.due < until && performance.now() < until; request = nextRequest()) {
    const bytes = await prepareRequest(sending, templates, request)
    while (inFlight.size >= plan.connections) {
      ended = Promise.withResolvers()
      await ended.promise
    }
    const exchanged = (async () => {
      const socket = idle.pop()
      const open = socket === undefined || socket.destroyed ? await openSocket(plan) : socket
      await send(sending, open, bytes)
      idle.push(open)
    })()
    const startedAt = performance.now()
    const countFailure = (): void => {
      sending.failed += 1
      sending.unanswered += 1
      sending.latencies.push(performance.now() - startedAt)
    }
    const finished = exchanged.catch(countFailure).finally(() => {
      inFlight.delete(finished)
      ended.resolve()
    })
    inFlight.add(finished)
  }
  await Promise.all(inFlight)
  for (const socket of idle) socket.destroy()
}

/**
 * Run the load. Each body is sent once per slot, so that no record is a duplicate. `stored` returns the stored records.
 */
const runLoad = async (plan: LoadPlan, stored: () => number): Promise<LoadResult> => {
  const startedAt = performance.now()
  const cpuBefore = process.cpuUsage()
  const sending: LoadState = {
    plan,
    until: startedAt + plan.seconds * 1000,
    latencies: [],
    acceptedAt: [],
    sent: 0,
    failed: 0,
    unanswered: 0,
    isAhead: () => sending.sent * plan.recordsPerBody - stored() > (plan.maxAhead ?? Number.POSITIVE_INFINITY),
    nextRequest: () => {
      const index = sending.sent++
      const due = plan.rate === null ? 0 : startedAt + (index * plan.recordsPerBody * 1000) / plan.rate
      return {
        body: index % plan.bodies.length,
        slot: plan.firstSlot + Math.floor(index / plan.bodies.length) * plan.slotMs,
        due,
      }
    },
  }
  if (plan.isOpenLoop) await sendWhenDue(sending)
  else {
    const templates = plan.bodies.map(body => templateOf(plan, body))
    await Promise.all(Array.from({ length: plan.connections }, () => sendSequentially(sending, templates)))
  }
  const { latencies, acceptedAt, failed, unanswered, sent } = sending
  const latencyAt = (share: number): number => quantile(latencies, share) ?? 0
  const cpu = process.cpuUsage(cpuBefore)
  return {
    seconds: (performance.now() - startedAt) / 1000,
    requests: latencies.length,
    records: (latencies.length - failed) * plan.recordsPerBody,
    failed,
    unanswered,
    latencyMs: { p50: latencyAt(0.5), p99: latencyAt(0.99), max: latencyAt(1) },
    lastSlot: plan.firstSlot + Math.ceil(sent / plan.bodies.length) * plan.slotMs,
    cpuSeconds: (cpu.user + cpu.system) / 1e6,
    acceptedAt,
  }
}

if (import.meta.main) {
  let stored = 0
  process.on('message', (message: LoadPlan | { readonly stored: number }) => {
    if ('stored' in message) {
      stored = message.stored
      return
    }
    runLoad(message, () => stored).then(
      result => {
        process.send?.(result, undefined, undefined, () => process.disconnect())
      },
      error => {
        process.stderr.write(`${String(error)}\n`)
        process.exit(1)
      },
    )
  })
}
