import { readCsvForm, readCsvRules } from './csv-options.ts'
import type { PresetOptions } from './find-preset.ts'
import { csvReadingSource } from './read-csv-readings.ts'
import { nem12ReadingSource } from './read-nem12.ts'
import type { ReadingSource } from './reading-source.ts'

/** First bytes of a file, in which the headings of a known file are searched. */
export const headBytes = 262_144

/** Open a file of rows as a source of readings. `locationZone` is the zone of their location. Throws `UsageError`. */
export const tableSource = (
  chunks: AsyncIterable<Uint8Array>,
  { options, choices, reader, remarks }: PresetOptions,
  locationZone: string | null,
): ReadingSource => {
  const openSource = reader === 'nem12' ? nem12ReadingSource : csvReadingSource
  const rules = readCsvRules(options, locationZone)
  return { ...openSource(chunks, readCsvForm(options), choices, rules), zone: rules.zone, remarks }
}
