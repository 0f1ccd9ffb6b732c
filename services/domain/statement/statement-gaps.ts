import type { Interval } from '../interval.ts'
import { overlaps } from '../interval.ts'
import type { Energy } from '../quantity.ts'
import type { BilledRow } from './billed-row.ts'
import { rowFlowOf } from './energy-sums.ts'
import { type MeteredEnergy, recordsWithin } from './metered-energy.ts'

/**
 * UNPRICED: time of a record without a price. PROVISIONAL_PRICE: time of energy that is priced by a forecast, or after
 * the end of its contract. MISSING: time that no bought record with length covers. NOT_ENDED: time
 * after now.
 */
export type GapReason = 'UNPRICED' | 'PROVISIONAL_PRICE' | 'MISSING' | 'NOT_ENDED'

/** Part of a statement that can still change its total, clipped to the statement. PROVISIONAL_PRICE has an energy. */
export type StatementGap = Interval & { readonly reason: GapReason; readonly energy?: Energy }

/** First 100 gaps by start, and the number of further gaps. */
export type StatementGaps = { readonly gaps: readonly StatementGap[]; readonly moreGaps: number }

/** EVERY_INTERVAL: time without a bought record is a gap. NOTHING: it is none. */
export type ExpectedRecords = 'EVERY_INTERVAL' | 'NOTHING'

const maxGaps = 100
/** Return whether a row makes a statement incomplete: it has no price, and its flow is in the total. */
const isUnpriced = (row: BilledRow): boolean => {
  const flow = rowFlowOf(row)
  return row.cost === null && (flow === 'IMPORT' || flow === 'EXPORT')
}

/** Return the gap of an unpriced row; null if the row has a price or no time in the statement. */
export const unpricedGap = (row: BilledRow, span: Interval): StatementGap | null => {
  const isImpulse = row.start === row.end && row.start >= span.start && row.start < span.end
  if (!isUnpriced(row) || !(overlaps(row, span) || isImpulse)) return null
  return { reason: 'UNPRICED', start: Math.max(row.start, span.start), end: Math.min(row.end, span.end) }
}

/** Find the time of a span that no bought record with length covers; none if nothing is expected. */
const findMissing = (
  metered: MeteredEnergy,
  span: Interval,
  endedAt: number,
  expected: ExpectedRecords | null,
): readonly Interval[] => {
  const gaps: Interval[] = []
  let at = span.start
  let [count, countOfSessions] = [0, 0]
  for (const record of recordsWithin(metered, 'IMPORT', null, span)) {
    const { start, end, sessionReferenceId } = record
    count += 1
    if (sessionReferenceId !== null) countOfSessions += 1
    if (start === end) continue
    if (start > at && at < endedAt) gaps.push({ start: at, end: Math.min(start, endedAt) })
    at = Math.max(at, end)
  }
  if (at < endedAt) gaps.push({ start: at, end: endedAt })
  const isOfSessions = count > 0 && count === countOfSessions
  return (expected ?? (isOfSessions ? 'NOTHING' : 'EVERY_INTERVAL')) === 'EVERY_INTERVAL' ? gaps : []
}

/** Return the missing time of a span. It is found once. */
const missingTime = (
  metered: MeteredEnergy,
  span: Interval,
  endedAt: number,
  expected: ExpectedRecords | null,
): readonly Interval[] => {
  const key = `${span.start} ${span.end} ${endedAt} ${expected}`
  const missing = metered.missing.get(key) ?? findMissing(metered, span, endedAt, expected)
  metered.missing.set(key, missing)
  return missing
}

/**
 * Return the gaps of a statement by start. `now` (ms) splits the span: MISSING lies before, NOT_ENDED after.
 * `expected` null: every interval, unless there are bought records and all have a session. `found`: gaps of the rows.
 */
export const statementGaps = (
  metered: MeteredEnergy,
  span: Interval,
  { expected, now }: { readonly expected: ExpectedRecords | null; readonly now: number },
  found: readonly StatementGap[],
): StatementGaps => {
  const endedAt = Math.min(span.end, Math.max(span.start, now))
  const missing = missingTime(metered, span, endedAt, expected)
  const gaps = [...found]
  for (const { start, end } of missing) gaps.push({ reason: 'MISSING', start, end })
  if (endedAt < span.end) gaps.push({ reason: 'NOT_ENDED', start: endedAt, end: span.end })
  gaps.sort((a, b) => a.start - b.start || a.end - b.end)
  return { gaps: gaps.slice(0, maxGaps), moreGaps: Math.max(0, gaps.length - maxGaps) }
}
