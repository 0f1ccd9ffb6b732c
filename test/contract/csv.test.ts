import { describe, expect, it } from 'vitest'
import { csvText } from '../../services/contract/csv.ts'
import { scaledNumber } from '../../services/contract/exact-number.ts'

describe('a table as CSV', () => {
  it.each([
    ['a text', 'plain', 'plain'],
    ['a comma', 'a,b', '"a,b"'],
    ['quotes', 'say "no"', '"say ""no"""'],
    ['a line break', 'a\nb', '"a\nb"'],
    ['what a spreadsheet would run', '=1+1', "'=1+1"],
    ['a number with all its digits', scaledNumber(-1_234_567_890_123_456_789n, 9), '-1234567890.123456789'],
    ['nothing', null, ''],
    ['a truth', true, 'true'],
  ])('writes %s', (_, cell, text) => {
    expect(csvText(['name'], [[cell]])).toBe(`name\r\n${text}\r\n`)
  })
})
