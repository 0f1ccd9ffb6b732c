import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { TimeZone } from '../../../../../services/domain/civil-time.ts'
import { writeInstant } from '../../../../../services/domain/instant.ts'
import { dayMs } from '../../../../../services/domain/interval.ts'
import { sumNumberTexts } from '../../../../../services/interchange/domain/csv/number-text.ts'
import { timeFormat } from '../../../../../services/interchange/domain/csv/time-text.ts'
import { timeZone } from '../../../../../services/platform/time-zone.ts'

import { berlin, hour, quarter, readRows as read } from '../../../../support/interchange/read-rows.ts'

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

describe('rows of a local day', () => {
  const day = (zone: TimeZone | null) => ({ zone, interval: 'local_day' }) as const

  it('have 23, 24 or 25 hours, whatever a single time is', () => {
    const spring = ['03-27T23:00 03-28T23:00 24', '03-28T23:00 03-29T22:00 24', '03-29T22:00 03-30T22:00 24']
    const rows = ['2026-03-28|24', '2026-03-29|24', '2026-03-30|24']
    expect(read(['day|kWh', ...rows].join('\n'), day(berlin), 'start=day,value=kWh')).toEqual(spring)
    const ends = ['2026-03-29 00:00|24', '2026-03-30 00:00|24', '2026-03-30 24:00|24']
    expect(read(['end|value', ...ends].join('\n'), day(berlin))).toEqual(spring)
    const autumn = ['10-23T22:00 10-24T22:00 24', '10-24T22:00 10-25T23:00 24', '10-25T23:00 10-26T23:00 24']
    const october = ['2026-10-24|24', '2026-10-25|24', '2026-10-26|24']
    expect(read(['start|value', ...october].join('\n'), day(berlin))).toEqual(autumn)
    const wide = { layout: 'wide', zone: berlin } as const
    for (const heading of ['00:00', '1']) expect(read([`day|${heading}`, ...october].join('\n'), wide)).toEqual(autumn)
    expect(read(['day|24:00', ...october].join('\n'), { ...wide, label: 'end' })).toEqual(autumn)
  })

  it('begin when the clock skips or repeats midnight', () => {
    // The clock of Havana shows 00:00 twice on 1 November 2026. The clock of Beirut skips 00:00 on 29 March 2026.
    expect(read('start|value\n2026-11-01|25', day(timeZone('America/Havana')))).toEqual(['11-01T04:00 11-02T05:00 25'])
    expect(read('start|value\n2026-03-29|23', day(timeZone('Asia/Beirut')))).toEqual(['03-28T22:00 03-29T21:00 23'])
  })

  it('that begin at another hour end at this hour of the next day', () => {
    const rows = 'start|value\n2026-03-28 06:00|1\n2026-03-29 06:00|1'
    expect(read(rows, day(berlin))).toEqual(['03-28T05:00 03-29T04:00 1', '03-29T04:00 03-30T04:00 1'])
  })

  it('follow each other without a gap in every zone', () => {
    const property = fc.property(
      fc.constantFrom(...Intl.supportedValuesOf('timeZone')),
      fc.nat(9_000),
      (name, from) => {
        const zone = timeZone(name)
        if (zone === null) return
        const days = Array.from({ length: 40 }, (_, index) =>
          writeInstant((11_000 + from + index) * dayMs).slice(0, 10),
        )
        // A clock change can skip a whole day, which then has no interval.
        const rows = read(`start|value\n${days.map(text => `${text}|1`).join('\n')}`, day(zone)).filter(
          row => !row.includes('zero_duration'),
        )
        expect(rows.map(row => row.split(' ')[0]).slice(1)).toEqual(rows.map(row => row.split(' ')[1]).slice(0, -1))
      },
    )
    fc.assert(property, { numRuns: 100 })
  })
})

describe('ends of sessions in a doubled hour', () => {
  const text = 'session|start|end|value\na|2026-10-24 23:31|2026-10-25 02:31|4\nb|2026-10-25 03:00|2026-10-25 04:00|1'

  it('follow the choice of the user, or are refused', () => {
    expect(read(text, { zone: berlin })[0]).toBe('2 ambiguous_time')
    expect(read(text, { zone: berlin, ambiguous: 'earlier' })[0]).toBe('10-24T21:31 10-25T00:31 4')
    expect(read(text, { zone: berlin, ambiguous: 'later' })[0]).toBe('10-24T21:31 10-25T01:31 4')
  })

  it('are never before their start', () => {
    // The start is the later 02:40, so that 02:50 is the later one too.
    const rows = 'session|start|end|value\na|2026-10-25T02:40:00+01:00|2026-10-25 02:50|1'
    for (const ambiguous of ['earlier', 'later'] as const)
      expect(read(rows, { zone: berlin, ambiguous })).toEqual(['10-25T01:40 10-25T01:50 1'])
    expect(read(rows, { zone: berlin })).toEqual(['10-25T01:40 10-25T01:50 1'])
  })

  it('that the clock shows once are exact: 23:30 to 03:00 takes 4.5 hours', () => {
    expect(read('start|end|value\n2026-10-24 23:30|2026-10-25 03:00|1', { zone: berlin })).toEqual([
      '10-24T21:30 10-25T02:00 1',
    ])
  })
})

