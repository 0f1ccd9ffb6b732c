import type { Interval } from '../../domain/interval.ts'
import { overlapSearch, type RecordOverlap } from '../../domain/record/warnings.ts'
import { type BilledRow, createPieceBiller } from '../../domain/statement/billed-row.ts'
import type { RecordToPrice } from '../../domain/statement/counts-at-starts.ts'
import { type RowFlow, rowFlowOf } from '../../domain/statement/energy-sums.ts'
import { createMeteredEnergy, type MeteredEnergy, type MeteredRecord } from '../../domain/statement/metered-energy.ts'
import type { PricingSnapshot } from '../../domain/tariff/snapshot.ts'
import {
  decodePageRows,
  decodeStatementRows,
  type StatementRow,
} from '../../platform/clickhouse/meter-cost/statement-rows.ts'

/**
 * Records of a location as ClickHouse returned them, in order of start, end and record id. Records of `span`, earlier
 * records that charges read, and records of sessions. `includesDevices`: flows in which the statement has the records of
 * devices.
 */
export type StoredRecords = {
  readonly locationId: string
  readonly span: Interval
  readonly blocks: readonly Uint8Array[]
  readonly includesDevices: Readonly<Record<RowFlow, boolean>>
}

/** Records up to this size in bytes stay decoded. Larger ones are decoded twice, which needs less memory. */
const maxDecodedBytes = 8 * 2 ** 20

/** Decoded records: all of them for the charges, and the rows of the statement. */
export type ReadRecords = {
  readonly records: readonly RecordToPrice[]
  readonly rows: Iterable<StatementRow>
  /** Interval that contains the rows of the statement completely. */
  readonly priceInterval: Interval
  /** First overlap of the rows of the statement. */
  readonly overlap: RecordOverlap | null
}

const isWithin = ({ record }: StatementRow, { start, end }: Interval): boolean =>
  record.start < end && (record.end > start || record.start >= start)

/** Return whether a row belongs to the statement. */
const isBilled = (row: StatementRow, { span, includesDevices }: Pick<StoredRecords, 'span' | 'includesDevices'>) =>
  isWithin(row, span) && (row.record.deviceId === null || includesDevices[rowFlowOf(row.record)])

const bufferOf = ({ buffer, byteOffset, byteLength }: Uint8Array): Buffer => Buffer.from(buffer, byteOffset, byteLength)

/** Decode stored records. */
export const readStoredRecords = (stored: StoredRecords): ReadRecords => {
  const { blocks, locationId, span } = stored
  const decode = (block: Uint8Array): readonly StatementRow[] => decodeStatementRows(bufferOf(block), locationId)
  const isSmall = blocks.reduce((sum, { length }) => sum + length, 0) <= maxDecodedBytes
  const decoded: StatementRow[] = []
  const records: RecordToPrice[] = []
  const overlaps = overlapSearch()
  const priceInterval = { ...span }
  for (const block of blocks) {
    for (const row of decode(block)) {
      records.push(row.record)
      if (!isBilled(row, stored)) continue
      overlaps.add(row.record)
      priceInterval.start = Math.min(priceInterval.start, row.record.start)
      priceInterval.end = Math.max(priceInterval.end, row.record.end)
      if (isSmall) decoded.push(row)
    }
  }
  function* decodeAgain(): Generator<StatementRow> {
    for (const block of blocks) for (const row of decode(block)) if (isBilled(row, stored)) yield row
  }
  const rows = isSmall ? decoded : { [Symbol.iterator]: decodeAgain }
  return { records, rows, priceInterval, overlap: overlaps.first() }
}

/** Records of one location of a page, from `readFrom` on. */
export type PageRecords = Pick<StoredRecords, 'locationId' | 'span' | 'includesDevices'> & { readonly readFrom: number }

/** Reads the records of a page, one location after the other, in the order of their ids. */
export type PageReader = { readonly read: (records: PageRecords) => ReadRecords }

/** Create a reader of blocks with the rows of several locations. The rows of one location are decoded at a time. */
export const createPageReader = (blocks: readonly Uint8Array[]): PageReader => {
  function* decodeAll(): Generator<readonly StatementRow[]> {
    for (const block of blocks) yield* decodePageRows(bufferOf(block))
  }
  const decoded = decodeAll()
  let rows: readonly StatementRow[] = []
  let next = 0
  const rowsOf = (locationId: string): readonly StatementRow[] => {
    const found: StatementRow[] = []
    for (;;) {
      const row = rows[next]
      if (row === undefined) {
        const step = decoded.next()
        if (step.done === true) return found
        ;[rows, next] = [step.value, 0]
      } else if (row.record.locationId > locationId) return found
      else {
        if (row.record.locationId === locationId) found.push(row)
        next += 1
      }
    }
  }
  return {
    read: ({ readFrom, ...records }) => {
      const { span, locationId } = records
      const read = { start: readFrom, end: span.end }
      const all = rowsOf(locationId).filter(row => isWithin(row, read))
      const billed = all.filter(row => isBilled(row, records))
      const overlaps = overlapSearch()
      const priceInterval = { ...span }
      for (const { record } of billed) {
        overlaps.add(record)
        priceInterval.start = Math.min(priceInterval.start, record.start)
        priceInterval.end = Math.max(priceInterval.end, record.end)
      }
      return { records: all.map(({ record }) => record), rows: billed, priceInterval, overlap: overlaps.first() }
    },
  }
}

/** Prepare records for charges. */
export const meteredEnergyOf = (
  records: readonly MeteredRecord[],
  { includesDevices }: Pick<StoredRecords, 'includesDevices'>,
  { timeZone }: PricingSnapshot,
): MeteredEnergy => createMeteredEnergy(records, { timeZone, includesDevices })

/** Add the prices and tariffs of the pieces to stored rows, by the evaluator. */
export function* billedRowsOf(rows: Iterable<StatementRow>, snapshot: PricingSnapshot): Generator<BilledRow> {
  const billPieces = createPieceBiller(snapshot)
  for (const { record, energy, cost, pieces } of rows) {
    const { energyFlowDirection, tariffDirection, start, end, confidence: recordConfidence } = record
    const row = { energyFlowDirection, tariffDirection, start, end, energy, cost, recordConfidence }
    yield { ...row, pieces: cost === null ? pieces : billPieces(tariffDirection, pieces) }
  }
}
