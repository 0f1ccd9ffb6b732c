import type { TimeZone } from '../../domain/civil-time.ts'
import type { ReadRow } from '../domain/reading.ts'
import type { Noted, NotImported } from '../domain/report.ts'

/** Maximum number of refused rows, notes and objects in a report. */
export const maxListed = 10_000

/** Readings of a file in one of the formats. */
export type ReadingSource = {
  readonly format: string
  readonly read: () => AsyncIterable<readonly ReadRow[]>
  /** Cells of a line that is not forgotten. */
  readonly cellsOf: (line: number) => readonly string[]
  /** Forget the lines up to this one. */
  readonly forget: (line: number) => void
  /** Rows of the file, rows without a value, and rows that the options do not select. */
  readonly counts: () => { readonly rows: number; readonly blank: number; readonly unselected?: number }
  /** Zone of times without an offset. */
  readonly zone?: TimeZone | null
  /** Meaning of the single time of a row, after the first rows are read; null if rows have both times. */
  readonly label?: () => 'start' | 'end' | null
  /** Sentences about the whole file. */
  readonly remarks?: readonly string[]
  readonly notes: () => { readonly noted: readonly Noted[]; readonly notImported: readonly NotImported[] }
}
