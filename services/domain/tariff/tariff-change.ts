import { endOf, startOf } from './coverage.ts'
import type { Tariff } from './tariff.ts'
import { schedulesOf } from './tariff-version.ts'
import { scheduleText } from './terms.ts'

/** A half-open span of instants; null is open. */
export type OpenSpan = { readonly from: number | null; readonly to: number | null }

const sameKind = (a: Tariff, b: Tariff): boolean => a.direction === b.direction && a.type === b.type && a.id !== b.id

/**
 * Find a living tariff of the location whose contract shares time with that of `tariff`, in its direction and type.
 * Closed tariffs are gone for the caller: they keep what they have priced, but stand in nobody's way.
 * Source: docs/rules/tariffs.md #contract.
 */
export const overlappingTariff = (tariff: Tariff, others: readonly Tariff[]): Tariff | undefined =>
  others.find(
    other => other.closedAt === null && sameKind(tariff, other) && startOf(tariff) < endOf(other) && startOf(other) < endOf(tariff),
  )

const open = Number.POSITIVE_INFINITY

const isSameSchedule = (a: Tariff['schedule'] = [], b: Tariff['schedule'] = []): boolean => a === b || scheduleText(a) === scheduleText(b)

/** The first instant at which the prices of two forms of a tariff differ; open if they do not. */
const changedPrices = (before: Tariff, after: Tariff): number => {
  const [old, renewed] = [schedulesOf(before), schedulesOf(after)]
  const differs = (index: number): boolean =>
    old[index]?.effectiveFrom !== renewed[index]?.effectiveFrom || !isSameSchedule(old[index]?.schedule, renewed[index]?.schedule)
  const first = [...(old.length > renewed.length ? old : renewed).keys()].find(differs)
  if (first === undefined) return open
  if (first === 0) return Math.min(startOf(before), startOf(after))
  return Math.min(old[first]?.effectiveFrom ?? open, renewed[first]?.effectiveFrom ?? open)
}

/** The earlier of two ends that differ; open where they do not. */
const movedEnd = (a: number | null, b: number | null): number => (a === b ? open : Math.min(a ?? open, b ?? open))

/**
 * Give the span in which a change of a tariff can alter prices: from the earlier of old and new start, or where the start stays from the
 * first end that moves or the first version that differs, to the next living tariff of its kind, or open. Null where that is no time. Outside of it the coverage by the
 * location's tariffs stays as it was. `before` is null for a new tariff, `after` for a voided one; both null are a defect.
 * Source: docs/rules/tariffs.md #changed-time.
 */
export const changedSpan = (before: Tariff | null, after: Tariff | null, others: readonly Tariff[]): OpenSpan | null => {
  const changed = after ?? before
  if (changed === null) throw new RangeError('a change has a tariff before or after it')
  const [earliest, latest] = [startOf(before ?? changed), startOf(changed)].sort((a, b) => (a < b ? -1 : 1)) as [number, number]
  const isMoved = before === null || after === null || earliest < latest
  const firstChange = isMoved
    ? earliest
    : Math.min(movedEnd(before.contractEnd, after.contractEnd), movedEnd(before.closedAt, after.closedAt), changedPrices(before, after))
  const from = Math.max(earliest, firstChange)
  const next = others.filter(other => other.closedAt === null && sameKind(changed, other) && startOf(other) > latest).map(startOf)
  const to = Math.min(...next)
  if (from >= to) return null
  return { from: Number.isFinite(from) ? from : null, to: Number.isFinite(to) ? to : null }
}
