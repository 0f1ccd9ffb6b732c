import { nextLocalMonth, startOfLocalMonth } from '../domain/civil-time.ts'
import { fullConfidence } from '../domain/record/check-record.ts'
import { countsEnergy } from '../domain/tariff/snapshot.ts'
import type { TariffDirection } from '../domain/tariff/tariff.ts'
import type { Span, Tenant } from '../platform/clickhouse/meter-cost-reads.ts'
import type { HeldPricing } from '../platform/pricing-book.ts'
import type { LaneRecord } from './settle.ts'

/** All that a location has groups for. */
export const directions: readonly TariffDirection[] = ['IMPORT', 'EXPORT', 'LOCAL']

/** Rows that share time with the span are costed again, because of the message of that version. */
export type Cause = Span & { readonly version: bigint }

/**
 * What a step changes at one location in one direction, where a cost depends on other rows or stored rows are costed again: new
 * records, each identity once, and spans.
 */
export type LaneGroup = {
  readonly tenant: Tenant
  readonly locationId: string
  readonly direction: TariffDirection
  readonly held: HeldPricing
  readonly records: readonly LaneRecord[]
  readonly causes: readonly Cause[]
  /** Some of its objects have estimates, or these records are some. */
  readonly hasEstimates: boolean
}

/** A part of a group whose changes lie in neighbouring months: it can be costed with the rows of these alone. */
export type Cluster = {
  readonly group: LaneGroup
  readonly records: readonly LaneRecord[]
  readonly causes: readonly Cause[]
  readonly span: Span
}

export type Extent = { readonly start: number; readonly end: number }

export const isTiered = ({ held, direction }: LaneGroup): boolean => countsEnergy(held.snapshot, direction)

export const isEstimate = (confidence: number): boolean => confidence < fullConfidence

/** Whether a row is among those that share time with a span; an impulse within it does. */
export const touches = ({ start, end }: Extent, { from, to }: Span): boolean => start < to && (end > from || start >= from)

/** The local months that some extents touch. */
export const monthsOf = ({ held }: Pick<LaneGroup, 'held'>, extents: Iterable<Extent>): Span => {
  const { from, to } = hullOf(extents)
  const zone = held.snapshot.timeZone
  return { from: startOfLocalMonth(zone, from), to: nextLocalMonth(zone, to) }
}

/** From the first start to the last end. */
export const hullOf = (extents: Iterable<Extent>): Span => {
  let [from, to] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  for (const { start, end } of extents) {
    from = Math.min(from, start)
    to = Math.max(to, end)
  }
  return { from, to }
}

const extentOf = ({ from, to }: Span): Extent => ({ start: from, end: to - 1 })

/** The highest version among what changes something. */
export const newestOf = (changes: Iterable<{ readonly version: bigint }>): bigint => {
  let highest = 0n
  for (const { version } of changes) if (version > highest) highest = version
  return highest
}

type Change = { readonly extent: Extent; readonly record: LaneRecord | null; readonly cause: Cause | null }

/** Cut a group where whole months lie between its changes, so that a submission of many years reads only the months that it touches. */
export const clustersOf = (group: LaneGroup): readonly Cluster[] => {
  const changes: Change[] = [
    ...group.records.map(record => ({ extent: record.record, record, cause: null })),
    ...group.causes.map(cause => ({ extent: extentOf(cause), record: null, cause })),
  ].sort((a, b) => a.extent.start - b.extent.start)
  const runs: { changes: Change[]; months: Span }[] = []
  for (const change of changes) {
    const months = monthsOf(group, [change.extent])
    const last = runs.at(-1)
    if (last !== undefined && months.from < last.months.to) {
      last.changes.push(change)
      last.months = { from: last.months.from, to: Math.max(last.months.to, months.to) }
    } else runs.push({ changes: [change], months })
  }
  return runs.map(run => ({
    group,
    records: run.changes.flatMap(({ record }) => (record === null ? [] : [record])),
    causes: run.changes.flatMap(({ cause }) => (cause === null ? [] : [cause])),
    span: isTiered(group) ? run.months : ownSpan(run.changes),
  }))
}

const ownSpan = (changes: readonly Change[]): Span => {
  const { from, to } = hullOf(changes.map(({ extent }) => extent))
  return { from, to: to + 1 }
}
