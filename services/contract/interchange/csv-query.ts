import type { z } from 'zod'
import type { TimeZone } from '../../domain/civil-time.ts'
import {
  type ColumnChoices,
  readColumnChoices,
  readingFields,
  readPairs,
  splitList,
} from '../../domain/interchange/csv/columns.ts'
import { isReadingField } from '../../domain/interchange/csv/csv-readings.ts'
import { type CsvRules, unitOf } from '../../domain/interchange/csv/csv-rules.ts'
import { readIntervalLength } from '../../domain/interchange/csv/interval-length.ts'
import { timeFormat } from '../../domain/interchange/csv/time-text.ts'
import { directionsOf, directionWords, type ObjectName } from '../../domain/interchange/reading.ts'
import { accepted, type Result, refused } from '../../domain/refusal.ts'
import { oneOf, text } from '../field.ts'
import { flag, parameters, wholeNumber } from '../parameter.ts'

/** Parameters of a body in text/csv. They have the meaning of the options of `npx wattledger import readings`. */
export const csvParameters = parameters({
  columns: text().optional().describe('Columns of a CSV body: field=heading, separated by commas.'),
  location_id: text().optional().describe('Location of all rows of a CSV body.'),
  device_id: text().optional().describe('Device of all rows of a CSV body.'),
  unit: oneOf('WH', 'KWH', 'W', 'KW').optional().describe('Unit of all rows of a CSV body.'),
  direction: text().optional().describe('Direction of all rows of a CSV body. Default: IMPORT.'),
  interval: text()
    .optional()
    .describe('Length of the intervals of a CSV body with single times, such as PT15M, or P1D.'),
  label: oneOf('start', 'end').optional().describe('What a single time of a CSV body is. Default: start.'),
  layout: oneOf('long', 'wide').optional().describe('wide: a row of a CSV body is a day. Default: long.'),
  zone: text().optional().describe('Time zone of times without an offset in a CSV body.'),
  date_format: text().optional().describe('Form of times in a CSV body, such as dd.MM.yyyy HH:mm.'),
  ambiguous: oneOf('earlier', 'later').optional().describe('Times of a doubled hour that occur once in a CSV body.'),
  delimiter: oneOf('comma', 'semicolon', 'tab', 'bar')
    .optional()
    .describe('Mark between cells. Default: from the header.'),
  decimal: oneOf('point', 'comma').optional().describe('Decimal mark of a CSV body. Default: a point.'),
  thousands: oneOf('comma', 'point', 'space', 'apostrophe')
    .optional()
    .describe('Mark between thousands of a CSV body. Default: none.'),
  where: text().optional().describe('Rows of a CSV body to read: COLUMN=TEXT, separated by commas.'),
  map: text().optional().describe('Words of a CSV body for units and directions: WORD=WORD, separated by commas.'),
  sum: text()
    .optional()
    .describe('Column of the registers of a meter in a CSV body. Rows that differ in it alone are added.'),
  raw: flag.optional().describe('The CSV body is an export with raw=true: no apostrophe guards its texts.'),
  skip_lines: wholeNumber({ min: 0, max: 9_999 }).optional().describe('Lines before the header of a CSV body.'),
})

const thousandsMarks = { comma: ',', point: '.', space: ' ', apostrophe: "'" } as const

/** Marks between cells by the names of the parameter. */
export const delimiterMarks = { comma: ',', semicolon: ';', tab: '\t', bar: '|' } as const

/** Validated parameters of a CSV body. */
export type CsvQuery = z.output<typeof csvParameters>

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
