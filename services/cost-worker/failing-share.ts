import { comparedDecimals } from '../domain/compared-decimals.ts'
import type { DeadLetter } from '../platform/log/messages.ts'
import type { Logger } from '../platform/telemetry/logger.ts'
import type { PoisonRecord } from './dead-letter.ts'
import type { RecordToCost } from './record-to-cost.ts'

/** Locations of a step in one partition, each once. `failing`: those of which no record could be read or costed. */
export type PartitionOutcome = { readonly seen: readonly string[]; readonly failing: ReadonlySet<string> }

/**
 * Limits of a partition: the worker stops if at least `minLocations` locations of the last `steps` steps fail, and more
 * than the share `share` (0 to 1). With a share of 1, the worker never stops.
 */
export type FailingLimits = { readonly share: number; readonly minLocations: number; readonly steps: number }

export type FailureDecision =
  | { readonly kind: 'go on' }
  | { readonly kind: 'stop'; readonly failing: number; readonly seen: number; readonly reason: string }

/** Outcomes of the last steps of a partition, oldest first. */
export type OutcomeWindow = readonly PartitionOutcome[]

/** Add a step to the window of a partition. */
export const slideWindow = (
  window: OutcomeWindow,
  outcome: PartitionOutcome,
  { steps }: Pick<FailingLimits, 'steps'>,
): OutcomeWindow => [...window, outcome].slice(-steps)

/**
 * Decide whether the worker continues, or stops instead of dead-lettering a whole partition.
 * Each location counts once, with its last step. A location fails if none of its records in that step is costed.
 * The function examines all locations of the window only if at least `minLocations` fail.
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
  // Percent with 6 decimals. The found share is above the limit, so it is rounded up.
  const [limit, found] = [BigInt(Math.round(share * 1e8)), BigInt(Math.ceil((failing / seen.size) * 1e8))]
  const texts = comparedDecimals(limit, found, { scale: 6, decimals: 0 })
  const reason = `${failing} of the last ${seen.size} locations (${texts.found} %) fail, which is more than ${texts.stated} %`
  return { kind: 'stop', failing, seen: seen.size, reason }
}

const partitionKeyPattern = /^acc_[0-9a-f]{24}\/(loc_[0-9a-f]{24})$/

/**
 * Return the outcome of a step in each of its partitions. A chunk that cannot be read counts as the location in its
 * key. `plain`: partitions of the locations whose records were costed as plain rows. Poison without a location, such as a
 * request or foreign bytes, does not count.
 */
export const partitionOutcomes = (
  records: ReadonlyMap<string, readonly Pick<RecordToCost, 'origin'>[]>,
  poison: readonly { readonly entry: { readonly record: Pick<PoisonRecord['entry']['record'], 'locationId'> } }[],
  unreadable: readonly Pick<DeadLetter, 'partition' | 'position' | 'key'>[],
  plain: ReadonlyMap<string, number> = new Map(),
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
  for (const [locationId, partition] of plain) outcomeOf(partition).seen.push(locationId)
  for (const { partition, position, key } of unreadable) {
    const locationId = position < 0 ? partitionKeyPattern.exec(key)?.[1] : undefined
    if (locationId === undefined || records.has(locationId) || plain.has(locationId)) continue
    const partitionOutcome = outcomeOf(partition)
    if (!partitionOutcome.failing.has(locationId)) partitionOutcome.seen.push(locationId)
    partitionOutcome.failing.add(locationId)
  }
  return outcomes
}

/** Outcomes of the partitions of a worker. */
export type FailureWatch = {
  /** Add the outcome of a step. Return whether the worker must stop; then it stays stopped. */
  readonly mustStop: (...step: Parameters<typeof partitionOutcomes>) => boolean
  readonly hasStopped: () => boolean
}

/** Steps of a partition that decide whether too many of its locations fail. */
const failureWindowSteps = 50

/** Create the watch of a worker. */
export const failureWatch = (
  limits: Pick<FailingLimits, 'share' | 'minLocations'>,
  logger: Pick<Logger, 'fatal'>,
): FailureWatch => {
  const windows = new Map<number, OutcomeWindow>()
  let hasStopped = false
  return {
    hasStopped: () => hasStopped,
    mustStop: (...step) => {
      for (const [partition, outcome] of partitionOutcomes(...step)) {
        const window = slideWindow(windows.get(partition) ?? [], outcome, { steps: failureWindowSteps })
        windows.set(partition, window)
        const decision = decideOnFailures(window, limits)
        if (decision.kind !== 'stop') continue
        const { failing, seen, reason } = decision
        logger.fatal({ lane: partition, failing, seen }, `The cost worker stops: ${reason}.`)
        hasStopped = true
      }
      return hasStopped
    },
  }
}
