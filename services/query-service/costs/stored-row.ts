import type { StoredRecordView } from '../../contract/metering/meter-record-read.ts'
import type { CostRow } from '../../domain/cost/energy-cost.ts'
import type { MeterCostRow } from '../../platform/clickhouse/meter-cost/meter-cost-row.ts'
import type { CostedRow } from '../../platform/clickhouse/meter-cost/meter-cost-rows.ts'

/** Convert a stored row to the row that the domain adds up. */
export const costRowOf = (row: CostedRow): CostRow => ({
  start: row.start,
  end: row.end,
  energy: row.energy,
  cost: row.cost,
  recordConfidence: row.recordConfidence,
  pieces: row.pieces,
})

/** Prefix of the id of a record. */
export const recordPrefix = 'mre_'

/** Convert a stored row to the record of an answer. */
export const recordViewOf = (row: MeterCostRow, isImplausible = false): StoredRecordView => ({
  id: recordPrefix + row.recordId,
  accountId: row.accountId,
  liveMode: row.liveMode,
  currencyCode: row.currency,
  record: { ...row, energy: row.energySubmitted ?? row.energy, confidence: row.recordConfidence },
  price: {
    energy: row.energy,
    cost: row.cost,
    confidence: Math.round((row.recordConfidence * row.confidence) / 100_000_000),
  },
  isImplausible,
  batchId: row.batchId,
  tariffIds: row.tariffIds,
  pricingRevision: row.pricingRevision,
  priceRevision: row.marketSourceIds.length === 0 ? null : Number(row.priceRevision),
  // The pieces of an unpriced estimate have no price to explain.
  pieces: row.cost === null ? [] : row.pieces,
  receivedAt: row.receivedAt,
})
