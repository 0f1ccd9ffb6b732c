import type { EnergyUnits } from '../../domain/quantity.ts'
import type { EnergyFlowDirection } from '../../domain/record/record.ts'
import type { RefusalCode } from '../../domain/refusal.ts'
import type { TariffDirection } from '../../domain/tariff/tariff.ts'

/** Reasons to refuse a row of a file, in addition to the refusal codes of the service. The list is closed. */
export const rowCodes = [
  'not_a_number',
  'not_a_time',
  'ambiguous_time',
  'no_such_time',
  'wrong_columns',
  'duplicate_row',
  'other_quantity',
  'wrong_interval',
  'zero_duration',
] as const

export type RowCode = RefusalCode | (typeof rowCodes)[number]

/** Row of a file that cannot be imported. `line` is the line of the file, from 1; `field` is the column. */
export type RefusedRow = {
  readonly line: number
  readonly field: string | null
  readonly code: RowCode
  readonly message: string
}

/**
 * Row of a file that its format refuses, or turns into several rows. `source`: cells of the line of the file, if the row has
 * others. `refusal`: why the format refuses the line.
 */
export type SourceRow = {
  readonly cells: readonly string[]
  readonly line: number
  readonly source?: readonly string[]
  readonly refusal?: RefusedRow
}

/** Location or device as a file names it: an id, or an own reference. */
export type ObjectName = { readonly id: string } | { readonly reference: string }

export type Directions = {
  readonly energyFlowDirection: EnergyFlowDirection
  readonly tariffDirection: TariffDirection
}

/**
 * Reading of a file. `value` and `confidence` are decimal texts without leading zeros, as in JSON.
 * `start` and `end` are instants (ms). A register reading has the value of a register at `end`; its start is the same.
 * Its value is `null`, as in JSON, if the row withdraws the reading. `isRestart`: first reading of a new meter.
 */
export type FileReading = {
  readonly line: number
  readonly isRegister: boolean
  readonly isRestart: boolean
  readonly location: ObjectName
  readonly device: ObjectName | null
  readonly sessionReferenceId: string | null
  readonly recordReferenceId: string | null
  /** Null: the defaults of a record. */
  readonly directions: Directions | null
  readonly units: EnergyUnits
  readonly value: string
  readonly confidence: string | null
  readonly start: number
  readonly end: number
  /** Register of the meter, in a file whose registers are added. */
  readonly part?: string
}

/** Reading of a file, or the reason to refuse it. `code` is present in a refused row only. */
export type ReadRow = FileReading | RefusedRow

export const isRefusedRow = (row: ReadRow): row is RefusedRow => 'code' in row

export const refusedRow = (line: number, field: string | null, code: RowCode, message: string): RefusedRow => ({
  line,
  field,
  code,
  message,
})

/** Directions of sold energy. */
export const soldDirections: Directions = { energyFlowDirection: 'OUTBOUND', tariffDirection: 'EXPORT' }

const directionsByWord: ReadonlyMap<string, Directions> = new Map([
  ['INBOUND', { energyFlowDirection: 'INBOUND', tariffDirection: 'IMPORT' }],
  ['IMPORT', { energyFlowDirection: 'INBOUND', tariffDirection: 'IMPORT' }],
  ['OUTBOUND', soldDirections],
  ['EXPORT', soldDirections],
  ['LOCAL', { energyFlowDirection: 'INBOUND', tariffDirection: 'LOCAL' }],
])

/** Words of a direction in a file. */
export const directionWords: readonly string[] = [...directionsByWord.keys()]

/** Return the directions of a word; undefined for other words. Case does not matter. */
export const directionsOf = (word: string): Directions | undefined => directionsByWord.get(word.toUpperCase())
