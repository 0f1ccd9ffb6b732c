import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'

/** A request that is sent again and again beside an input. */
export type ProbeRequest = {
  readonly kind: ProbeKind
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
}

/** What is probed: health, an object of another account, and a cost of another account. */
export const probeKinds = ['live', 'object', 'cost'] as const

export type ProbeKind = (typeof probeKinds)[number]

/**
 * One probe: how long it waited from when it was due, and for how much of that the service's first thread ran, and was ready to run and had no
 * CPU. Status 0: no answer. `code`: error code of an answer other than 200.
 */
export type Wait = {
  readonly kind: ProbeKind
  readonly ms: number
  readonly status: number
  readonly code: string
  readonly ranMs: number
  readonly queuedMs: number
}

export type ProbeMessage =
  | {
      readonly type: 'start'
      readonly serviceUrl: string
      readonly referenceUrl: string
      readonly pid: number
      readonly requests: readonly ProbeRequest[]
    }
  | { readonly type: 'stop' }

export type ProbeReply =
  | { readonly type: 'ready' }
  | { readonly type: 'round'; readonly waits: readonly Wait[]; readonly referenceMs: readonly number[] }

/** The waits of a round, and those of the reference server beside it. */
export type Round = Omit<Extract<ProbeReply, { readonly type: 'round' }>, 'type'>

/** Probes a service from a process of its own, beside a reference server in another one. */
export type Probe = AsyncDisposable & {
  /** Send probes until the work ends, and for `leastMs` at least. */
  readonly beside: <T>(work: () => Promise<T>, minMs: number) => Promise<{ readonly value: T; readonly round: Round }>
  /** The processes of the probe and of the reference server. */
  readonly pids: readonly number[]
}

const processPath = (name: string): string => new URL(name, import.meta.url).pathname

/** Resolve with the next message of a child. Throws if the child ends first. */
const message = async <T>(child: ChildProcess): Promise<T> => {
  const ended = new AbortController()
  try {
    const exit = once(child, 'exit', ended).then(([code]) =>
      Promise.reject(new Error(`A process of the probe ended with ${code}.`)),
    )
    const [received] = await Promise.race([once(child, 'message', ended), exit])
    return received as T
  } finally {
    ended.abort()
  }
}

const sleep = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms))

/** Start the two processes of a probe. Probes take the requests in turn. */
export const openProbe = async (target: {
  readonly serviceUrl: string
  readonly pid: number
  readonly requests: readonly ProbeRequest[]
}): Promise<Probe> => {
  const [referenceServer, prober] = [fork(processPath('reference-process.ts')), fork(processPath('probe-process.ts'))]
  const [{ port }] = await Promise.all([
    message<{ readonly port: number }>(referenceServer),
    message<ProbeReply>(prober),
  ])
  const children = [referenceServer, prober]
  return {
    pids: children.flatMap(({ pid }) => pid ?? []),
    beside: async (work, minMs) => {
      prober.send({ type: 'start', referenceUrl: `http://127.0.0.1:${port}`, ...target } satisfies ProbeMessage)
      const settled = await Promise.allSettled([work(), sleep(minMs)])
      const ended = message<ProbeReply>(prober)
      prober.send({ type: 'stop' } satisfies ProbeMessage)
      const { type: _, ...round } = (await ended) as Extract<ProbeReply, { readonly type: 'round' }>
      if (settled[0].status === 'rejected') throw settled[0].reason
      return { value: settled[0].value, round }
    },
    [Symbol.asyncDispose]: async () => {
      for (const child of children) child.disconnect()
      await Promise.all(children.map(child => new Promise(resolve => child.once('exit', resolve))))
    },
  }
}
