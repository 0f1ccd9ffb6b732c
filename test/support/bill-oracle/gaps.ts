import { type BillContext, readRange } from './bill-line.ts'
import { billedRecords, hasPartIn, unionWithin } from './bill-records.ts'
import type { BillCosts } from './energy-costs.ts'
import { dayStart } from './local-days.ts'

export type GapReason = 'UNPRICED' | 'MISSING' | 'NOT_ENDED'

/** Time that a statement could not bill. Instants in ms. */
export type Gap = { readonly reason: GapReason; readonly start: number; readonly end: number }

const reasons: readonly GapReason[] = ['UNPRICED', 'MISSING', 'NOT_ENDED']

const unpricedGaps = (context: BillContext, { costs }: BillCosts, start: number, end: number): Gap[] =>
  (['INBOUND+IMPORT', 'OUTBOUND+EXPORT'] as const)
    .flatMap(flow => billedRecords(context.records, context.include, flow))
    .filter(one => hasPartIn(one, start, end) && costs.get(one.id)?.priced === null)
    .map(({ record }) => ({
      reason: 'UNPRICED',
      start: Math.max(start, record.start),
      end: Math.min(end, record.end),
    }))

/** Return the time until now that no inbound import record with length covers. */
const missingGaps = ({ records, include, input }: BillContext, start: number, end: number): Gap[] => {
  const imported = billedRecords(records, include, 'INBOUND+IMPORT').filter(one => hasPartIn(one, start, end))
  const areAllSessions = imported.length > 0 && imported.every(({ record }) => record.sessionReferenceId !== null)
  const expected = input.statement.expect ?? (areAllSessions ? 'NOTHING' : 'EVERY_INTERVAL')
  if (expected === 'NOTHING') return []
  const past = { start, end: Math.min(end, Date.parse(input.now)) }
  const withLength = imported.map(({ record }) => record).filter(record => record.start < record.end)
  const covered = unionWithin(withLength, past)
  const edges = [start, ...covered.flatMap(part => [part.start, part.end]), past.end]
  return edges.flatMap((from, index): Gap[] => {
    const to = edges[index + 1]
    return index % 2 === 0 && to !== undefined && from < to ? [{ reason: 'MISSING', start: from, end: to }] : []
  })
}

/** Return all gaps of a statement by time. */
export const findGaps = (context: BillContext, bill: BillCosts): Gap[] => {
  const { zone, input } = context
  const days = readRange(input.statement)
  const [start, end] = [dayStart(zone, days.first), dayStart(zone, days.end)]
  const now = Date.parse(input.now)
  const notEnded: Gap[] = now < end ? [{ reason: 'NOT_ENDED', start: Math.max(start, now), end }] : []
  return [...unpricedGaps(context, bill, start, end), ...missingGaps(context, start, end), ...notEnded].sort(
    (a, b) => a.start - b.start || a.end - b.end || reasons.indexOf(a.reason) - reasons.indexOf(b.reason),
  )
}
