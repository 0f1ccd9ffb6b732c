import type { Interval } from '../../domain/interval.ts'
import type { Energy, Money } from '../../domain/quantity.ts'
import type { Directions } from './reading.ts'

/** Part of a stored record at one price. */
export type ExportedPiece = Interval & { readonly energy: Energy; readonly cost: Money }

/**
 * Stored record to write in a format of others. `cost` null: the record has no price. `confidence` in 1e-6.
 * `pieces` are empty if the record has no price. Otherwise they cover the record and add up to its energy and cost.
 */
export type ExportedRecord = Directions &
  Interval & {
    readonly id: string
    readonly locationId: string
    readonly deviceId: string | null
    readonly sessionReferenceId: string | null
    readonly currencyCode: string
    readonly energy: Energy
    readonly cost: Money | null
    readonly confidence: number
    readonly pieces: readonly ExportedPiece[]
  }

/** Reasons why a format has no form for a record or session. The list is closed. */
export type NotExportedReason =
  | 'no_session'
  | 'several_locations'
  | 'not_expressible'
  | 'unpriced'
  | 'direction'
  | 'overlap'
  | 'currency'
  | 'reference_too_long'
  | 'zero_duration'
  | 'part_of_a_second'
  | 'tax_of_components'

/** Part of the data that a format cannot express. `id` is that of the record, or the reference of the session. */
export type NotExported = { readonly id: string; readonly reason: NotExportedReason; readonly message: string }
