import type { DeadLetter } from '../platform/log/messages.ts'
import type { Metrics } from '../platform/telemetry/metrics.ts'
import type { StepCounts, StepSummary } from './step.ts'

/** A letter that a step wrote: of a record, or of a whole message by what it was. A message of readings is stored nevertheless. */
export type DeadLetterEntry = {
  readonly letter: DeadLetter
  readonly of: 'record' | 'order' | 'readings' | 'unreadable'
  readonly isReplay: boolean
}

/**
 * Enter what a step did of a lane in the ledger, once that is committed, so that what is begun again counts once: each record or reading
 * that was accepted is stored, superseded, dead-lettered or erased; what was put back into the lane since stands apart.
 */
export const countOutcomes = (
  metrics: Metrics,
  partition: number,
  {
    step,
    deadLetters,
  }: { readonly step: Pick<StepSummary, 'partitionCounts'>; readonly deadLetters: readonly DeadLetterEntry[] },
): void => {
  const label = String(partition)
  const ownDeadLetters = deadLetters.filter(({ letter }) => letter.partition === partition)
  for (const { of } of ownDeadLetters) if (of !== 'record') metrics.messagesFailed.inc({ lane: label, kind: of })
  const counts = step.partitionCounts.get(partition)
  if (counts === undefined) return
  const records = ownDeadLetters.filter(({ of }) => of === 'record')
  const replays = records.filter(({ isReplay }) => isReplay).length
  const { stored, superseded, dead: deadLettered, erased } = outcomeCounts(counts.fresh, records.length - replays)
  metrics.stored.inc({ lane: label }, stored)
  if (superseded > 0) metrics.superseded.inc({ lane: label }, superseded)
  if (deadLettered > 0) metrics.deadLettered.inc({ lane: label }, deadLettered)
  if (erased > 0) metrics.erased.inc({ lane: label }, erased)
  const { read } = counts.replayed
  const replayedOutcomes = outcomeCounts(counts.replayed, replays)
  if (replayedOutcomes.dead > 0) metrics.replayed.inc({ lane: label, outcome: 'dead_lettered' }, replayedOutcomes.dead)
  if (read > replayedOutcomes.dead)
    metrics.replayed.inc({ lane: label, outcome: 'handled' }, read - replayedOutcomes.dead)
}

const outcomeCounts = ({ read, superseded, unreadable, erased }: StepCounts, deadLetterCount: number) => {
  const deadLettered = unreadable + deadLetterCount
  return { stored: read - superseded - erased - deadLettered, superseded, dead: deadLettered, erased }
}
