import { readdirSync, readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { readSamples, sumOf } from '../bench/samples.ts'

import { defaultEndsWithinS, type HostileInput, type Play } from './input.ts'
import type { Probe, Round } from './probe.ts'
import type { Target } from './target.ts'

/** Length of a clock tick in `/proc`, in ms. USER_HZ is 100 on Linux. */
const tickMs = 10

/** Return the fields of `/proc/<pid>/stat` from `state` on. Empty if the process has exited. */
const statOf = (pid: number): readonly string[] => {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    return text.slice(text.lastIndexOf(')') + 2).split(' ')
  } catch {
    return []
  }
}

/** Return the CPU time of processes and their descendants, user and system, in ms. */
const cpuMsOf = (roots: readonly number[]): number => {
  const stats = readdirSync('/proc')
    .filter(name => /^\d+$/.test(name))
    .map(name => ({ pid: Number(name), fields: statOf(Number(name)) }))
  const parents = new Map(stats.map(({ pid, fields }) => [pid, Number(fields[1])]))
  const isOf = (pid: number | undefined): boolean =>
    pid !== undefined && pid > 1 && (roots.includes(pid) || isOf(parents.get(pid)))
  // The fields of a parent include the CPU time of its children that have exited.
  const ticksOf = (fields: readonly string[]): number =>
    [11, 12, 13, 14].reduce((sum, at) => sum + Number(fields[at] ?? 0), 0)
  return stats.filter(({ pid }) => isOf(pid)).reduce((sum, { fields }) => sum + ticksOf(fields), 0) * tickMs
}

/** Return the CPU time that the machine has used, in ms over all CPUs. */
const machineCpuMs = (): number => {
  const [, user, nice, system, , , irq, softIrq, steal] = (
    readFileSync('/proc/stat', 'utf8').split('\n')[0] ?? ''
  ).split(/ +/)
  return [user, nice, system, irq, softIrq, steal].reduce((sum, ticks) => sum + Number(ticks), 0) * tickMs
}

/** Duration and repetitions of measurements. */
export type Effort = {
  /** Minimum length of a round of probes, in ms. A probe is sent every 10 ms. */
  readonly roundMs: number
  /** Plays of each of the two sizes to compare their CPU time; 0 for no comparison. */
  readonly comparisons: number
  /** Maximum number of measurements of an input. Other processes can disturb one measurement; a fault misses in all. */
  readonly attempts: number
}

export const fullEffort: Effort = { roundMs: 2_100, comparisons: 2, attempts: 5 }
export const shortEffort: Effort = { roundMs: 1_200, comparisons: 0, attempts: 5 }

/** Waits and CPU time per ms of the service while only probes are sent. */
export type Idle = { readonly round: Round; readonly cpuRate: number }

/** Measurement of an input. Times are in ms. */
export type Measurement = {
  readonly input: HostileInput
  readonly statuses: readonly number[]
  readonly plays: number
  /** Duration of the first play with its effect; null if it did not end. */
  readonly endedMs: number | null
  readonly round: Round
  /** CPU time of processes other than the service and its tests, as a share of one CPU. */
  readonly otherCpu: number
  readonly longestTurnMs: number | null
  /** True if the longest turn was before the input. */
  readonly isOldTurn: boolean
  /** CPU time of one play at half the size and at the size. */
  readonly cpuMs: readonly [number, number] | null
}

const turnMetric = 'wattledger_event_loop_longest_turn_seconds'
/** Pause between two plays of an input, so that the rate stays below the default limit of an account. */
const pauseMs = 15
/** CPU time in ms from which on a comparison is precise. */
const preciseMs = 150
const maxPlays = 30
/** Factor for time limits, because the machine may be busy. */
const timeoutFactor = 3

const longestTurnMs = async ({ metricsUrl }: Target): Promise<number | null> => {
  if (metricsUrl === null) return null
  const samples = await readSamples([metricsUrl])
  return samples.has(turnMetric) ? sumOf(samples, turnMetric) * 1_000 : null
}

/** Measure the service at rest. */
export const measureIdle = async (target: Target, probe: Probe, ms: number): Promise<Idle> => {
  const { round } = await probe.during(() => sleep(ms), ms)
  const cpuBefore = cpuMsOf(target.pids)
  await sleep(1_000)
  return { round, cpuRate: (cpuMsOf(target.pids) - cpuBefore) / 1_000 }
}

