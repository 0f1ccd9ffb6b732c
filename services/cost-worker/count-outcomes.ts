import type { DeadLetter } from '../platform/log/messages.ts'
import type { Metrics } from '../platform/telemetry/metrics.ts'
import type { StepCounts, StepSummary } from './step.ts'

/**
 * Dead letter of a step: of a record, or of a whole message of some kind. The readings of a message are also stored.
 */
export type DeadLetterEntry = {
  readonly letter: DeadLetter
  readonly of: 'record' | 'order' | 'readings' | 'unreadable'
  readonly isReplay: boolean
}

/**
 * Count the outcomes of a step in a partition, after its commit: a repeated step then counts once. Each accepted record
 * or reading is stored, superseded, dead-lettered or erased. Replayed messages have their own counter.
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
