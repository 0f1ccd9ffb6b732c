import { describe, expect, it } from 'vitest'
import {
  days,
  dayTypes,
  namedDays,
  numberFormat,
  powerSteps,
  readText,
  type TextFormat,
  writeText,
} from '../../../services/console/objects/line-formats.ts'

const again = (format: TextFormat, text: string): string => writeText(format, readText(format, text))

describe('the texts of a form', () => {
  it('are read and written without a change', () => {
    expect(again(namedDays, '2026-12-24 Christmas Eve\n2026-12-31 Last day')).toBe(
      '2026-12-24 Christmas Eve\n2026-12-31 Last day',
    )
    expect(again(days, '2026-08-15\n2026-11-01')).toBe('2026-08-15\n2026-11-01')
    expect(again(dayTypes, 'fair: 2026-09-19, 2026-09-20')).toBe('fair: 2026-09-19, 2026-09-20')
    expect(again(powerSteps, '0 125\n2.5 206.1')).toBe('0 125\n2.5 206.1')
    expect(again(numberFormat, '9.900000001')).toBe('9.900000001')
  })

  it('may have spaces, empty lines and line ends of browsers', () => {
    expect(readText(namedDays, ' 2026-12-24   Christmas Eve \r\n\r\n')).toEqual([
      { date: '2026-12-24', name: 'Christmas Eve' },
    ])
    expect(readText(dayTypes, 'fair:2026-09-19 2026-09-20')).toEqual([
      { name: 'fair', dates: ['2026-09-19', '2026-09-20'] },
    ])
  })

  it('are refused if a line or a number has another form', () => {
    for (const [format, text] of [
      [namedDays, '2026-12-24'],
      [days, '2026-12-24 Christmas Eve'],
      [dayTypes, 'fair 2026-09-19'],
      [powerSteps, '2'],
      [powerSteps, '2 206 1'],
      [numberFormat, '9,90'],
      [numberFormat, '{}'],
    ] as const)
      expect(readText(format, text), text).toBeUndefined()
  })
})
