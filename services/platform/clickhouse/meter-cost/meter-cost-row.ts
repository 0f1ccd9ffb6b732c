import type { CostPiece } from '../../../domain/cost/cost-piece.ts'
import type { CostStatus } from '../../../domain/cost/cost-record.ts'
import type { Energy, Money } from '../../../domain/quantity.ts'
import type { MeterRecord } from '../../../domain/record/record.ts'
import type { Tenant } from '../../../domain/tenant.ts'

/**
 * Encoded pieces of a row that waits for its insert: their count, and the bytes of each column of `pieces` in the order
 * of the table.
 */
export type PackedPieces = { readonly count: number; readonly columns: readonly Buffer[] }

/**
 * A row of `meter_cost`: the cost of a record and how it was calculated. `recordId`: 24 hexadecimal digits.
 * `energySubmitted` is null if it equals `energy`. `cost` is null exactly for UNPRICED rows.
 * `pieces` of an UNPRICED row have energy only: the parts of an estimate that actual records cover and leave. They are
 * empty if actual records cover nothing, and in rows of earlier releases. `confidence`: of the price, energy-weighted,
 * in 1e-6. An empty reference reads back as null.
 */
export type MeterCostRow = Omit<MeterRecord, 'confidence'> &
  Tenant & {
    readonly recordId: string
    readonly energySubmitted: Energy | null
    readonly recordConfidence: number
    readonly status: CostStatus
    readonly cost: Money | null
    /** ISO 4217, three letters. */
    readonly currency: string
    readonly confidence: number
    readonly pieces: readonly CostPiece[]
    /** Replaces `pieces`, which is empty then; only until the insert. */
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
