import { nextLocalMonth, startOfLocalMonth } from '../../domain/civil-time.ts'
import { fullConfidence } from '../../domain/record/validate-record.ts'
import { hasTieredPrices } from '../../domain/tariff/snapshot.ts'
import type { TariffDirection } from '../../domain/tariff/tariff.ts'
import type { QueryInterval, Tenant } from '../../platform/clickhouse/meter-cost/meter-cost-reads.ts'
import type { CachedPricing } from '../../platform/pricing-cache/pricing-cache.ts'
import type { RecordToCost } from '../record-to-cost.ts'

/** All that a location has groups for. */
export const directions: readonly TariffDirection[] = ['IMPORT', 'EXPORT', 'LOCAL']

/** Rows that share time with the span are costed again, because of the message of that version. */
export type RecostTrigger = QueryInterval & { readonly version: bigint }

/**
 * What a step changes at one location in one direction, where a cost depends on other rows or stored rows are costed again: new
 * records, each identity once, and spans.
 */
export type ChangeSet = {
  readonly tenant: Tenant
  readonly locationId: string
  readonly direction: TariffDirection
  readonly cachedPricing: CachedPricing
  readonly records: readonly RecordToCost[]
  readonly triggers: readonly RecostTrigger[]
  /** Some of its objects have estimates, or these records are some. */
  readonly hasEstimates: boolean
}

/** A part of a group whose changes lie in neighbouring months: it can be costed with the rows of these alone. */
export type RecostGroup = {
  readonly changeSet: ChangeSet
  readonly records: readonly RecordToCost[]
  readonly triggers: readonly RecostTrigger[]
  readonly interval: QueryInterval
}

export type Extent = { readonly start: number; readonly end: number }

export const isTiered = ({ cachedPricing, direction }: ChangeSet): boolean =>
  hasTieredPrices(cachedPricing.snapshot, direction)

export const isEstimate = (confidence: number): boolean => confidence < fullConfidence

/** Whether a row is among those that share time with a span; an impulse within it does. */
export const overlaps = ({ start, end }: Extent, { from, to }: QueryInterval): boolean =>
  start < to && (end > from || start >= from)

/** The local months that some extents touch. */
export const monthsOf = (
  { cachedPricing }: Pick<ChangeSet, 'cachedPricing'>,
  extents: Iterable<Extent>,
): QueryInterval => {
  const { from, to } = enclosingInterval(extents)
  const zone = cachedPricing.snapshot.timeZone
  return { from: startOfLocalMonth(zone, from), to: nextLocalMonth(zone, to) }
}

/** From the first start to the last end. */
export const enclosingInterval = (extents: Iterable<Extent>): QueryInterval => {
  let [from, to] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  for (const { start, end } of extents) {
    from = Math.min(from, start)
    to = Math.max(to, end)
  }
  return { from, to }
}

const extentOf = ({ from, to }: QueryInterval): Extent => ({ start: from, end: to - 1 })

/** The highest version among what changes something. */
export const highestVersion = (changes: Iterable<{ readonly version: bigint }>): bigint => {
  let highest = 0n
  for (const { version } of changes) if (version > highest) highest = version
  return highest
}

type ChangeOfGroup = {
  readonly interval: Extent
  readonly record: RecordToCost | null
  readonly trigger: RecostTrigger | null
}

/** Cut a group where whole months lie between its changes, so that a submission of many years reads only the months that it touches. */
export const recostGroupsOf = (changeSet: ChangeSet): readonly RecostGroup[] => {
  const changes: ChangeOfGroup[] = [
    ...changeSet.records.map(record => ({ interval: record.record, record, trigger: null })),
    ...changeSet.triggers.map(trigger => ({ interval: extentOf(trigger), record: null, trigger })),
  ].sort((a, b) => a.interval.start - b.interval.start)
  const runs: { changes: ChangeOfGroup[]; months: QueryInterval }[] = []
  for (const change of changes) {
    const months = monthsOf(changeSet, [change.interval])
    const last = runs.at(-1)
    if (last !== undefined && months.from < last.months.to) {
      last.changes.push(change)
      last.months = { from: last.months.from, to: Math.max(last.months.to, months.to) }
    } else runs.push({ changes: [change], months })
  }
  return runs.map(run => ({
    changeSet,
    records: run.changes.flatMap(({ record }) => (record === null ? [] : [record])),
    triggers: run.changes.flatMap(({ trigger }) => (trigger === null ? [] : [trigger])),
    interval: isTiered(changeSet) ? run.months : changedInterval(run.changes),
  }))
}

const changedInterval = (changes: readonly ChangeOfGroup[]): QueryInterval => {
  const { from, to } = enclosingInterval(changes.map(({ interval }) => interval))
  return { from, to: to + 1 }
}
