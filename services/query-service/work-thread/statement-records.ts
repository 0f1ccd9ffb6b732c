import type { Interval } from '../../domain/interval.ts'
import { type BilledRow, createPieceBiller } from '../../domain/statement/billed-row.ts'
import type { RecordToPrice } from '../../domain/statement/counts-at-starts.ts'
import { type RowFlow, rowFlowOf } from '../../domain/statement/energy-sums.ts'
import { createMeteredEnergy, type MeteredEnergy, type MeteredRecord } from '../../domain/statement/metered-energy.ts'
import type { PricingSnapshot } from '../../domain/tariff/snapshot.ts'
import { decodeStatementRows, type StatementRow } from '../../platform/clickhouse/meter-cost/statement-rows.ts'

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

/** Run steps of the domain, which yield null, as steps of a work. */
export function* inSteps<T>(steps: Generator<unknown, T>): Generator<undefined, T> {
  for (let step = steps.next(); ; step = steps.next()) {
    if (step.done === true) return step.value
    yield undefined
  }
}

/** Decoded records: all of them for the charges, and the rows of the statement. */
export type ReadRecords = {
  readonly records: readonly RecordToPrice[]
  readonly rows: Iterable<StatementRow>
  /** Interval that contains the rows of the statement completely. */
  readonly priceInterval: Interval
}

/** Decode stored records, with a pause after each block. */
export function* readStoredRecords(stored: StoredRecords): Generator<undefined, ReadRecords> {
  const { blocks, locationId, span, includesDevices } = stored
  const decode = ({ buffer, byteOffset, byteLength }: Uint8Array): readonly StatementRow[] =>
    decodeStatementRows(Buffer.from(buffer, byteOffset, byteLength), locationId)
  const isBilled = ({ record }: StatementRow): boolean => {
    const { start, end, deviceId } = record
    const isWithin = start < span.end && (end > span.start || start >= span.start)
    return isWithin && (deviceId === null || includesDevices[rowFlowOf(record)])
  }
  const isSmall = blocks.reduce((sum, { length }) => sum + length, 0) <= maxDecodedBytes
  const decoded: StatementRow[] = []
  const records: RecordToPrice[] = []
  const priceInterval = { ...span }
  for (const block of blocks) {
    for (const row of decode(block)) {
      records.push(row.record)
      if (!isBilled(row)) continue
      priceInterval.start = Math.min(priceInterval.start, row.record.start)
      priceInterval.end = Math.max(priceInterval.end, row.record.end)
      if (isSmall) decoded.push(row)
    }
    yield undefined
  }
  function* decodeAgain(): Generator<StatementRow> {
    for (const block of blocks) for (const row of decode(block)) if (isBilled(row)) yield row
  }
  return { records, rows: isSmall ? decoded : { [Symbol.iterator]: decodeAgain }, priceInterval }
}

/** Prepare records for charges. */
export const meteredEnergyOf = (
  records: readonly MeteredRecord[],
  { includesDevices }: StoredRecords,
  { timeZone }: PricingSnapshot,
): Generator<undefined, MeteredEnergy> => inSteps(createMeteredEnergy(records, { timeZone, includesDevices }))

/** Add the prices and tariffs of the pieces to stored rows, by the evaluator. */
export function* billedRowsOf(rows: Iterable<StatementRow>, snapshot: PricingSnapshot): Generator<BilledRow> {
  const billPieces = createPieceBiller(snapshot)
  for (const { record, energy, cost, pieces } of rows) {
    const { energyFlowDirection, tariffDirection, start, end, confidence: recordConfidence } = record
    const row = { energyFlowDirection, tariffDirection, start, end, energy, cost, recordConfidence }
    yield { ...row, pieces: cost === null ? pieces : billPieces(tariffDirection, pieces) }
  }
}
