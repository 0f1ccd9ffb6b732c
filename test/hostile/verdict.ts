import { exceptions } from './exceptions.ts'
import { type HostileInput, usualEndS } from './input.ts'
import type { Idle, Measurement } from './measure.ts'
import { type ProbeKind, probeKinds, type Round, type Wait } from './probe.ts'

/** How much longer than at rest others may wait, in ms. Source: docs/promises.md #i8. */
export const waitMarginMs = 100
/** How much more CPU time twice the size may take. Source: docs/promises.md #i8. */
export const maxGrowth = 2.5
/** Less CPU time than this says nothing of growth, in ms: a request alone takes some. */
const minComparedMs = 25
/** From this share of a CPU on, used by others, the machine is busy: time in its queue is not the service's. */
export const busyShare = 0.2
/** From this share on the stores have no CPU left: waits of reads say nothing of the service. */
const crowdedShare = 1.2
/** How much longer reads may wait on a busy machine, whose stores wait for the CPU too. */
const busyReadFactor = 3

/** What an input did to others, judged; empty misses: within the promise. */
export type Verdict = {
  readonly longestLiveMs: number
  readonly longestReadMs: number
  readonly longestReferenceMs: number
  readonly growth: number | null
  readonly isMachineBusy: boolean
  readonly misses: readonly string[]
}

const longest = (values: readonly number[]): number => values.reduce((max, value) => Math.max(max, value), 0)

const boundOf = (input: HostileInput, what: 'wait' | 'growth' | 'end'): number | undefined =>
  exceptions.find(exception => exception.input === input.name && exception.what === what)?.bound

/** Return the value that a share of the values do not exceed; 0 if there is none. */
export const quantile = (values: readonly number[], share: number): number => {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? 0
}

/** From this share of the probes of a kind on, refused ones are the service's also on a busy machine, whose stores may not answer in time. */
const excusedShare = 0.1

/** Name the kinds of probes that were refused, each with its number, status and error code. */
const refusedKinds = (waits: readonly Wait[], isMachineBusy: boolean): readonly string[] =>
  probeKinds.flatMap(kind => {
    const probes = waits.filter(wait => wait.kind === kind)
    const refused = probes.filter(({ status }) => status !== 200)
    if (isMachineBusy && refused.length <= probes.length * excusedShare) return []
    const byAnswer = Map.groupBy(refused, ({ status, code }) => `${kind} probes answered ${status} ${code}`.trim())
    return [...byAnswer].map(([answered, same]) => `${same.length} ${answered}`)
  })

const statusMisses = ({ input, statuses, endedMs, round }: Measurement, isMachineBusy: boolean): readonly string[] => {
  const wrong = [...new Set(statuses)].filter(status => !input.statuses.includes(status))
  const endsWithinS = boundOf(input, 'end') ?? input.endsWithinS ?? usualEndS
  const isLate = endedMs === null || (!isMachineBusy && endedMs > endsWithinS * 1_000)
  return [
    ...(wrong.length === 0 ? [] : [`status ${wrong.join(', ')}`]),
    ...refusedKinds(round.waits, isMachineBusy),
    ...(isLate ? [`not done within ${endsWithinS} s`] : []),
  ]
}

/** How a wait counts, and how long it may be above the wait at rest. */
type Measure = { readonly countedMs: (wait: Wait) => number; readonly marginMs: number }

/**
 * Choose how waits of a kind count. On a busy machine a wait for `/health/live` counts as the time for which the service's first thread ran
 * meanwhile: on a machine of its own nothing else would keep the probe waiting. A read counts without the time in the queue for the CPU.
 */
export const measureOf = (kind: ProbeKind, foreignCpu: number, marginMs: number): Measure => {
  if (foreignCpu <= busyShare) return { countedMs: ({ ms }) => ms, marginMs }
  if (kind === 'live') return { countedMs: ({ ms, ranMs, queuedMs }) => Math.min(ranMs, ms - queuedMs), marginMs }
  const factor = foreignCpu > crowdedShare ? Number.POSITIVE_INFINITY : busyReadFactor
  return { countedMs: ({ ms, queuedMs }) => ms - queuedMs, marginMs: marginMs * factor }
}

/** Judge a measurement: statuses, end, the longest wait of any probe, and the growth of CPU time. */
export const verify = (measured: Measurement, idle: Idle): Verdict => {
  const { input, round, foreignCpu, cpuMs } = measured
  const isMachineBusy = foreignCpu > busyShare
  const longestReferenceMs = longest(round.referenceMs)
  // What the bare server waited longer than at rest is the machine's.
  const excuseMs = Math.max(0, longestReferenceMs - quantile(idle.round.referenceMs, 0.99))
  const lateKinds = probeKinds.flatMap(kind => {
    const { countedMs, marginMs } = measureOf(kind, foreignCpu, boundOf(input, 'wait') ?? waitMarginMs)
    const waits = (of: Round): readonly number[] =>
      of.waits.flatMap(wait => (wait.kind === kind ? [countedMs(wait)] : []))
    const limitMs = quantile(waits(idle.round), 0.99) + marginMs + (isMachineBusy && kind === 'live' ? 0 : excuseMs)
    const late = waits(round).filter(ms => ms > limitMs)
    return late.length === 0 ? [] : [`${late.length} ${kind} probes waited up to ${Math.round(longest(late))} ms`]
  })
  const growth = cpuMs === null || cpuMs[1] < minComparedMs ? null : cpuMs[1] / Math.max(1, cpuMs[0])
  const growthBound = boundOf(input, 'growth') ?? maxGrowth
  const waitsOf = (isLive: boolean) => round.waits.flatMap(({ kind, ms }) => ((kind === 'live') === isLive ? [ms] : []))
  return {
    longestLiveMs: longest(waitsOf(true)),
    longestReadMs: longest(waitsOf(false)),
    longestReferenceMs,
    growth,
    isMachineBusy,
    misses: [
      ...statusMisses(measured, isMachineBusy),
      ...lateKinds,
      ...(growth !== null && growth > growthBound ? [`CPU time grew ${growth.toFixed(1)} ×`] : []),
    ],
  }
}
