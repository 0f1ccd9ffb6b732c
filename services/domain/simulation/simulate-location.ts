import type { Charge } from '../charge/charge.ts'
import type { DayRange } from '../charge/charge-days.ts'
import { startOfDayNumber, startOfLocalMonth, type TimeZone } from '../civil-time.ts'
import type { Interval } from '../interval.ts'
import { accepted, type Result } from '../refusal.ts'
import { type BilledRow, priceRows } from '../statement/billed-row.ts'
import { calculateStatement } from '../statement/calculate-statement.ts'
import { countsAtStarts, type RecordToPrice } from '../statement/counts-at-starts.ts'
import type { BilledTariff } from '../statement/energy-sums.ts'
import type { StatementRounding } from '../statement/round-lines.ts'
import type { LineContext } from '../statement/statement-line.ts'
import { hasTieredPrices, type PricingSnapshot } from '../tariff/snapshot.ts'
import { type Bill, billOf } from './bill.ts'

/** Prices of a bill: the prices of the stored rows (`snapshot` null), or those of other tariffs. */
export type BillPrices = { readonly snapshot: PricingSnapshot | null; readonly tariffs: readonly BilledTariff[] }

/** Tariffs and charges to calculate a bill with. */
export type Candidate = BillPrices & { readonly charges: readonly Charge[] }

/**
 * Location to simulate. The periods are contiguous calendar months or parts of them.
 * `records`: all records that share time with the periods, sorted by start, end and id. If a candidate has tiers, also
 * all earlier records from `countedFrom` on. Further records have no effect.
 * `storedRows` returns the rows of the statement as they are stored, with their tariffs.
 */
export type SimulatedLocation = LineContext & {
  readonly periods: readonly DayRange[]
  /** All days of the simulation. The periods can be a part of them. */
  readonly days: DayRange
  readonly records: readonly RecordToPrice[]
  readonly isBilled: (record: RecordToPrice) => boolean
  readonly storedRows: () => Iterable<BilledRow>
  readonly rounding: StatementRounding
  readonly hasLines: boolean
  /** Present instant in ms. */
  readonly now: number
}

const spanOf = ({ periods, metered: { timeZone } }: Pick<SimulatedLocation, 'periods' | 'metered'>): Interval => ({
  start: startOfDayNumber(timeZone, periods[0]?.startDay ?? 0),
  end: startOfDayNumber(timeZone, periods[periods.length - 1]?.endDay ?? 0),
})

/**
 * Return the first instant whose records the tiers of a span count: the start of the local month in which the earliest
 * record of the span starts. `firstStart`: start of that record, or of the span if no record starts before the span.
 */
export const countedFrom = (timeZone: TimeZone, firstStart: number): number => startOfLocalMonth(timeZone, firstStart)

const sharesTime = ({ start, end }: Interval, span: Interval): boolean =>
  start < span.end && (end > span.start || start >= span.start)

const hasTiers = (snapshot: PricingSnapshot): boolean =>
  (['IMPORT', 'EXPORT', 'LOCAL'] as const).some(direction => hasTieredPrices(snapshot, direction))

const recordsOf = (records: readonly RecordToPrice[], span: Interval): readonly RecordToPrice[] =>
  records.filter(record => sharesTime(record, span))

/** Records that decide the prices of a span: those of the span, and with tiers those counted before. */
type PricedRecords = { readonly within: readonly RecordToPrice[]; readonly counted: readonly RecordToPrice[] }

/** Return the records that candidates price, the same for all of them. */
const recordsToPrice = (
  { records, metered: { timeZone } }: SimulatedLocation,
  span: Interval,
  candidates: readonly Candidate[],
): PricedRecords => {
  const snapshots = candidates.flatMap(({ snapshot }) => snapshot ?? [])
  const within = snapshots.length === 0 ? [] : recordsOf(records, span)
  if (!snapshots.some(hasTiers)) return { within, counted: within }
  const firstStart = within.reduce((first, { start }) => Math.min(first, start), span.start)
  const counted = recordsOf(records, { start: countedFrom(timeZone, firstStart), end: span.end })
  return { within, counted }
}

const rowsOf = (
  { storedRows, isBilled }: SimulatedLocation,
  { within, counted }: PricedRecords,
  snapshot: PricingSnapshot | null,
): Iterable<BilledRow> => {
  if (snapshot === null) return storedRows()
  const records = hasTiers(snapshot) ? counted : within
  const atStarts = countsAtStarts(snapshot, records)
  return priceRows(snapshot, records, atStarts, isBilled)
}

/**
 * Calculate the bill of a location with each candidate, in their order.
 * All candidates read the same records. Nothing else is read.
 * Law: the stored tariffs and charges as a candidate give the bill of the stored rows, to the last digit.
 * Refuses more than 500 lines in a period.
 */
export const simulateLocation = (
  location: SimulatedLocation,
  candidates: readonly Candidate[],
): Result<readonly Bill[]> => {
  const records = recordsToPrice(location, spanOf(location), candidates)
  const bills: Bill[] = []
  for (const { snapshot, tariffs, charges } of candidates) {
    const rows = rowsOf(location, records, snapshot)
    const input = { ...location, rows, tariffs, charges, hasDetail: false, finals: [], expected: null }
    const statement = calculateStatement(input)
    if (!statement.ok) return statement
    bills.push(billOf(statement.value, { charges, days: location.days, hasLines: location.hasLines }))
  }
  return accepted(bills)
}
