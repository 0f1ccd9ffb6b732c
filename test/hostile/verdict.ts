import { exceptions } from './exceptions.ts'
import { defaultEndsWithinS, type HostileInput } from './input.ts'
import type { Idle, Measurement } from './measure.ts'
import { type ProbeKind, probeKinds, type Round, type Wait } from './probe.ts'

/** Maximum additional wait of other requests compared with rest, in ms. Source: docs/promises.md #i8. */
export const waitMarginMs = 100
/** Maximum factor of the CPU time for twice the size. Source: docs/promises.md #i8. */
export const maxGrowth = 2.5
/** Minimum CPU time for a comparison, in ms. Below it, the fixed cost of a request hides growth. */
const minComparedMs = 25
/** If other processes use more than this share of a CPU, the machine is busy. Time in its CPU queue does not count. */
export const busyShare = 0.2
/** Above this share the stores do not get enough CPU time. Waits of reads are not verified. */
const overloadShare = 1.2
/** Factor for the waits of reads on a busy machine, because the stores also wait for a CPU. */
const busyReadFactor = 3

/** Effect of an input on other requests. The input keeps the promise if `misses` is empty. */
export type Verdict = {
  readonly longestLiveMs: number
  readonly longestReadMs: number
  readonly longestReferenceMs: number
  readonly growth: number | null
  readonly isMachineBusy: boolean
  readonly misses: readonly string[]
}

const longest = (values: readonly number[]): number => values.reduce((max, value) => Math.max(max, value), 0)

const boundOf = (input: HostileInput, kind: 'wait' | 'growth' | 'end'): number | undefined =>
  exceptions.find(exception => exception.input === input.name && exception.kind === kind)?.bound

/** Return the value that a share of the values do not exceed; 0 if there is none. */
export const quantile = (values: readonly number[], share: number): number => {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)] ?? 0
}

/** Share of the probes of a kind that may be refused on a busy machine, because its stores may not answer in time. */
const excusedShare = 0.1

/** List the refused probes by kind, with number, status and error code. */
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
  const endsWithinS = boundOf(input, 'end') ?? input.endsWithinS ?? defaultEndsWithinS
  const isLate = endedMs === null || (!isMachineBusy && endedMs > endsWithinS * 1_000)
  return [
    ...(wrong.length === 0 ? [] : [`status ${wrong.join(', ')}`]),
    ...refusedKinds(round.waits, isMachineBusy),
    ...(isLate ? [`not done within ${endsWithinS} s`] : []),
  ]
}

/** Counted part of a wait, and its margin above the wait at rest. */
type Measure = { readonly countedMs: (wait: Wait) => number; readonly marginMs: number }

/**
 * Choose the counted part of the waits of a kind. On a busy machine a wait for `/health/live` counts only while the
 * main thread of the service ran. A read counts without the time in which that thread waited for a CPU.
 */
export const measureOf = (kind: ProbeKind, otherCpu: number, marginMs: number): Measure => {
  if (otherCpu <= busyShare) return { countedMs: ({ ms }) => ms, marginMs }
  if (kind === 'live') return { countedMs: ({ ms, ranMs, queuedMs }) => Math.min(ranMs, ms - queuedMs), marginMs }
  const factor = otherCpu > overloadShare ? Number.POSITIVE_INFINITY : busyReadFactor
  return { countedMs: ({ ms, queuedMs }) => ms - queuedMs, marginMs: marginMs * factor }
}

/** Verify the statuses, the duration, the waits of the probes and the growth of CPU time. */
export const verify = (measured: Measurement, idle: Idle): Verdict => {
  const { input, round, otherCpu, cpuMs } = measured
  const isMachineBusy = otherCpu > busyShare
  const longestReferenceMs = longest(round.referenceMs)
  // Additional waits of the reference server are caused by the machine.
  const excuseMs = Math.max(0, longestReferenceMs - quantile(idle.round.referenceMs, 0.99))
  const lateKinds = probeKinds.flatMap(kind => {
    const { countedMs, marginMs } = measureOf(kind, otherCpu, boundOf(input, 'wait') ?? waitMarginMs)
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
