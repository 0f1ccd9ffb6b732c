import type { DeadLetter } from '../platform/log/messages.ts'
import type { PoisonRecord } from './dead-letter.ts'
import type { RecordToCost } from './record-to-cost.ts'

/** What a step met in one lane: locations, each once, and those among them of which nothing could be read or settled. */
export type PartitionOutcome = { readonly seen: readonly string[]; readonly failing: ReadonlySet<string> }

/**
 * When a lane stops: more than `share` (0 … 1) of the locations met in its last `steps` steps fail, and at least `least` of them.
 * A share of 1 never stops.
 */
export type FailingLimits = { readonly share: number; readonly minLocations: number; readonly steps: number }

export type FailureDecision =
  | { readonly kind: 'go on' }
  | { readonly kind: 'stop'; readonly failing: number; readonly seen: number; readonly reason: string }

/** The last steps of a lane, oldest first. */
export type OutcomeWindow = readonly PartitionOutcome[]

/** Move the window of a lane on by a step. */
export const slideWindow = (
  window: OutcomeWindow,
  outcome: PartitionOutcome,
  { steps }: Pick<FailingLimits, 'steps'>,
): OutcomeWindow => [...window, outcome].slice(-steps)

/**
 * Decide whether a lane goes on or its worker stops instead of putting everything aside. Each location counts once, by the last step in
 * which it was met: one that failed and is well again does not count as failing, nor does one of which some records are settled.
 * Costs a look at all locations of the window only where at least `least` fail.
 */
export const decideOnFailures = (
  window: OutcomeWindow,
  { share, minLocations }: Omit<FailingLimits, 'steps'>,
): FailureDecision => {
  const suspects = new Set(window.flatMap(({ failing }) => [...failing]))
  if (suspects.size < Math.max(1, minLocations)) return { kind: 'go on' }
  const seen = new Set<string>()
  let failing = 0
  for (const outcome of window.toReversed()) {
    for (const locationId of outcome.seen) {
      if (!seen.has(locationId) && outcome.failing.has(locationId)) failing += 1
      seen.add(locationId)
    }
  }
  if (failing < Math.max(1, minLocations) || failing <= share * seen.size) return { kind: 'go on' }
  const reason = `${failing} of the last ${seen.size} locations fail, which is more than ${Math.round(share * 100)} %`
  return { kind: 'stop', failing, seen: seen.size, reason }
}

const partitionKeyPattern = /^acc_[0-9a-f]{24}\/(loc_[0-9a-f]{24})$/

/**
 * Tell what a step met in each of its lanes. A chunk that could not be read counts as the location that its key names; poison that belongs
 * to no location, such as an order or bytes from elsewhere, does not count.
 */
export const partitionOutcomes = (
  records: ReadonlyMap<string, readonly Pick<RecordToCost, 'origin'>[]>,
  poison: readonly { readonly entry: { readonly record: Pick<PoisonRecord['entry']['record'], 'locationId'> } }[],
  unreadable: readonly Pick<DeadLetter, 'partition' | 'position' | 'key'>[],
): ReadonlyMap<number, PartitionOutcome> => {
  const outcomes = new Map<number, { readonly seen: string[]; readonly failing: Set<string> }>()
  const outcomeOf = (partition: number) => {
    const partitionOutcome = outcomes.get(partition) ?? { seen: [], failing: new Set() }
    outcomes.set(partition, partitionOutcome)
    return partitionOutcome
  }
  const failed = new Map<string, number>()
  for (const { entry } of poison) failed.set(entry.record.locationId, (failed.get(entry.record.locationId) ?? 0) + 1)
  for (const [locationId, entries] of records) {
    const partitionOutcome = outcomeOf(entries[0]?.origin?.assignment.partition ?? 0)
    partitionOutcome.seen.push(locationId)
    if ((failed.get(locationId) ?? 0) >= entries.length) partitionOutcome.failing.add(locationId)
  }
  for (const { partition, position, key } of unreadable) {
    const locationId = position < 0 ? partitionKeyPattern.exec(key)?.[1] : undefined
    if (locationId === undefined || records.has(locationId)) continue
    const partitionOutcome = outcomeOf(partition)
    if (!partitionOutcome.failing.has(locationId)) partitionOutcome.seen.push(locationId)
    partitionOutcome.failing.add(locationId)
  }
  return outcomes
}
