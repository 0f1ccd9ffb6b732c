import { bucketOf } from '../oracle/buckets.ts'
import type { OracleCost } from '../oracle/cost.ts'
import { type BillContext, readRange } from './bill-line.ts'
import { billedRecords, hasPartIn, unionWithin } from './bill-records.ts'
import type { BillCosts } from './energy-costs.ts'
import { costsOf } from './energy-lines.ts'
import { dayStart } from './local-days.ts'

export type GapReason = 'UNPRICED' | 'PROVISIONAL_PRICE' | 'MISSING' | 'NOT_ENDED'

/** Time that a statement could not bill. Instants in ms. */
export type Gap = {
  readonly reason: GapReason
  readonly start: number
  readonly end: number
  /** Of PROVISIONAL_PRICE. */
  readonly energy?: bigint
}

const reasons: readonly GapReason[] = ['UNPRICED', 'PROVISIONAL_PRICE', 'MISSING', 'NOT_ENDED']

const unpricedGaps = (context: BillContext, { costs }: BillCosts, start: number, end: number): Gap[] =>
  (['INBOUND+IMPORT', 'OUTBOUND+EXPORT'] as const)
    .flatMap(flow => billedRecords(context.records, context.include, flow))
    .filter(one => hasPartIn(one, start, end) && costs.get(one.id)?.priced === null)
    .map(({ record }) => ({
      reason: 'UNPRICED',
      start: Math.max(start, record.start),
      end: Math.min(end, record.end),
    }))

/** Return the costs of bought and sold energy with the pieces that have a provisional price only. */
export const provisionalCosts = (
  context: BillContext,
  bill: BillCosts,
  span: readonly [number, number],
): OracleCost[] =>
  (['INBOUND+IMPORT', 'OUTBOUND+EXPORT'] as const)
    .flatMap(flow => costsOf(context, bill, flow, span))
    .map(cost => ({
      ...cost,
      priced: cost.priced && {
        ...cost.priced,
        pieces: cost.priced.pieces.filter(({ confidence, energy }) => confidence < 1 && energy > 0n),
      },
    }))

/** Return the stretches of time with provisional prices, with their energy in all records. */
const provisionalGaps = (context: BillContext, bill: BillCosts, start: number, end: number): Gap[] => {
  const costs = provisionalCosts(context, bill, [start, end])
  const stretches: { start: number; end: number }[] = []
  const parts = costs
    .flatMap(({ record, priced }) => (priced?.pieces ?? []).map(piece => ({ record, piece })))
    .filter(({ record, piece }) => {
      if (piece.start < piece.end) return piece.start < end && piece.end > start
      const at = record.start < record.end && piece.end === record.end ? piece.end - 1 : piece.end
      return at >= start && at < end
    })
    .map(({ piece }) => ({ start: Math.max(start, piece.start), end: Math.min(end, piece.end) }))
    .sort((a, b) => a.start - b.start || a.end - b.end)
  for (const part of parts) {
    const last = stretches.at(-1)
    if (last !== undefined && part.start <= last.end) last.end = Math.max(last.end, part.end)
    else stretches.push(part)
  }
  return stretches.map(stretch => {
    const inside = costs.map(cost => ({
      ...cost,
      priced: cost.priced && {
        ...cost.priced,
        pieces: cost.priced.pieces.filter(
          piece => Math.max(start, piece.start) >= stretch.start && Math.min(end, piece.end) <= stretch.end,
        ),
      },
    }))
    return { reason: 'PROVISIONAL_PRICE', ...stretch, energy: bucketOf(inside, start, end).energy }
  })
}

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
  return [
    ...unpricedGaps(context, bill, start, end),
    ...provisionalGaps(context, bill, start, end),
    ...missingGaps(context, start, end),
    ...notEnded,
  ].sort((a, b) => a.start - b.start || a.end - b.end || reasons.indexOf(a.reason) - reasons.indexOf(b.reason))
}
