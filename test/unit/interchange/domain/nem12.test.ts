import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { nem12Headings, nem12Reader } from '../../../../services/interchange/domain/nem12.ts'
import type { SourceRow } from '../../../../services/interchange/domain/reading.ts'

const header = '100,NEM12,202604060000,MDP1,RETAILER'
const meter = (suffix = 'E1', minutes: number | string = 30, unit = 'KWH', nmi = '6102000001') =>
  `200,${nmi},E1E2B1Q1,1,${suffix},N1,METER1,${unit},${minutes},`
const valuesOf = (count: number, value = '0.1') => new Array(count).fill(value).join(',')
const day = (date = '20260405', quality = 'A', values = valuesOf(48)) =>
  `300,${date},${values},${quality},,,20260406000000,`

const read = (lines: readonly string[], hasMeters = false) => {
  const reader = nem12Reader(hasMeters)
  const rows: SourceRow[] = lines.flatMap((line, index) => [...reader.add(line.split(','), index + 1)])
  return { rows: [...rows, ...reader.end()], noted: reader.noted() }
}

const member = ({ cells }: SourceRow, heading: (typeof nem12Headings)[number]) => cells[nem12Headings.indexOf(heading)]
const refusals = (lines: readonly string[], hasMeters = false) =>
  read(lines, hasMeters).rows.flatMap(({ refusal }) => (refusal === undefined ? [] : [[refusal.line, refusal.code]]))

describe('a day of NEM12', () => {
  it.each([
    [5, 288],
    [15, 96],
    [30, 48],
  ])('of %i min has %i intervals in market time, also if clocks change', (minutes, count) => {
    const { rows } = read([header, meter('E1', minutes), day('20260405', 'A', valuesOf(count)), '900'])
    expect(rows).toHaveLength(count)
    expect([member(rows[0] as SourceRow, 'Start'), member(rows.at(-1) as SourceRow, 'End')]).toEqual([
      '2026-04-05T00:00:00+10:00',
      '2026-04-06T00:00:00+10:00',
    ])
    for (const [index, row] of rows.slice(1).entries())
      expect(member(row, 'Start')).toBe(member(rows[index] as SourceRow, 'End'))
  })

  it('has the direction of its suffix: the market exports to the customer', () => {
    const { rows, noted } = read([header, meter('E2'), day(), meter('b1'), day(), meter('Q1'), day(), '900'])
    expect(rows.map(row => `${member(row, 'Suffix')} ${member(row, 'Direction')}`)).toEqual([
      ...new Array(48).fill('E2 IMPORT'),
      ...new Array(48).fill('B1 EXPORT'),
    ])
    expect(noted.map(({ path }) => path)).toEqual(['/6102000001/Q1'])
  })

  it('in MWH becomes KWH with the same digits', () => {
    const [row] = read([header, meter('E1', 30, 'MWh'), day('20260405', 'A', valuesOf(48, '0.0125')), '900']).rows
    expect(row && [member(row, 'Value'), member(row, 'Unit')]).toEqual(['0.0125e3', 'KWH'])
  })

  it('has the quality of its 400 lines, and no value for the quality N', () => {
    const lines = [header, meter(), day('20260405', 'V'), '400,1,20,A,,', '400,21,22,N,,', '400,23,48,S14,32,', '900']
    const qualities = read(lines).rows.map(row => `${member(row, 'Quality')}${member(row, 'Value')}`)
    expect(qualities).toEqual([...new Array(20).fill('A0.1'), 'N', 'N', ...new Array(26).fill('S0.1')])
  })

  it('ranges of 400 lines win in file order over the quality of the day', () => {
    const range = fc.tuple(
      fc.integer({ min: 1, max: 48 }),
      fc.integer({ min: 1, max: 48 }),
      fc.constantFrom('A', 'S', 'E', 'F'),
    )
    fc.assert(
      fc.property(fc.array(range, { maxLength: 5 }), ranges => {
        const sorted = ranges.map(([a, b, flag]) => [Math.min(a, b), Math.max(a, b), flag] as const)
        const lines = [header, meter(), day(), ...sorted.map(([a, b, flag]) => `400,${a},${b},${flag}52,,`), '900']
        const expected = Array.from({ length: 48 }, (_, index) => {
          const last = sorted.findLast(([a, b]) => a <= index + 1 && index + 1 <= b)
          return last?.[2] ?? 'A'
        })
        expect(read(lines).rows.map(row => member(row, 'Quality'))).toEqual(expected)
      }),
    )
  })
})

describe('a line of NEM12 is refused', () => {
  it.each([
    ['a 300 line without a meter', [header, day(), '900'], [[2, 'field_invalid']]],
    ['another interval length', [header, meter('E1', 60), day(), '900'], [[3, 'field_invalid']]],
    ['too few values', [header, meter('E1', 15), day(), '900'], [[3, 'wrong_columns']]],
    ['too many values', [header, meter(), day('20260405', 'A', valuesOf(96)), '900'], [[3, 'wrong_columns']]],
    ['no such day', [header, meter(), day('20260431'), '900'], [[3, 'not_a_time']]],
    ['a day with hyphens', [header, meter(), day('2026-04-30'), '900'], [[3, 'not_a_time']]],
    ['a quality without a range', [header, meter(), day('20260405', 'V'), '400,1,47,A', '900'], [[3, 'field_invalid']]],
    ['a range outside of the day', [header, meter(), day(), '400,40,49,A', '900'], [[4, 'field_invalid']]],
    ['another kind', [header, meter(), '250,x', day(), '900'], [[3, 'field_invalid']]],
    ['a missing 900 line', [header, meter(), day()], [[3, 'field_invalid']]],
  ])('%s', (_, lines, expected) => {
    expect(refusals(lines)).toEqual(expected)
  })

  it('of a second NMI, unless the import separates them', () => {
    const lines = [header, meter(), day(), meter('E2', 30, 'KWH', '6102000002'), day(), '900']
    expect(refusals(lines)).toEqual([[5, 'field_invalid']])
    expect(refusals(lines, true)).toEqual([])
  })
})
