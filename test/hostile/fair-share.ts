import { setTimeout as sleep } from 'node:timers/promises'
import { corpus } from './corpus.ts'
import { exceptions } from './exceptions.ts'
import { create, createLocation, iso, scheduleOf, submit, tariffOf } from './fixtures.ts'
import type { HostileInput } from './input.ts'
import { type OtherCpu, watchOtherCpu } from './measure.ts'
import { type Probe, type ProbeKind, probeKinds, type Round } from './probe.ts'
import type { Target } from './target.ts'
import { busyShare, measureOf, quantile } from './verdict.ts'

/** Inputs that an account may send repeatedly. Source: docs/promises.md #s6. */
export const fairShareInputs: readonly HostileInput[] = [
  'a plan with many windows and tiers',
  'prices of 90 days, eight at once',
  'five records of 364 days at many bands',
  'subscribers that hang',
].map(name => {
  const input = corpus.find(one => one.name === name)
  if (input === undefined) throw new Error(`The corpus has no input "${name}".`)
  return input
})

/** Maximum factor between the p99 of another account during the work and at rest. Source: docs/promises.md #s6. */
export const maxSlowdown = 3
/**
 * A p99 below this is never a miss, in ms. At rest the p99 is 5 to 15 ms. During the work the thread that answers
 * requests shares two cores with the work thread, the client, PostgreSQL and ClickHouse. The time slices of the
 * operating system alone cause waits of 15 to 70 ms.
 */
const minMs = 75
/** The same on a busy machine, in ms. There, only the CPU time of the service's main thread during a wait counts. */
const minBusyMs = 100
/** A record of another account may always take this time to be visible, in ms. */
const visibleMs = 1_000

export type Share = {
  readonly name: string
  /** p99 of each kind of probe, in ms: at rest and during the work. */
  readonly p99Ms: Readonly<Record<ProbeKind, readonly [number, number]>>
  /** Longest time from a submission to its stored record, in ms: at rest and during the work. */
  readonly lagMs: readonly [number, number]
  readonly isMachineBusy: boolean
  readonly misses: readonly string[]
}

type Observation = { readonly round: Round; readonly lagMs: number; readonly otherCpu: number }

/** Submit a record of the other account every 200 ms and wait until it is stored. Returns the longest time in ms. */
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
  const otherCpu: OtherCpu = watchOtherCpu(target, probe)
  const both = async (): Promise<number> => {
    const [lagMs] = await Promise.all([watchLag(target, location, forMs), work()])
    return lagMs
  }
  const { value: lagMs, round } = await probe.during(both, forMs)
  return { round, lagMs, otherCpu: otherCpu.share() }
}

/** Let a hostile account send an input for a time. Compare the waits of another account with its waits at rest. */
export const measureShare = async (
  target: Target,
  probe: Probe,
  input: HostileInput,
  forMs: number,
): Promise<Share> => {
  const location = await createLocation(target.other)
  await create(target.other, '/tariffs', tariffOf(location, scheduleOf(1)))
  const rest = await observe(target, probe, location, forMs, async () => undefined)
  // An input that changes objects can be played once only, so it is prepared twice.
  const plays = await Promise.all(
    Array.from({ length: input.isOnce === true ? 2 : 1 }, () => input.open(target, input.size)),
  )
  // The first play also starts the work thread and compiles code. This time does not count.
  if (input.isOnce !== true) await plays[0]?.()
  const during = await observe(target, probe, location, forMs, async () => {
    const until = performance.now() + forMs
    for (let at = 0; performance.now() < until; at += 1) {
      const play = plays[input.isOnce === true ? at : 0]
      if (play === undefined) return
      await play()
    }
  })
  const otherCpu = Math.max(rest.otherCpu, during.otherCpu)
  const p99Of = ({ round }: Observation, kind: ProbeKind): number => {
    const { countedMs } = measureOf(kind, otherCpu, 0)
    return quantile(
      round.waits.flatMap(wait => (wait.kind === kind ? [countedMs(wait)] : [])),
      0.99,
    )
  }
  const pairs = probeKinds.map(kind => [kind, [p99Of(rest, kind), p99Of(during, kind)]] as const)
  const isMachineBusy = otherCpu > busyShare
  const verifiedPairs = isMachineBusy ? pairs.filter(([kind]) => kind === 'live') : pairs
  const boundMs =
    exceptions.find(one => one.input === input.name && one.kind === 'share')?.bound ??
    (isMachineBusy ? minBusyMs : minMs)
  const slow = verifiedPairs.filter(([, [atRest, loaded]]) => loaded > Math.max(boundMs, maxSlowdown * atRest))
  const isLate = !isMachineBusy && during.lagMs > Math.max(visibleMs, maxSlowdown * rest.lagMs)
  return {
    name: input.name,
    p99Ms: Object.fromEntries(pairs) as unknown as Share['p99Ms'],
    lagMs: [rest.lagMs, during.lagMs],
    isMachineBusy,
    misses: [
      ...slow.map(
        ([kind, [atRest, loaded]]) => `p99 of ${kind} probes ${loaded.toFixed(0)} ms, at rest ${atRest.toFixed(0)} ms`,
      ),
      ...(isLate
        ? [`a record was visible after ${during.lagMs.toFixed(0)} ms, at rest ${rest.lagMs.toFixed(0)} ms`]
        : []),
    ],
  }
}
