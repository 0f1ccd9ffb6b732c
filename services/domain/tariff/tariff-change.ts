import { scheduleText } from './compiled-schedule.ts'
import type { Tariff } from './tariff.ts'
import { contractEndOf, contractStartOf } from './tariff-coverage.ts'
import { schedulesOf } from './tariff-version.ts'

/** Half-open interval of instants (ms); null means an open end. */
export type OpenInterval = { readonly from: number | null; readonly to: number | null }

const isSameKind = (a: Tariff, b: Tariff): boolean => a.direction === b.direction && a.type === b.type && a.id !== b.id

/**
 * Find an active tariff of the location with the same direction and type whose contract shares time with that of
 * `tariff`.
 * Closed tariffs do not conflict: they keep the costs that they priced.
 * Source: docs/rules/tariffs.md #contract.
 */
export const overlappingTariff = (tariff: Tariff, others: readonly Tariff[]): Tariff | undefined =>
  others.find(
    other =>
      other.closedAt === null &&
      isSameKind(tariff, other) &&
      contractStartOf(tariff) < contractEndOf(other) &&
      contractStartOf(other) < contractEndOf(tariff),
  )

const infinite = Number.POSITIVE_INFINITY

const isSameSchedule = (a: Tariff['schedule'] = [], b: Tariff['schedule'] = []): boolean =>
  a === b || scheduleText(a) === scheduleText(b)

/** Return the first instant at which the prices of two forms of a tariff differ; infinite if they do not. */
const firstPriceChange = (before: Tariff, after: Tariff): number => {
  const [schedulesBefore, schedulesAfter] = [schedulesOf(before), schedulesOf(after)]
  const isDifferent = (index: number): boolean =>
    schedulesBefore[index]?.effectiveFrom !== schedulesAfter[index]?.effectiveFrom ||
    !isSameSchedule(schedulesBefore[index]?.schedule, schedulesAfter[index]?.schedule)
  const firstDifferent = [
    ...(schedulesBefore.length > schedulesAfter.length ? schedulesBefore : schedulesAfter).keys(),
  ].find(isDifferent)
  if (firstDifferent === undefined) return infinite
  if (firstDifferent === 0) return Math.min(contractStartOf(before), contractStartOf(after))
  return Math.min(
    schedulesBefore[firstDifferent]?.effectiveFrom ?? infinite,
    schedulesAfter[firstDifferent]?.effectiveFrom ?? infinite,
  )
}

/** Return the earlier of two ends that differ; infinite if they are equal. */
const firstMovedEnd = (a: number | null, b: number | null): number =>
  a === b ? infinite : Math.min(a ?? infinite, b ?? infinite)

/**
 * Return the interval in which a change of a tariff can alter prices; null if there is none.
 * It starts at the earlier of old and new start. If the start stays, it starts at the first end that moves or the first
 * version that differs. It ends at the next active tariff of its kind, or is open. Outside of it the coverage by the
 * location's tariffs does not change.
 * `before` is null for a new tariff, `after` for a voided one. Throws RangeError if both are null.
 * Source: docs/rules/tariffs.md #changed-time.
 */
export const changedInterval = (
  before: Tariff | null,
  after: Tariff | null,
  others: readonly Tariff[],
): OpenInterval | null => {
  const changed = after ?? before
  if (changed === null) throw new RangeError('a change has a tariff before or after it')
  const [earliest, latest] = [contractStartOf(before ?? changed), contractStartOf(changed)].sort((a, b) =>
    a < b ? -1 : 1,
  ) as [number, number]
  const isMoved = before === null || after === null || earliest < latest
  const firstChange = isMoved
    ? earliest
    : Math.min(
        firstMovedEnd(before.contractEnd, after.contractEnd),
        firstMovedEnd(before.closedAt, after.closedAt),
        firstPriceChange(before, after),
      )
  const from = Math.max(earliest, firstChange)
  const next = others
    .filter(other => other.closedAt === null && isSameKind(changed, other) && contractStartOf(other) > latest)
    .map(contractStartOf)
  const to = Math.min(...next)
  if (from >= to) return null
  return { from: Number.isFinite(from) ? from : null, to: Number.isFinite(to) ? to : null }
}
