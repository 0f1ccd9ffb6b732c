import type { CommandOption } from '../../../command-line/command.ts'
import { directionWords } from '../../domain/reading.ts'

/** Options of the form of a CSV file. */
export const csvFormOptions: Readonly<Record<string, CommandOption>> = {
  columns: {
    value: 'FIELD=HEADING,…',
    summary: 'Columns of the fields, by heading or number. "x=" ignores the column x.',
  },
  delimiter: {
    value: 'MARK',
    summary: 'Mark between cells. Default: from the header.',
    choices: [',', ';', 'tab', '|'],
  },
  encoding: { value: 'NAME', summary: 'Encoding, such as windows-1252. Default: UTF-8.' },
  'skip-lines': { value: 'N', summary: 'Lines before the header. Default: 0.' },
}

/** Options of a file with readings. */
export const readingOptions: Readonly<Record<string, CommandOption>> = {
  sheet: { value: 'NAME', summary: 'Worksheet of an XLSX file. Default: the first one.' },
  location: { value: 'ID', summary: 'Location of all readings: an id or an own reference.' },
  device: { value: 'ID', summary: 'Device of all readings: an id or an own reference.' },
  unit: { value: 'UNIT', summary: 'Unit of all values.', choices: ['WH', 'KWH', 'W', 'KW'] },
  direction: { value: 'WORD', summary: 'Direction of all readings. Default: IMPORT.', choices: directionWords },
  interval: {
    value: 'PT15M',
    summary: 'Length of the intervals, if the file has one time for each. P1D: the local day.',
  },
  label: { value: 'WHICH', summary: 'Meaning of a single time. Default: start.', choices: ['start', 'end'] },
  layout: {
    value: 'LAYOUT',
    summary: 'long: a row for each reading (default). wide: a row for each day.',
    choices: ['long', 'wide'],
  },
  zone: { value: 'ZONE', summary: 'Time zone of times without offset. Default: that of --location.' },
  'date-format': { value: 'FORMAT', summary: 'Form of times, of yyyy MM dd HH hh mm ss a n. Default: ISO 8601.' },
  ambiguous: { value: 'WHICH', summary: 'Times of a doubled hour that occur once.', choices: ['earlier', 'later'] },
  decimal: { value: 'MARK', summary: 'Decimal mark. Default: ".".', choices: ['.', ','] },
  where: {
    value: 'COLUMN=TEXT',
    summary: 'Read only rows with this text in the column. Can be repeated.',
    isRepeatable: true,
  },
  map: {
    value: 'WORD=WORD',
    summary:
      'Word of the file for a unit, a direction, a confidence, true or withdrawn, such as Afname=IMPORT. Can be repeated.',
    isRepeatable: true,
  },
  sum: {
    value: 'HEADING',
    summary: 'Column of the registers of a meter. Rows that differ in it alone are added.',
  },
  raw: { summary: 'The file is an export with --raw: no apostrophe guards its texts.' },
  thousands: { value: 'MARK', summary: 'Mark between thousands. Default: none.', choices: [',', '.', ' ', "'"] },
}
