import { setTimeout as sleep } from 'node:timers/promises'
import { readSamples, sumOf } from '../bench/samples.ts'
import { cpuMsOf, machineCpuMs } from './cpu-time.ts'
import { type HostileInput, type Play, usualEndS } from './input.ts'
import type { Probe, Round } from './probe.ts'
import type { Target } from './target.ts'

/** How thoroughly inputs are measured. */
export type Effort = {
  /** Length of a round of probes at least, in ms: one probe every 10 ms. */
  readonly roundMs: number
  /** How often each of two sizes is played to compare their CPU time; 0: not at all. */
  readonly comparisons: number
}

export const fullEffort: Effort = { roundMs: 2_100, comparisons: 2 }
export const shortEffort: Effort = { roundMs: 1_200, comparisons: 0 }

/** What the service does while nothing is sent but probes; CPU time per ms. */
export type Idle = { readonly round: Round; readonly cpuRate: number }

/** What was seen of an input. Times in ms. */
export type Measurement = {
  readonly input: HostileInput
  readonly statuses: readonly number[]
  readonly plays: number
  /** Length of the first play, its effect included; null if it did not end. */
  readonly endedMs: number | null
  readonly round: Round
  /** CPU that processes other than the service and its tests used, as a share of one CPU. */
  readonly foreignCpu: number
  readonly longestTurnMs: number | null
  /** Whether that turn was there before the input. */
  readonly isOldTurn: boolean
  /** CPU time of one play at half the size and at the size. */
  readonly cpuMs: readonly [number, number] | null
}

const turnMetric = 'wattledger_event_loop_longest_turn_seconds'
/** Pause between two plays of an input: below the usual rate limit of an account. */
const pauseMs = 15
/** CPU time in ms from which on a comparison is precise. */
const preciseMs = 150
const maxPlays = 30
/** A busy machine may take this many times as long. */
const timeoutFactor = 3

const longestTurnMs = async ({ metricsUrl }: Target): Promise<number | null> => {
  if (metricsUrl === null) return null
  const samples = await readSamples([metricsUrl])
  return samples.has(turnMetric) ? sumOf(samples, turnMetric) * 1_000 : null
}

/** Measure the service at rest. */
export const measureIdle = async (target: Target, probe: Probe, ms: number): Promise<Idle> => {
  const { round } = await probe.beside(() => sleep(ms), ms)
  const cpuBefore = cpuMsOf(target.pids)
  await sleep(1_000)
  return { round, cpuRate: (cpuMsOf(target.pids) - cpuBefore) / 1_000 }
}

/** Resolve as a play does; null if it does not end in time. */
const endOf = async ({ endsWithinS = usualEndS }: HostileInput, play: Play): Promise<readonly number[] | null> => {
  const timeout = new AbortController()
  const late = sleep(timeoutFactor * endsWithinS * 1_000, null, timeout)
  const ended = await Promise.race([play(), late])
  timeout.abort()
  await late.catch(() => undefined)
  return ended
}

/** Play an input until the round of probes is over, or once; `endedMs` null if the first play does not end in time. */
const playOn = async (input: HostileInput, play: Play, roundMs: number) => {
  const startedAt = performance.now()
  const first = await endOf(input, play)
  const endedMs = first === null ? null : performance.now() - startedAt
  const statuses = [...(first ?? [])]
  let plays = 1
  while (input.isOnce !== true && first !== null && performance.now() - startedAt < roundMs) {
    await sleep(pauseMs)
    // A rate limit that refuses what comes too often is no fault.
    statuses.push(...(await play()).filter(status => status !== 429))
    plays += 1
  }
  return { statuses, endedMs, plays }
}

/** Return the CPU time of one play, in ms; short plays are repeated until the time is precise. */
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

/** Compare the CPU time of half the size with that of the size, the least of some plays each. */
const compareCpu = async (
  target: Target,
  input: HostileInput,
  idle: Idle,
  comparisons: number,
): Promise<readonly [number, number] | null> => {
  const size = input.growsTo === undefined ? input.size : input.growsTo
  if (size === null || comparisons === 0) return null
  let [half, whole] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]
  for (let at = 0; at < comparisons; at += 1) {
    half = Math.min(half, await cpuOfPlay(target, input, Math.floor(size / 2), idle))
    whole = Math.min(whole, await cpuOfPlay(target, input, size, idle))
    // One comparison of work that takes seconds is precise enough. Shorter work needs more: half the size alone meets code that is not
    // compiled yet, which hides growth.
    if (whole > 2_000) break
  }
  return [half, whole]
}

/** CPU that processes other than the service and its tests have used since the watch began, as a share of one CPU. */
export type ForeignCpu = { readonly share: () => number }

/** Watch what others use of the machine. */
export const watchForeignCpu = (target: Target, probe: Probe): ForeignCpu => {
  const known = [process.pid, ...probe.pids, ...target.pids]
  const foreignMs = (): number => machineCpuMs() - cpuMsOf(known)
  const [startedAt, before] = [performance.now(), foreignMs()]
  return { share: () => Math.max(0, foreignMs() - before) / (performance.now() - startedAt) }
}

/** Play an input with the probe beside it, then compare the CPU time of its sizes. */
export const measure = async (
  target: Target,
  probe: Probe,
  input: HostileInput,
  idle: Idle,
  effort: Effort,
): Promise<Measurement> => {
  const play = await input.open(target, input.size)
  const turnBefore = await longestTurnMs(target)
  const foreign = watchForeignCpu(target, probe)
  const { value, round } = await probe.beside(() => playOn(input, play, effort.roundMs), effort.roundMs)
  const foreignCpu = foreign.share()
  const turnAfter = await longestTurnMs(target)
  return {
    input,
    ...value,
    round,
    foreignCpu,
    longestTurnMs: turnAfter,
    // A turn of an input before is still the longest one for some time.
    isOldTurn: turnAfter !== null && turnBefore !== null && turnAfter <= turnBefore,
    cpuMs: value.endedMs === null ? null : await compareCpu(target, input, idle, effort.comparisons),
  }
}
