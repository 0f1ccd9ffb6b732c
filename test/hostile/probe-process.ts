/**
 * Process that sends a probe to a service and a probe to a reference server every 10 ms. A probe is sent when it is
 * due, even if earlier probes have no answer. The wait counts from the time at which the probe was due.
 */
import { readFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { performance } from 'node:perf_hooks'
import type { ProbeMessage, ProbeReply, ProbeRequest, Wait } from './probe.ts'

const everyMs = 10
const timeoutMs = 60_000
const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY })

/** Return for how long the main thread of a process has run, and has waited for a CPU, since its start in ms. */
const threadTimes = (pid: number): { readonly ranMs: number; readonly queuedMs: number } => {
  try {
    const [ran, queued] = readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')
    return { ranMs: Number(ran) / 1e6, queuedMs: Number(queued) / 1e6 }
  } catch {
    return { ranMs: 0, queuedMs: 0 }
  }
}

type ProbeAnswer = Pick<Wait, 'status' | 'code'>

const unanswered: ProbeAnswer = { status: 0, code: '' }

/** Return the error code in the body of an answer; empty if there is none. */
const codeOf = (text: string): string => /"code":"(\w+)"/.exec(text)?.[1] ?? ''

/** Send a request. Resolves after the last byte of the answer. */
const send = (url: string, { method, path, headers, body }: Omit<ProbeRequest, 'kind'>): Promise<ProbeAnswer> =>
  new Promise(resolve => {
    const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }
    const sent = request(
      new URL(path, url),
      { agent, method, headers: { ...headers, ...length }, timeout: timeoutMs },
      response => {
        const status = response.statusCode ?? 0
        let text = ''
        if (status === 200) response.resume()
        else response.on('data', bytes => (text += bytes))
        response.on('end', () => resolve({ status, code: codeOf(text) }))
        response.on('error', () => resolve(unanswered))
      },
    )
    sent.on('timeout', () => sent.destroy())
    sent.on('error', () => resolve(unanswered))
    sent.end(body)
  })

const reference = { method: 'GET', path: '/', headers: {} }

/** Start a round of probes. Returns a function that ends the round and returns the waits after the last answer. */
const startRound = ({ serviceUrl, referenceUrl, pid, requests }: Extract<ProbeMessage, { readonly type: 'start' }>) => {
  const startedAt = performance.now()
  const waits: Wait[] = []
  const referenceMs: number[] = []
  const pending: Promise<void>[] = []
  const probe = async (probed: ProbeRequest, dueAt: number): Promise<void> => {
    const before = threadTimes(pid)
    const answered = await send(serviceUrl, probed)
    const [ms, after] = [performance.now() - dueAt, threadTimes(pid)]
    const times = { ranMs: after.ranMs - before.ranMs, queuedMs: after.queuedMs - before.queuedMs }
    waits.push({ kind: probed.kind, ms, ...answered, ...times })
  }
  const compare = async (dueAt: number): Promise<void> => {
    await send(referenceUrl, reference)
    referenceMs.push(performance.now() - dueAt)
  }
  let sent = 0
  const timer = setInterval(() => {
    for (; startedAt + sent * everyMs <= performance.now(); sent += 1) {
      const probed = requests[sent % requests.length]
      if (probed === undefined) continue
      pending.push(probe(probed, startedAt + sent * everyMs), compare(startedAt + sent * everyMs))
    }
  }, 1)
  return async (): Promise<ProbeReply> => {
    clearInterval(timer)
    await Promise.all(pending)
    return { type: 'round', waits, referenceMs }
  }
}

let end: (() => Promise<ProbeReply>) | undefined

process.on('message', (message: ProbeMessage) => {
  if (message.type === 'start') {
    end = startRound(message)
    return
  }
  void end?.().then(reply => process.send?.(reply))
})
process.on('disconnect', () => process.exit(0))
process.send?.({ type: 'ready' } satisfies ProbeReply)
