import type { DeadLetter } from '../platform/log/messages.ts'
import type { Metrics } from '../platform/metrics.ts'
import type { StepAccount, Tally } from './step.ts'

/** A letter that a step wrote: of a record, or of a whole message by what it was. A message of readings is stored nevertheless. */
export type PutAside = {
  readonly letter: DeadLetter
  readonly of: 'record' | 'order' | 'readings' | 'unreadable'
  readonly isReplay: boolean
}

/**
 * Enter what a step did of a lane in the ledger, once that is committed, so that what is begun again counts once: each record or reading
 * that was accepted is stored, superseded, dead-lettered or erased; what was put back into the lane since stands apart.
 */
export const enterLane = (
  metrics: Metrics,
  partition: number,
  { step, aside }: { readonly step: Pick<StepAccount, 'lanes'>; readonly aside: readonly PutAside[] },
): void => {
  const lane = String(partition)
  const own = aside.filter(({ letter }) => letter.partition === partition)
  for (const { of } of own) if (of !== 'record') metrics.messagesFailed.inc({ lane, kind: of })
  const tally = step.lanes.get(partition)
  if (tally === undefined) return
  const records = own.filter(({ of }) => of === 'record')
  const replays = records.filter(({ isReplay }) => isReplay).length
  const { stored, superseded, dead, erased } = outcomesOf(tally.fresh, records.length - replays)
  metrics.stored.inc({ lane }, stored)
  if (superseded > 0) metrics.superseded.inc({ lane }, superseded)
  if (dead > 0) metrics.deadLettered.inc({ lane }, dead)
  if (erased > 0) metrics.erased.inc({ lane }, erased)
  const { read } = tally.replayed
  const again = outcomesOf(tally.replayed, replays)
  if (again.dead > 0) metrics.replayed.inc({ lane, outcome: 'dead_lettered' }, again.dead)
  if (read > again.dead) metrics.replayed.inc({ lane, outcome: 'handled' }, read - again.dead)
}

const outcomesOf = ({ read, superseded, unreadable, erased }: Tally, put: number) => {
  const dead = unreadable + put
  return { stored: read - superseded - erased - dead, superseded, dead, erased }
}
