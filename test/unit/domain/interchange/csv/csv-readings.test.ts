import { describe, expect, it } from 'vitest'
import { writeInstant } from '../../../../../services/domain/instant.ts'
import { type ColumnChoices, readColumnChoices } from '../../../../../services/domain/interchange/csv/columns.ts'
import { isReadingField, openCsvReadings } from '../../../../../services/domain/interchange/csv/csv-readings.ts'
import type { CsvRules } from '../../../../../services/domain/interchange/csv/csv-rules.ts'
import { timeFormat } from '../../../../../services/domain/interchange/csv/time-text.ts'
import { isRefusedRow } from '../../../../../services/domain/interchange/reading.ts'
import { timeZone } from '../../../../../services/platform/time-zone.ts'

const berlin = timeZone('Europe/Berlin')

const plainRules: CsvRules = {
  ...{ layout: 'long', location: { reference: 'depot' }, device: null, unit: 'KWH', directions: null },
  ...{ intervalMs: null, label: 'start', zone: null, format: null, ambiguous: null },
  marks: { decimal: '.', thousands: '' },
}

/** Read the rows of a text with `|` between cells. Returns `start end value` of a reading, `line code` of a refusal. */
const read = (text: string, rules: Partial<CsvRules>, columns = ''): readonly string[] => {
  const choices = readColumnChoices(columns, isReadingField, []) as ColumnChoices
  const [header = '', ...rows] = text.trim().split('\n')
  const cells = (row: string) => row.split('|').map(cell => cell.trim())
  const readings = openCsvReadings(cells(header), choices, { ...plainRules, ...rules })
  if ('problem' in readings) return [readings.problem]
  for (const [index, row] of rows.entries()) readings.addRow(cells(row), index + 2)
  readings.end()
  return readings.take().map(row => {
    if (isRefusedRow(row)) return `${row.line} ${row.code}`
    const end = row.end === row.start ? '' : ` ${writeInstant(row.end).slice(5, 16)}`
    return `${writeInstant(row.start).slice(5, 16)}${end} ${row.value}`
  })
}

const quarter = { zone: berlin, intervalMs: 900_000 }
const hour = { zone: berlin, intervalMs: 3_600_000 }

