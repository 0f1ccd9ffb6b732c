import type { CsvQuery } from '../../contract/metering/csv-parameters.ts'
import type { TimeZone } from '../../domain/civil-time.ts'
import { accepted, type Result, refused } from '../../domain/refusal.ts'
import { type ColumnChoices, readColumnChoices, readingFields, readPairs, splitList } from '../domain/csv/columns.ts'
import { isReadingField } from '../domain/csv/csv-readings.ts'
import { type CsvRules, unitOf } from '../domain/csv/csv-rules.ts'
import { readIntervalLength } from '../domain/csv/interval-length.ts'
import { timeFormat } from '../domain/csv/time-text.ts'
import { directionsOf, directionWords, type ObjectName } from '../domain/reading.ts'

const thousandsMarks = { comma: ',', point: '.', space: ' ', apostrophe: "'" } as const

/** Marks between cells by the names of the parameter. */
export const delimiterMarks = { comma: ',', semicolon: ';', tab: '\t', bar: '|' } as const

/** Rules and columns of a CSV body. */
export type CsvSubmission = { readonly rules: CsvRules; readonly choices: ColumnChoices }

const objectName = (id: string | undefined): ObjectName | null => (id === undefined ? null : { id })

/** Read the rules of a CSV body. `findZone` returns null for an unknown zone. Refuses invalid values with their parameter. */
export const readCsvQuery = (query: CsvQuery, findZone: (name: string) => TimeZone | null): Result<CsvSubmission> => {
  const { decimal = 'point', thousands } = query
  const invalid = (field: string, clause: string) => refused('field_invalid', `${field} ${clause}`, field)
  const zone = query.zone === undefined ? null : findZone(query.zone)
  if (zone === null && query.zone !== undefined)
    return invalid('zone', 'must be an IANA time zone, such as Europe/Oslo')
  const interval = query.interval === undefined ? null : readIntervalLength(query.interval)
  if (interval === undefined)
    return invalid('interval', 'must be P1D (a local day) or a duration up to 24 h, such as PT15M')
  const format = query.date_format === undefined ? null : timeFormat(query.date_format)
  if (format === undefined) return invalid('date_format', 'must have yyyy, MM and dd, such as dd.MM.yyyy HH:mm')
  const directions = query.direction === undefined ? null : directionsOf(query.direction)
  if (directions === undefined) return invalid('direction', `must be one of ${directionWords.join(', ')}`)
  if (decimal === thousands) return invalid('thousands', 'must be another mark than decimal')
  const choices = readColumnChoices(query.columns ?? '', isReadingField, readingFields)
  if ('problem' in choices) return refused('field_invalid', choices.problem, 'columns')
  const [where, words] = [readPairs(splitList(query.where ?? '')), readPairs(splitList(query.map ?? ''))]
  if ('problem' in where) return refused('field_invalid', where.problem, 'where')
  if ('problem' in words) return refused('field_invalid', words.problem, 'map')
  const rules: CsvRules = {
    layout: query.layout ?? 'long',
    location: objectName(query.location_id),
    device: objectName(query.device_id),
    unit: query.unit === undefined ? null : (unitOf(query.unit) ?? null),
    directions,
    interval,
    label: query.label ?? 'start',
    zone,
    format,
    marks: {
      decimal: decimal === 'comma' ? ',' : '.',
      thousands: thousands === undefined ? '' : thousandsMarks[thousands],
    },
    ambiguous: query.ambiguous ?? null,
    where: where.map(([heading, columnText]) => ({ heading, text: columnText })),
    words: new Map(words.map(([word, meaning]) => [word.toUpperCase(), meaning])),
    sum: query.sum ?? null,
    isRaw: query.raw === true,
  }
  return accepted({ rules, choices })
}
