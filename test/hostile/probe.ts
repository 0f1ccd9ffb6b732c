import { fork } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { endProcess, nextMessage } from '../support/system/child-process.ts'

/** Request that is sent repeatedly while an input is played. */
export type ProbeRequest = {
  readonly kind: ProbeKind
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
}

/** Kinds of probes: health, an object of another account, and a cost of another account. */
export const probeKinds = ['live', 'object', 'cost'] as const

export type ProbeKind = (typeof probeKinds)[number]

/**
 * Result of one probe. `ms` is the time from when the probe was due. During that time the main thread of the service
 * ran for `ranMs` and waited for a CPU for `queuedMs`. Status 0 means no answer. `code` is the error code of an answer
 * other than 200.
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

/** Waits of a round, for the service and for the reference server. */
export type Round = Omit<Extract<ProbeReply, { readonly type: 'round' }>, 'type'>

/** Sender of probes in a child process, with a reference server in another process. */
export type Probe = AsyncDisposable & {
  /** Send probes until the work ends, and for at least `minMs`. */
  readonly during: <T>(work: () => Promise<T>, minMs: number) => Promise<{ readonly value: T; readonly round: Round }>
  /** Processes of the probe and of the reference server. */
  readonly pids: readonly number[]
}

const processPath = (name: string): string => new URL(name, import.meta.url).pathname

/** Start the two processes of a probe. The probes send the requests in rotation. */
export const openProbe = async (target: {
  readonly serviceUrl: string
  readonly pid: number
  readonly requests: readonly ProbeRequest[]
}): Promise<Probe> => {
  const [referenceServer, prober] = [fork(processPath('reference-process.ts')), fork(processPath('probe-process.ts'))]
  const [{ port }] = await Promise.all([
    nextMessage<{ readonly port: number }>(referenceServer),
    nextMessage<ProbeReply>(prober),
  ])
  const children = [referenceServer, prober]
  return {
    pids: children.flatMap(({ pid }) => pid ?? []),
    during: async (work, minMs) => {
      prober.send({ type: 'start', referenceUrl: `http://127.0.0.1:${port}`, ...target } satisfies ProbeMessage)
      const settled = await Promise.allSettled([work(), sleep(minMs)])
      const ended = nextMessage<ProbeReply>(prober)
      prober.send({ type: 'stop' } satisfies ProbeMessage)
      const { type: _, ...round } = (await ended) as Extract<ProbeReply, { readonly type: 'round' }>
      if (settled[0].status === 'rejected') throw settled[0].reason
      return { value: settled[0].value, round }
    },
    [Symbol.asyncDispose]: async () => void (await Promise.all(children.map(endProcess))),
  }
}