describe('rows with one reading', () => {
  it('have instants with offsets, and are refused by line', () => {
    const text = `
      start                     | end                       | value
      2026-01-10T00:00:00Z      | 2026-01-10T01:00:00+00:30 | 1.50
      2026-01-10T00:15:00Z      | 2026-01-10T00:00:00Z      | 1
      2026-01-10T00:15:00Z      | 2026-01-10T00:15:00Z      | 1
      2026-01-10T00:15:00Z      | 2026-01-10T00:30:00Z      | 1,5
      yesterday                 | 2026-01-10T00:30:00Z      | 1
      2026-01-10T00:15:00       | 2026-01-10T00:30:00       | 1
      2026-01-10T00:15:00Z      | 2026-01-10T00:30:00Z      |
      2026-01-10T00:15:00Z      | 2026-01-10T00:30:00Z`
    expect(read(text, {})).toEqual([
      ...['01-10T00:00 01-10T00:30 1.50', '3 end_before_start', '4 zero_duration', '5 not_a_number', '6 not_a_time'],
      ...['7 not_a_time', '9 wrong_columns'],
    ])
  })

  it('of the two runs of a doubled hour have the earlier offset first', () => {
    const rows = ['01:45', '02:00', '02:15', '02:30', '02:45', '02:00', '02:15', '02:30', '02:45', '03:00']
    const text = `start|value\n${rows.map((time, index) => `2026-10-25 ${time}|${index}`).join('\n')}`
    expect(read(text, quarter)).toEqual(
      // 01:45 summer time is 23:45Z, and the ten quarters follow each other without a gap.
      rows.map((_, index) => {
        const start = Date.UTC(2026, 9, 24, 23, 45) + index * 900_000
        return `${writeInstant(start).slice(5, 16)} ${writeInstant(start + 900_000).slice(5, 16)} ${index}`
      }),
    )
  })

  it('of a doubled hour in descending order have the later offset first', () => {
    const text = ['03:00', '02:00', '02:00', '01:00'].map(time => `2026-10-25 ${time}|1`).join('\n')
    expect(read(`start|value\n${text}`, hour).map(row => row.slice(6, 11))).toEqual([
      '02:00',
      '01:00',
      '00:00',
      '23:00',
    ])
  })

  it('of a lone run are ambiguous, unless the user decides', () => {
    const text = 'start|value\n2026-10-25 01:00|1\n2026-10-25 02:00|2\n2026-10-25 03:00|3'
    expect(read(text, hour)[1]).toBe('3 ambiguous_time')
    expect(read(text, { ...hour, ambiguous: 'earlier' })[1]).toContain('10-25T00:00')
    expect(read(text, { ...hour, ambiguous: 'later' })[1]).toContain('10-25T01:00')
  })

  it('of two meters have runs of their own', () => {
    const rows = ['a|02:00', 'b|02:00', 'a|02:00', 'b|02:00'].map(row => `${row.replace('|', '|2026-10-25 ')}|1`)
    const starts = read(`device_reference|start|value\n${rows.join('\n')}`, hour).map(row => row.slice(6, 11))
    expect(starts).toEqual(['00:00', '00:00', '01:00', '01:00'])
  })

  it('in a skipped hour do not exist, and an end is read with the offset of its start', () => {
    const text = `
      start            | end              | value
      2026-03-29 01:45 | 2026-03-29 02:00 | 1
      2026-03-29 02:15 | 2026-03-29 02:30 | 1
      2026-03-29 01:45 | 2026-03-29 03:00 | 1
      2026-10-25 02:45 | 2026-10-25 03:00 | 1
      2026-10-25 02:45 | 2026-10-25 03:00 | 1`
    expect(read(text, { zone: berlin })).toEqual([
      ...['03-29T00:45 03-29T01:00 1', '3 no_such_time', '03-29T00:45 03-29T01:00 1'],
      ...['10-25T00:45 10-25T01:00 1', '10-25T01:45 10-25T02:00 1'],
    ])
  })

  it('can have ends only, formats and marks of their country', () => {
    const format = timeFormat('dd.MM.yyyy HH:mm') ?? null
    const rules = { ...quarter, format, label: 'end', marks: { decimal: ',', thousands: '.' } } as const
    const text = 'time|value\n01.06.2026 00:15|1.234,50\n01.06.2026 24:00|,5\n01.06.2026 00:30|1.23,4'
    expect(read(text, rules)).toEqual([
      '05-31T22:00 05-31T22:15 1234.50',
      '06-01T21:45 06-01T22:00 0.5',
      '4 not_a_number',
    ])
  })

  it('of a register have one time', () => {
    const text = 'time|register|unit\n2026-06-01T00:00:00Z|000100.5|WH\n2026-06-01T01:00:00Z||WH'
    expect(read(text, {})).toEqual(['06-01T00:00 100.5'])
  })

  it('need columns that give a reading', () => {
    expect(read('start|value\n', {})[0]).toContain('--interval PT15M')
    expect(read('start|end|value\n', { unit: null })[0]).toContain('--unit')
    expect(read('start|end|value\n', { location: null })[0]).toContain('--location')
    expect(read('start|end|kwh\n', {})[0]).toContain(
      '--columns value=HEADING. The file has the columns start, end, kwh.',
    )
    const wide = Array.from({ length: 21 }, (_, index) => `h${index}`.padEnd(60, 'x'))
    expect(read(`${wide.join('|')}\n`, {})[0]).toMatch(/ h0x{38}, .* h19x{37}, …\.$/)
    expect(read('start|end|kwh\n', {}, 'value=energy')[0]).toContain('no column "energy"')
  })
})

describe('rows of a day', () => {
  const wide = { layout: 'wide', zone: berlin } as const
  const hours = Array.from({ length: 24 }, (_, index) => `${String(index).padStart(2, '0')}:00`)

  it('have the second run of a doubled hour in a column of its own', () => {
    const text = `day|${hours.join('|')}|02:00B\n2026-10-25|${hours.map((_, index) => index).join('|')}|99`
    const rows = read(text, wide)
    expect(rows).toHaveLength(25)
    expect([rows[2], rows[24], rows[3]]).toEqual([
      ...['10-25T00:00 10-25T01:00 2', '10-25T01:00 10-25T02:00 99', '10-25T02:00 10-25T03:00 3'],
    ])
  })

  it('refuse a value in a skipped hour, in a second run of another day, and of a lone doubled hour', () => {
    const text = `day|02:00|02:00B|03:00\n2026-03-29|1||2\n2026-06-01|1|2|3`
    expect(read(text, { ...wide, intervalMs: 3_600_000 }).filter(row => row.includes('_'))).toEqual([
      ...['2 no_such_time', '3 no_such_time'],
    ])
    expect(read('day|02:00\n2026-10-25|1', { ...wide, intervalMs: 3_600_000 })).toEqual(['2 ambiguous_time'])
  })

  it('count elapsed time if their columns are numbered, and must have the values of the day', () => {
    const numbers = (count: number) => Array.from({ length: count }, (_, index) => index + 1)
    const row = (day: string, count: number) => [day, ...numbers(count), ...Array(25 - count).fill('')].join('|')
    const text = [`day|${numbers(25).join('|')}`, row('2026-10-25', 25), row('2026-06-01', 24), row('2026-03-29', 23)]
    expect(read(text.join('\n'), wide)).toHaveLength(25 + 24 + 23)
    expect(read([text[0], row('2026-03-29', 24), row('2026-06-01', 25)].join('\n'), wide)).toEqual([
      ...['2 wrong_columns', '3 wrong_columns'],
    ])
  })
})
