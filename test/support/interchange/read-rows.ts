import { writeInstant } from '../../../services/domain/instant.ts'
import { type ColumnChoices, readColumnChoices } from '../../../services/interchange/domain/csv/columns.ts'
import { isReadingField, openCsvReadings } from '../../../services/interchange/domain/csv/csv-readings.ts'
import type { CsvRules } from '../../../services/interchange/domain/csv/csv-rules.ts'
import { isRefusedRow } from '../../../services/interchange/domain/reading.ts'
import { timeZone } from '../../../services/platform/time-zone.ts'

export const berlin = timeZone('Europe/Berlin')

const unset = { device: null, directions: null, interval: null, zone: null, format: null, ambiguous: null, sum: null }
export const plainRules: CsvRules = {
  ...unset,
  layout: 'long',
  location: { reference: 'depot' },
  unit: 'KWH',
  label: 'start',
  isRaw: false,
  where: [],
  words: new Map(),
  marks: { decimal: '.', thousands: '' },
}

/** Read the rows of a text with `|` between cells. Returns `start end value` of a reading, `line code` of a refusal. */
export const readRows = (text: string, rules: Partial<CsvRules>, columns = ''): readonly string[] => {
  const choices = readColumnChoices(columns, isReadingField, []) as ColumnChoices
  const [header = '', ...rows] = text.trim().split('\n')
  const cells = (row: string) => row.split('|').map(cell => cell.trim())
  const readings = openCsvReadings(cells(header), choices, { ...plainRules, ...rules })
  if ('problem' in readings) return [readings.problem]
  const data = readings.hasHeader ? rows : [header, ...rows]
  for (const [index, row] of data.entries()) readings.addRow(cells(row), index + (readings.hasHeader ? 2 : 1))
  readings.end()
  return readings.take().map(row => {
    if (isRefusedRow(row)) return `${row.line} ${row.code}`
    const end = row.end === row.start ? '' : ` ${writeInstant(row.end).slice(5, 16)}`
    return `${writeInstant(row.start).slice(5, 16)}${end} ${row.value}`
  })
}

export const quarter = { zone: berlin, interval: 900_000 }
export const hour = { zone: berlin, interval: 3_600_000 }
