import { setTimeout as sleep } from 'node:timers/promises'
import { corpus } from './corpus.ts'
import { exceptions } from './exceptions.ts'
import { create, createLocation, iso, scheduleOf, submit, tariffOf } from './fixtures.ts'
import type { HostileInput } from './input.ts'
import { type ForeignCpu, watchForeignCpu } from './measure.ts'
import { type Probe, type ProbeKind, probeKinds, type Round } from './probe.ts'
import type { Target } from './target.ts'
import { busyShare, measureOf, quantile } from './verdict.ts'

/** Work that an account may have done, again and again, within its rights. Source: docs/promises.md #s6. */
export const fairShareInputs: readonly HostileInput[] = [
  'a plan of many windows at tiers',
  'prices of 90 days, eight at once',
  'five records of 364 days at many bands',
  'subscribers that hang',
].map(name => {
  const input = corpus.find(one => one.name === name)
  if (input === undefined) throw new Error(`The corpus has no input "${name}".`)
  return input
})

/** How many times as long as at rest the reads of another account may take. Source: docs/promises.md #s6. */
export const maxSlowdown = 3
/**
 * Less than this counts as nothing, in ms. At rest the p99 is 5 to 15 ms. Beside work, the thread for long work, the client that reads large answers,
 * PostgreSQL and the engine share two cores with the thread that answers: the system's time slices alone make 15 to 70 ms of it.
 */
const minMs = 75
/** The same on a busy machine, on which the time of the service's first thread in a wait is judged, in ms. */
const minBusyMs = 100
/** How long a record of another account may take to be visible, in ms, if three times its time at rest is less. */
const visibleMs = 1_000

export type Share = {
  readonly name: string
  /** p99 of each kind of probe, in ms: at rest and beside the work. */
  readonly p99Ms: Readonly<Record<ProbeKind, readonly [number, number]>>
  /** Longest time from a submission to its record, in ms: at rest and beside the work. */
  readonly lagMs: readonly [number, number]
  readonly isMachineBusy: boolean
  readonly misses: readonly string[]
}

type Observation = { readonly round: Round; readonly lagMs: number; readonly foreignCpu: number }

/** Submit a record of the other account now and then, and wait until it is stored; returns the longest time. */
const watchLag = async ({ other }: Target, location: string, forMs: number): Promise<number> => {
  let longestMs = 0
  for (const until = performance.now() + forMs; performance.now() < until; await sleep(200)) {
    const at = Date.now() - 3_600_000
    const record = { location_id: location, units: 'WH', value: 1, start_time: iso(at), end_time: iso(at + 1_000) }
    const startedAt = performance.now()
    await submit(other, '/meters/interval', [record])
    longestMs = Math.max(longestMs, performance.now() - startedAt)
  }
  return longestMs
}

const observe = async (
  target: Target,
  probe: Probe,
  location: string,
  forMs: number,
  work: () => Promise<unknown>,
): Promise<Observation> => {
  const foreign: ForeignCpu = watchForeignCpu(target, probe)
  const both = async (): Promise<number> => {
    const [lagMs] = await Promise.all([watchLag(target, location, forMs), work()])
    return lagMs
  }
  const { value: lagMs, round } = await probe.beside(both, forMs)
  return { round, lagMs, foreignCpu: foreign.share() }
}

/** Have a hostile account do one kind of work for a time, and compare what another account waits with what it waits at rest. */
export const measureShare = async (
  target: Target,
  probe: Probe,
  input: HostileInput,
  forMs: number,
): Promise<Share> => {
  const location = await createLocation(target.other)
  await create(target.other, '/tariffs', tariffOf(location, scheduleOf(1)))
  const rest = await observe(target, probe, location, forMs, async () => undefined)
  // What changes something is prepared twice over, as it can be played once only.
  const plays = await Promise.all(
    Array.from({ length: input.isOnce === true ? 2 : 1 }, () => input.open(target, input.size)),
  )
  // The first play also starts the thread for long work and compiles code: that is no share of an account.
  if (input.isOnce !== true) await plays[0]?.()
  const beside = await observe(target, probe, location, forMs, async () => {
    const until = performance.now() + forMs
    for (let at = 0; performance.now() < until; at += 1) {
      const play = plays[input.isOnce === true ? at : 0]
      if (play === undefined) return
      await play()
    }
  })
  const foreignCpu = Math.max(rest.foreignCpu, beside.foreignCpu)
  const p99Of = ({ round }: Observation, kind: ProbeKind): number => {
    const { countedMs } = measureOf(kind, foreignCpu, 0)
    return quantile(
      round.waits.flatMap(wait => (wait.kind === kind ? [countedMs(wait)] : [])),
      0.99,
    )
  }
  const pairs = probeKinds.map(kind => [kind, [p99Of(rest, kind), p99Of(beside, kind)]] as const)
  const isMachineBusy = foreignCpu > busyShare
  const verifiedPairs = isMachineBusy ? pairs.filter(([kind]) => kind === 'live') : pairs
  const boundMs =
    exceptions.find(one => one.input === input.name && one.what === 'share')?.bound ??
    (isMachineBusy ? minBusyMs : minMs)
  const slow = verifiedPairs.filter(([, [atRest, loaded]]) => loaded > Math.max(boundMs, maxSlowdown * atRest))
  const isLate = !isMachineBusy && beside.lagMs > Math.max(visibleMs, maxSlowdown * rest.lagMs)
  return {
    name: input.name,
    p99Ms: Object.fromEntries(pairs) as unknown as Share['p99Ms'],
    lagMs: [rest.lagMs, beside.lagMs],
    isMachineBusy,
    misses: [
      ...slow.map(
        ([kind, [atRest, loaded]]) => `p99 of ${kind} probes ${loaded.toFixed(0)} ms, at rest ${atRest.toFixed(0)} ms`,
      ),
      ...(isLate
        ? [`a record was visible after ${beside.lagMs.toFixed(0)} ms, at rest ${rest.lagMs.toFixed(0)} ms`]
        : []),
    ],
  }
}
