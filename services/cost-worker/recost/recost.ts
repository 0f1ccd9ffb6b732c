import type { Interval } from '../../domain/interval.ts'
import { fullConfidence } from '../../domain/record/record.ts'
import {
  type AccumulatorTail,
  addToTail,
  nextEntry,
  startTailRun,
  tailAfterRun,
} from '../../domain/recost/accumulator-tail.ts'
import type { ChangeSet, RecostGroup } from '../../domain/recost/change-set.ts'
import type { Prefix } from '../../domain/recost/counted-energy.ts'
import { decideRecost, type RecostDecision } from '../../domain/recost/decide-recost.ts'
import type { Tenant } from '../../domain/tenant.ts'
import type { QueryInterval } from '../../platform/clickhouse/meter-cost/meter-cost-reads.ts'
import type { MeterCostRow } from '../../platform/clickhouse/meter-cost/meter-cost-row.ts'
import type { CachedPricing } from '../../platform/pricing-cache/pricing-cache.ts'
import { costInSteps, type RecordToCost } from '../record-to-cost.ts'

/** Change set of a step, with the account and the cached pricing of its location. */
export type LocationChanges = ChangeSet<RecordToCost> & { readonly tenant: Tenant; readonly prices: CachedPricing }

/** Group of a step's change set. */
export type LocationRecostGroup = RecostGroup<LocationChanges>

/**
 * Rows to write, and the records that were counted. `rows` can be iterated once: each row is costed when it is taken.
 */
export type RecostResult = Pick<RecostDecision<RecordToCost>, 'entries' | 'total'> & {
  readonly rows: Iterable<MeterCostRow | null>
}

export const queryIntervalOf = ({ start, end }: Interval): QueryInterval => ({ from: start, to: end })

/** Return a stored row as the record that it came from. Its version is at least `version`. */
export const entryOf = (row: MeterCostRow, version: bigint): RecordToCost => ({
  record: { ...row, energy: row.energySubmitted ?? row.energy, confidence: row.recordConfidence },
  part: row,
  version: row.version > version ? row.version : version,
  sourceVersion: row.sourceVersion,
  origin: null,
})

export const isEstimateRow = ({ recordConfidence }: MeterCostRow): boolean => recordConfidence < fullConfidence

/** Return an entry without the message that brought it, so that the message can leave the memory. */
export const withoutMessage = (entry: RecordToCost): RecordToCost => {
  if (entry.origin === null) return entry
  const { accountId, liveMode, batchId, receivedAt } = entry.part
  return { ...entry, part: { accountId, liveMode, batchId, receivedAt }, origin: null }
}

/** Cost the records of a decision, in its order. Yields null so that other work can run. */
function* rowsOfDecision(
  { toCost, withdrawn, version, countedBefore }: RecostDecision<RecordToCost>,
  prices: CachedPricing,
): Generator<MeterCostRow | null, void, undefined> {
  for (const one of toCost) {
    const { entry } = one
    const triggered = entry.version < version ? { ...entry, version } : entry
    yield (yield* costInSteps(triggered, prices, countedBefore.get(one), one.covered)).row
  }
  for (const entry of withdrawn) yield (yield* costInSteps(entry, prices)).row
}

/**
 * Cost the new records of a group and all stored rows that they or the triggers change. See `decideRecost`.
 * Each row is written once, with the highest version of its triggers. Yields null so that other work can run.
 */
export const recost = (group: LocationRecostGroup, stored: readonly MeterCostRow[], prefix?: Prefix): RecostResult => {
  const decision = decideRecost(group, stored, entryOf, prefix)
  const { entries, total } = decision
  return { rows: rowsOfDecision(decision, group.changeSet.prices), entries, total }
}

/**
 * Cost the records of a change set that are near a tail (`isNearTail`), and the records after them in the tail.
 * Rows are in the counting order; withdrawn intervals are last. Yields null so that other work can run; returns the new
 * tail.
 */
export function* costNearTail(
  { prices, records }: LocationChanges,
  known: AccumulatorTail<RecordToCost>,
): Generator<MeterCostRow | null, AccumulatorTail<RecordToCost>, undefined> {
  const run = startTailRun(records, known)
  for (const one of run.toCost) {
    const entry = nextEntry(run, one)
    const { row, changes } = yield* costInSteps(entry, prices, run.counts, one.covered)
    yield row
    addToTail(run, { entry: withoutMessage(entry), covered: one.covered, changes })
  }
  for (const entry of records) if (entry.isWithdrawn === true) yield (yield* costInSteps(entry, prices)).row
  return tailAfterRun(known, run)
}