describe('columns', () => {
  it('by number of a file without headings begin with the first row', () => {
    const rows = '2026-04-01T00:00:00Z|10\n2026-04-01T01:00:00Z|20\n2026-04-01T02:00:00Z|30'
    const all = ['04-01T00:00 04-01T01:00 10', '04-01T01:00 04-01T02:00 20', '04-01T02:00 04-01T03:00 30']
    expect(read(rows, hour, 'start=1,value=2')).toEqual(all)
    expect(read(`from|kWh\n${rows}`, hour, 'start=1,value=2')).toEqual(all)
    // The value 2 of the first row is not the heading of column 2.
    expect(read('2026-04-01T00:00:00Z|7|2\n2026-04-01T01:00:00Z|8|2', hour, 'start=1,value=2')).toEqual([
      ...['04-01T00:00 04-01T01:00 7', '04-01T01:00 04-01T02:00 8'],
    ])
  })

  it('with one heading must be named by number', () => {
    const text = 'time|kWh|kWh\n2026-04-01T00:00:00Z|1|2'
    expect(read(text, hour, 'value=kWh')[0]).toBe(
      'The columns 2 and 3 have the heading "kWh". Name one by its number, such as 3.',
    )
    expect(read(text, hour, 'value=3')).toEqual(['04-01T00:00 04-01T01:00 2'])
    expect(read('time|value|value\n2026-04-01T00:00:00Z|1|2', hour)[0]).toContain('--columns value=2')
  })

  it('are joined: values exactly, dates and times with a space', () => {
    const text = `
      date       | time  | T1    | T2
      2026-04-01 | 00:00 | 0.1   | 0.2
      2026-04-01 | 01:00 | 1e-3  |
      2026-04-01 | 02:00 |       |
      2026-04-01 | 03:00 | 12    | -12
      2026-04-01 | 04:00 | x     | 1`
    const utc = { zone: timeZone('UTC'), interval: 3_600_000 }
    expect(read(text, utc, 'start=date+time,value=T1+T2')).toEqual([
      ...[
        '04-01T00:00 04-01T01:00 0.3',
        '04-01T01:00 04-01T02:00 0.001',
        '04-01T03:00 04-01T04:00 0',
        '6 not_a_number',
      ],
    ])
    const registers = 'time|A|B\n2026-04-01T00:00:00Z|100.5|0.25\n2026-04-01T01:00:00Z||0.5\n2026-04-01T02:00:00Z||'
    expect(read(registers, {}, 'register=A+B')).toEqual(['04-01T00:00 100.75', '3 not_a_number'])
    expect(read('time|A+B|A|B\n2026-04-01T00:00:00Z|5|1|1', hour, 'value=A+B')).toEqual(['04-01T00:00 04-01T01:00 5'])
    expect(read(registers, {}, 'register=A+C')[0]).toContain('no column "C"')
    expect(read(registers, {}, 'register=A+A')[0]).toContain('names the column "A" twice')
  })

  it('can have a delimiter at the end of rows or of the header', () => {
    expect(read('start|value\n2026-04-01T00:00:00Z|1|', hour)).toEqual(['04-01T00:00 04-01T01:00 1'])
    expect(read('start|value|\n2026-04-01T00:00:00Z|1', hour)).toEqual(['04-01T00:00 04-01T01:00 1'])
    expect(read('start|value\n2026-04-01T00:00:00Z|1|2', hour)).toEqual(['2 wrong_columns'])
  })

  it('have seconds since 1970 as times, and no-break spaces between thousands', () => {
    const marks = { decimal: ',', thousands: ' ' } as const
    expect(read('start|value\n1775001600|1\u00a0234,5\n1775005200|1\u202f234\n17750|1', { ...hour, marks })).toEqual([
      ...['04-01T00:00 04-01T01:00 1234.5', '04-01T01:00 04-01T02:00 1234', '4 not_a_time'],
    ])
  })
})

describe('the exact sum of numbers', () => {
  it('equals their sum as integers of a small unit', () => {
    const number = fc.tuple(fc.integer({ min: -1_000_000, max: 1_000_000 }), fc.nat(6))
    const textOf = ([digits, scale]: readonly [number, number]) => `${digits}e-${scale}`
    fc.assert(
      fc.property(fc.array(number, { minLength: 1, maxLength: 4 }), numbers => {
        const expected = numbers.reduce((sum, [digits, scale]) => sum + digits * 10 ** (6 - scale), 0)
        const [whole = '', fraction = ''] = sumNumberTexts(numbers.map(textOf)).split('.')
        expect(Number(`${whole}${fraction.padEnd(6, '0')}`)).toBe(Math.round(expected) + 0)
      }),
    )
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
    expect(read(text, { ...wide, interval: 3_600_000 }).filter(row => row.includes('_'))).toEqual([
      ...['2 no_such_time', '3 no_such_time'],
    ])
    expect(read('day|02:00\n2026-10-25|1', { ...wide, interval: 3_600_000 })).toEqual(['2 ambiguous_time'])
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