/** Return the result of a play; null if it does not end in time. */
const endOf = async (
  { endsWithinS = defaultEndsWithinS }: HostileInput,
  play: Play,
): Promise<readonly number[] | null> => {
  const timeout = new AbortController()
  const late = sleep(timeoutFactor * endsWithinS * 1_000, null, timeout)
  const ended = await Promise.race([play(), late])
  timeout.abort()
  await late.catch(() => undefined)
  return ended
}

/**
 * Play an input until the round of probes is over, or once. `endedMs` is null if the first play does not end in time.
 */
const playOn = async (input: HostileInput, play: Play, roundMs: number) => {
  const startedAt = performance.now()
  const first = await endOf(input, play)
  const endedMs = first === null ? null : performance.now() - startedAt
  const statuses = [...(first ?? [])]
  let plays = 1
  while (input.isOnce !== true && first !== null && performance.now() - startedAt < roundMs) {
    await sleep(pauseMs)
    // The rate limit may refuse repeated plays.
    statuses.push(...(await play()).filter(status => status !== 429))
    plays += 1
  }
  return { statuses, endedMs, plays }
}

/** Return the CPU time of one play, in ms. Short plays are repeated until the time is precise. */
const cpuOfPlay = async (target: Target, input: HostileInput, size: number, idle: Idle): Promise<number> => {
  const play = await input.open(target, size)
  await sleep(200)
  const [startedAt, before] = [performance.now(), cpuMsOf(target.pids)]
  const usedMs = (): number => cpuMsOf(target.pids) - before - idle.cpuRate * (performance.now() - startedAt)
  let plays = 0
  do {
    await endOf(input, play)
    plays += 1
  } while (input.isOnce !== true && plays < maxPlays && usedMs() < preciseMs)
  return Math.max(0, usedMs()) / plays
}

/** Measure the CPU time of half the size and of the size. The shortest of some plays counts for each. */
const compareCpu = async (
  target: Target,
  input: HostileInput,
  idle: Idle,
  comparisons: number,
): Promise<readonly [number, number] | null> => {
  const size = input.growsTo === undefined ? input.size : input.growsTo
  if (size === null || comparisons === 0) return null
  let [halfMs, fullMs] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]
  for (let at = 0; at < comparisons; at += 1) {
    halfMs = Math.min(halfMs, await cpuOfPlay(target, input, Math.floor(size / 2), idle))
    fullMs = Math.min(fullMs, await cpuOfPlay(target, input, size, idle))
    // One comparison is enough for work that takes seconds. In shorter work the first play of half the size includes
    // the compilation of code, which hides growth.
    if (fullMs > 2_000) break
  }
  return [halfMs, fullMs]
}

/** CPU time of processes other than the service and its tests since the start of the watch, as a share of one CPU. */
export type OtherCpu = { readonly share: () => number }

/** Start to watch the CPU time of other processes. */
export const watchOtherCpu = (target: Target, probe: Probe): OtherCpu => {
  const known = [process.pid, ...probe.pids, ...target.pids]
  const otherMs = (): number => machineCpuMs() - cpuMsOf(known)
  const [startedAt, before] = [performance.now(), otherMs()]
  return { share: () => Math.max(0, otherMs() - before) / (performance.now() - startedAt) }
}

/** Play an input while probes are sent, then compare the CPU time of its sizes. */
export const measure = async (
  target: Target,
  probe: Probe,
  input: HostileInput,
  idle: Idle,
  effort: Effort,
): Promise<Measurement> => {
  const play = await input.open(target, input.size)
  const turnBefore = await longestTurnMs(target)
  const watch = watchOtherCpu(target, probe)
  const { value, round } = await probe.during(() => playOn(input, play, effort.roundMs), effort.roundMs)
  const otherCpu = watch.share()
  const turnAfter = await longestTurnMs(target)
  return {
    input,
    ...value,
    round,
    otherCpu,
    longestTurnMs: turnAfter,
    // The metric reports the longest turn for some time, so the turn can belong to an earlier input.
    isOldTurn: turnAfter !== null && turnBefore !== null && turnAfter <= turnBefore,
    cpuMs: value.endedMs === null ? null : await compareCpu(target, input, idle, effort.comparisons),
  }
}
