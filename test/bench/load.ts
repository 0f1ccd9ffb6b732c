import { connect, type Socket } from 'node:net'

/**
 * A load of metering submissions over a few keep-alive connections, cheap enough to share the machine with what it measures: bodies are
 * made once, and only the times in them are written anew for each submission.
 */
export type LoadPlan = {
  readonly host: string
  readonly port: number
  readonly path: string
  readonly token: string
  /** One text per body, with `@start@@@@@@@@@@@@@@@` and `@end@@@@@@@@@@@@@@@@@` (20 characters) in place of times. */
  readonly bodies: readonly string[]
  readonly recordsPerBody: number
  readonly connections: number
  readonly seconds: number
  /** Records a second, or null for as fast as the answers come. */
  readonly rate: number | null
  /** Records that may be accepted and not yet stored; more wait. Absent: any number. */
  readonly mostAhead?: number
  readonly firstSlot: number
  readonly slotMs: number
}

export type LoadResult = {
  readonly seconds: number
  readonly requests: number
  readonly records: number
  readonly failed: number
  readonly latencyMs: { readonly p50: number; readonly p99: number; readonly max: number }
  readonly lastSlot: number
  /** When each submission was accepted, in ms of the epoch, in order. */
  readonly acceptedAt: readonly number[]
}

export const startMark = '@start@@@@@@@@@@@@@@'
export const endMark = '@end@@@@@@@@@@@@@@@@'

type Template = { readonly bytes: Buffer; readonly starts: readonly number[]; readonly ends: readonly number[] }

const placesOf = (text: string, mark: string): readonly number[] => {
  const places: number[] = []
  for (let at = text.indexOf(mark); at !== -1; at = text.indexOf(mark, at + mark.length)) places.push(at)
  return places
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
  return { bytes: Buffer.from(text, 'latin1'), starts: placesOf(text, startMark), ends: placesOf(text, endMark) }
}

const stamp = (at: number): string => `${new Date(at).toISOString().slice(0, 19)}Z`

const patch = ({ bytes, starts, ends }: Template, from: number, to: number): void => {
  const [start, end] = [Buffer.from(stamp(from)), Buffer.from(stamp(to))]
  for (const place of starts) start.copy(bytes, place)
  for (const place of ends) end.copy(bytes, place)
}

/** Send one request and wait for the whole answer; gives its status. */
const exchange = (socket: Socket, bytes: Buffer): Promise<number> =>
  new Promise((resolve, reject) => {
    let received = ''
    const finish = (work: () => void): void => {
      socket.off('data', read)
      socket.off('error', fail)
      socket.off('close', fail)
      work()
    }
    const fail = (error?: unknown): void => finish(() => reject(error instanceof Error ? error : new Error('the connection was closed')))
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

const percentile = (sorted: readonly number[], share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0

/** Run the load; each body is sent once per slot of time, so that no record comes twice. `stored` tells how many records are stored. */
const runLoad = async (plan: LoadPlan, stored: () => number): Promise<LoadResult> => {
  const startedAt = performance.now()
  const until = startedAt + plan.seconds * 1000
  const latencies: number[] = []
  const acceptedAt: number[] = []
  const isAhead = (): boolean => sent * plan.recordsPerBody - stored() > (plan.mostAhead ?? Number.POSITIVE_INFINITY)
  let sent = 0
  let failed = 0
  const nextTurn = (): { readonly body: number; readonly slot: number; readonly due: number } => {
    const turn = sent++
    const due = plan.rate === null ? 0 : startedAt + (turn * plan.recordsPerBody * 1000) / plan.rate
    return { body: turn % plan.bodies.length, slot: plan.firstSlot + Math.floor(turn / plan.bodies.length) * plan.slotMs, due }
  }
  const run = async (): Promise<void> => {
    const templates = plan.bodies.map(body => templateOf(plan, body))
    const socket = connect({ host: plan.host, port: plan.port, noDelay: true })
    await new Promise<void>((resolve, reject) => socket.once('connect', resolve).once('error', reject))
    while (performance.now() < until) {
      if (isAhead()) {
        await new Promise(resolve => setTimeout(resolve, 2))
        continue
      }
      const { body, slot, due } = nextTurn()
      if (due > until) break
      const wait = due - performance.now()
      if (wait > 1) await new Promise(resolve => setTimeout(resolve, wait))
      const template = templates[body] as Template
      patch(template, slot, slot + plan.slotMs)
      const at = performance.now()
      const status = await exchange(socket, template.bytes)
      latencies.push(performance.now() - at)
      if (status === 200) acceptedAt.push(performance.timeOrigin + performance.now())
      else failed += 1
    }
    socket.destroy()
  }
  await Promise.all(Array.from({ length: plan.connections }, run))
  const sorted = Float64Array.from(latencies).sort()
  const seconds = (performance.now() - startedAt) / 1000
  return {
    seconds,
    requests: latencies.length,
    records: (latencies.length - failed) * plan.recordsPerBody,
    failed,
    latencyMs: { p50: percentile([...sorted], 0.5), p99: percentile([...sorted], 0.99), max: sorted.at(-1) ?? 0 },
    lastSlot: plan.firstSlot + Math.ceil(sent / plan.bodies.length) * plan.slotMs,
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
