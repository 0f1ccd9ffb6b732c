import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { guessColumns } from '../../../../../services/interchange/domain/csv/guess-columns.ts'

const guess = (...lines: readonly string[]) => {
  const [header = [], ...rows] = lines.map(line => line.split(';'))
  return guessColumns(header, rows)
}

const textsOf = ({ missing }: Pick<ReturnType<typeof guess>, 'missing'>): string =>
  missing.map(({ text }) => text).join('\n')

const hours = ['2026-03-01T00:00:00Z', '2026-03-01T01:00:00Z', '2026-03-01T02:00:00Z']
const hourly = (header: string, ...cells: readonly string[]) =>
  guess(header, ...hours.map((hour, index) => `${hour};${cells[index] ?? ''}`))

describe('the guess of columns', () => {
  it.each([
    [
      'local days with a decimal comma',
      ['Datum;Verbrauch kWh', '01.03.2026;24', '02.03.2026;25,5', '03.03.2026;25'],
      {
        columns: 'start=Datum,value=Verbrauch kWh',
        unit: 'KWH',
        'date-format': 'dd.MM.yyyy',
        interval: 'P1D',
        decimal: ',',
      },
    ],
    [
      'both times, and a price beside the energy',
      [
        'Start;Ende;Menge kWh;Preis EUR',
        '2026-03-01T00:00:00Z;2026-03-01T01:00:00Z;1;0.2',
        '2026-03-01T01:00:00Z;2026-03-01T03:00:00Z;2;0.3',
      ],
      { columns: 'start=Start,end=Ende,value=Menge kWh', unit: 'KWH' },
    ],
    [
      'date and time of two columns, bought and sold energy',
      ['Date;Time;Import (Wh);Export (Wh)', '2026-03-01;00:00;1;0', '2026-03-01;00:30;1;2', '2026-03-01;01:00;2;0'],
      { columns: 'start=Date+Time,value=Import (Wh),value_export=Export (Wh)', unit: 'WH', interval: 'PT30M' },
    ],
    [
      'an end of the interval by its heading, and the order of the date by a day above 12',
      ['End;Power kW', '12/31/2026 00:15;1', '12/31/2026 00:30;1'],
      { columns: 'end=End,value=Power kW', unit: 'KW', 'date-format': 'MM/dd/yyyy HH:mm', interval: 'PT15M' },
    ],
    [
      'a counter by its heading',
      ['time;Zählerstand kWh', `${hours[0]};12000`, `${hours[1]};12001`],
      { columns: 'time=time,register=Zählerstand kWh', unit: 'KWH' },
    ],
    [
      'a column of units',
      ['time;energy;unit', `${hours[0]};1;kWh`, `${hours[1]};2;Wh`],
      { columns: 'start=time,value=energy,unit=unit', interval: 'PT1H' },
    ],
  ])('finds %s', (_, lines, options) => {
    expect(guess(...lines)).toMatchObject({ options, missing: [] })
  })

  it.each([
    [
      'the order of day and month',
      /can be a day and a month.*MM\/dd/,
      ['time;kWh', '01/02/2026 00:00;1', '01/02/2026 01:00;2'],
    ],
    [
      'energy or a counter',
      /can be a counter/,
      ['time;kWh', `${hours[0]};9000`, `${hours[1]};9001`, `${hours[2]};9002`],
    ],
    [
      'energy or a counter of a meter that was exchanged',
      /can be a counter/,
      [
        'day;kWh',
        ...[12_300, 12_304.8, 12_309.5, 12_314.1, 0.2, 4.2, 8.2].map((value, at) => `2026-03-0${at + 1};${value}`),
      ],
    ],
    [
      'another unit',
      /"Gas \(m³\)" names the unit m³, which readings cannot have/,
      ['time;Gas (m³)', `${hours[0]};1`, `${hours[1]};2`],
    ],
    [
      'two quantities',
      /--where 'Type=Gas' or --where 'Type=Power'/,
      ['time;Type;kWh', `${hours[0]};Gas;1`, `${hours[0]};Power;2`],
    ],
    ['two values', /Several columns can be the value: "A kWh", "B kWh"/, ['time;A kWh;B kWh', `${hours[0]};1;2`]],
    ['equal headings', /value=2'/, ['time;kWh;kWh', `${hours[0]};1;2`]],
    ['the unit', /No heading names the unit/, ['time;energy', `${hours[0]};1`, `${hours[1]};1`]],
    ['units that differ', /units of .* differ/, ['time;Import kWh;Export Wh', `${hours[0]};1;2`]],
    ['the length', /do not prove the length/, ['time;kWh', `${hours[0]};1`, '2026-03-01T00:07:00Z;1']],
    [
      'decimals or thousands',
      /"1.234" can have decimals or thousands/,
      ['time;kWh', `${hours[0]};1.234`, `${hours[1]};2.100`],
    ],
    ['a counter that falls', /can be a counter/, ['time;Reading kWh', `${hours[0]};2`, `${hours[1]};1`]],
    [
      'sold energy or own generation',
      /--direction EXPORT or LOCAL/,
      ['time;Production kWh', `${hours[0]};3`, `${hours[1]};1`],
    ],
    ['meters with numbers', /Several rows have one time/, ['time;EAN;kWh', `${hours[0]};54;1`, `${hours[0]};55;1`]],
    [
      'which time counts',
      /Several columns have times: "created", "time"/,
      ['created;time;kWh', `2026-04-01T00:00:00Z;${hours[0]};2`, `2026-04-01T01:00:00Z;${hours[1]};1`],
    ],
    [
      'two clocks of which none is named',
      /Several columns have times/,
      ['time (UTC);time (local);kWh', `${hours[0]};${hours[1]};2`, `${hours[1]};${hours[2]};1`],
    ],
    [
      'two clock times',
      /Several columns have times/,
      ['Day;A;B;kWh', '2026-03-01;00:00;01:00;2', '2026-03-02;01:00;00:00;1'],
    ],
    ['times', /No column has times/, ['a;kWh', 'x;1']],
    ['numbers', /No column has numbers/, ['time;kWh', `${hours[0]};x`]],
  ])('asks for what the rows do not prove: %s', (_, sentence, lines) => {
    expect(textsOf(guess(...lines))).toMatch(sentence)
  })

  it('says that a single time is taken as the start, unless its heading says so', () => {
    expect(hourly('time;kWh', '3', '1', '2').doubts).toEqual([expect.stringMatching(/taken as the start/)])
    expect(hourly('start;kWh', '3', '1', '2').doubts).toEqual([])
  })

  it('names the columns of a file without headings by their numbers', () => {
    const { options } = guess(...hours.map((hour, index) => `${hour};${3 - index}`))
    expect(options).toMatchObject({ columns: 'start=1,value=2', interval: 'PT1H' })
  })

  it('never decides the order of a date that can be read in two orders', () => {
    const part = fc.integer({ min: 1, max: 12 })
    const date = fc.tuple(part, part).filter(([a, b]) => a !== b)
    fc.assert(
      fc.property(fc.array(date, { minLength: 2, maxLength: 20 }), fc.constantFrom('/', '-'), (dates, mark) => {
        const two = (value: number) => String(value).padStart(2, '0')
        const lines = dates.map(([a, b], index) => `${two(a)}${mark}${two(b)}${mark}2026 ${two(index)}:00;1`)
        const { options, missing } = guess('time;kWh', ...lines)
        expect(textsOf({ missing })).toMatch(/can be a day and a month/)
        expect(options).not.toHaveProperty('date-format')
      }),
    )
  })
})
