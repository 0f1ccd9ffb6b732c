import { UsageError } from '../../platform/failure.ts'
import { timeZone } from '../../platform/time-zone.ts'
import { type ColumnChoices, readColumnChoices, readingFields, readPairs } from '../domain/csv/columns.ts'
import { isReadingField } from '../domain/csv/csv-readings.ts'
import { type CsvRules, unitOf } from '../domain/csv/csv-rules.ts'
import { readIntervalLength } from '../domain/csv/interval-length.ts'
import { timeFormat } from '../domain/csv/time-text.ts'
import { directionsOf, type ObjectName } from '../domain/reading.ts'
import { type CsvForm, isEncoding } from '../platform/csv.ts'

/** Options of a file by their names on the command line. An option that can be repeated has a line for each value. */
export type ReadingOptions = Readonly<Record<string, string | undefined>>

/** Read the columns of a file. Throws `UsageError`. */
export const readColumns = (
  options: ReadingOptions,
  isField: (name: string) => boolean,
  names: readonly string[],
): ColumnChoices => {
  const choices = readColumnChoices(options['columns'] ?? '', isField, names)
  if ('problem' in choices) throw new UsageError(`--columns: ${choices.problem}`)
  return choices
}

/** Read the columns of a file with readings. Throws `UsageError`. */
export const readReadingColumns = (options: ReadingOptions): ColumnChoices =>
  readColumns(options, isReadingField, readingFields)

/** Read the form of a CSV file. Throws `UsageError`. */
export const readCsvForm = (options: ReadingOptions): CsvForm => {
  const { delimiter, encoding = null } = options
  const skipLines = options['skip-lines'] ?? '0'
  if (!/^\d{1,4}$/.test(skipLines)) throw new UsageError(`--skip-lines must be from 0 to 9999, not "${skipLines}".`)
  if (encoding !== null && !isEncoding(encoding)) throw new UsageError(`--encoding "${encoding}" is unknown.`)
  return { delimiter: delimiter === 'tab' ? '\t' : (delimiter ?? null), encoding, skipLines: Number(skipLines) }
}

/** Read the name of an object: an id, or an own reference with or without `reference:`. */
export const readObjectName = (text: string | undefined, prefix: 'loc' | 'dev'): ObjectName | null => {
  if (text === undefined) return null
  if (new RegExp(`^${prefix}_.{24}$`).test(text) || /^(reference|location|device):/.test(text)) return { id: text }
  return { reference: text }
}

/** Read the pairs of an option that can be repeated. Throws `UsageError`. */
const readOptionPairs = (options: ReadingOptions, name: string): readonly (readonly [string, string])[] => {
  const pairs = readPairs(options[name]?.split('\n') ?? [])
  if ('problem' in pairs) throw new UsageError(`--${name}: ${pairs.problem}`)
  return pairs
}

/** Read the rules of a file with readings; `locationZone` is the zone of --location. Throws `UsageError`. */
export const readCsvRules = (options: ReadingOptions, locationZone: string | null): CsvRules => {
  const { decimal = '.', thousands = '', unit, direction, zone: zoneText = locationZone, interval } = options
  const zone = zoneText === null ? null : timeZone(zoneText)
  if (zone === null && zoneText !== null)
    throw new UsageError(`--zone "${zoneText}" is no time zone, such as Europe/Oslo.`)
  const length = interval === undefined ? null : readIntervalLength(interval)
  if (length === undefined)
    throw new UsageError('--interval must be P1D (a local day) or a duration up to 24 h, such as PT15M or PT1H.')
  const formatText = options['date-format']
  const format = formatText === undefined ? null : timeFormat(formatText)
  if (format === undefined) throw new UsageError('--date-format must have yyyy, MM and dd, such as dd.MM.yyyy HH:mm.')
  if (decimal === thousands) throw new UsageError('--decimal and --thousands must be different marks.')
  return {
    layout: options['layout'] === 'wide' ? 'wide' : 'long',
    location: readObjectName(options['location'], 'loc'),
    device: readObjectName(options['device'], 'dev'),
    unit: unit === undefined ? null : (unitOf(unit) ?? null),
    directions: direction === undefined ? null : (directionsOf(direction) ?? null),
    interval: length,
    label: options['label'] === 'end' ? 'end' : 'start',
    zone,
    format,
    marks: { decimal: decimal === ',' ? ',' : '.', thousands },
    ambiguous: options['ambiguous'] === 'earlier' || options['ambiguous'] === 'later' ? options['ambiguous'] : null,
    where: readOptionPairs(options, 'where').map(([heading, text]) => ({ heading, text })),
    words: new Map(readOptionPairs(options, 'map').map(([word, meaning]) => [word.toUpperCase(), meaning])),
    sum: options['sum'] ?? null,
    isRaw: options['raw'] !== undefined,
  }
}
