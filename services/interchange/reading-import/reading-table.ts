import type { CsvRow } from '../platform/csv.ts'
import type { ReadingOptions } from './csv-options.ts'
import type { PresetOptions } from './find-preset.ts'
import type { ReadingSource } from './reading-source.ts'

/** File of rows, before its readings are read. */
export type ReadingTable = {
  /** Names of the worksheets; none of a CSV file. */
  readonly sheets: readonly string[]
  /** Return options with those of a known file. Throws `UsageError`. */
  readonly presetOf: (options: ReadingOptions) => PresetOptions
  /** Return the header and the first 500 rows. */
  readonly headOf: (options: ReadingOptions) => Promise<readonly CsvRow[]>
  /** Open the readings. `locationZone` is the zone of their location. Throws `UsageError`. */
  readonly open: (preset: PresetOptions, locationZone: string | null) => ReadingSource
}
