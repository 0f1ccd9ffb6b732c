import type { Energy, Money, Price } from '../../../domain/quantity.ts'
import type { MeterRecord } from '../../../domain/record/record.ts'

export type CostStatus = 'PRICED' | 'PROVISIONAL' | 'UNPRICED'

/** Part of a record at one price. Pieces are contiguous from the record's start to its end. `tier`: lower bound in 1e-6 Wh; `confidence` in 1e-6. */
export type CostPiece = {
  readonly start: number
  readonly energy: Energy
  readonly price: Price
  readonly tier: Energy
  readonly cost: Money
  readonly confidence: number
}

/** Many pieces of a row that waits to be stored: how many, and the bytes of each column of `pieces`, in the order of the table. */
export type PackedPieces = { readonly count: number; readonly columns: readonly Buffer[] }

/**
 * A row of `meter_cost`: what a record cost and why. `recordId`: 24 hexadecimal digits. `energySubmitted` is null where it is
 * `energy`. `cost` is null exactly for UNPRICED. Its `pieces` have energy alone: the parts that actuals take and leave of an estimate;
 * they are empty where actuals cut nothing, and in rows stored before pieces of UNPRICED rows were. `confidence`: of the price, energy-weighted, in 1e-6.
 * An empty text in place of a reference reads back as null.
 */
export type MeterCostRow = Omit<MeterRecord, 'confidence'> & {
  readonly accountId: string
  readonly liveMode: boolean
  readonly recordId: string
  readonly energySubmitted: Energy | null
  readonly recordConfidence: number
  readonly status: CostStatus
  readonly cost: Money | null
  /** ISO 4217, three letters. */
  readonly currency: string
  readonly confidence: number
  readonly pieces: readonly CostPiece[]
  /** In place of `pieces`, which is empty then: only on the way to the store. */
  readonly packed?: PackedPieces
  readonly tariffIds: readonly string[]
  readonly marketSourceIds: readonly string[]
  readonly pricingRevision: number
  readonly priceRevision: bigint
  readonly batchId: string | null
  readonly version: bigint
  readonly sourceVersion: bigint
  readonly receivedAt: number
  readonly isDeleted: boolean
}
