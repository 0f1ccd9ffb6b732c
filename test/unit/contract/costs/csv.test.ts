import { describe, expect, it } from 'vitest'
import { csvText } from '../../../../services/contract/costs/csv.ts'
import { scaledNumber } from '../../../../services/contract/json/exact-number.ts'
import { meterRecordList, storedRecordsToCsv } from '../../../../services/contract/metering/meter-record-read.ts'

describe('a table as CSV', () => {
  it.each([
    ['a text', 'plain', 'plain'],
    ['a comma', 'a,b', '"a,b"'],
    ['quotes', 'say "no"', '"say ""no"""'],
    ['a line break', 'a\nb', '"a\nb"'],
    ['a text that a spreadsheet would run as a formula', '=1+1', "'=1+1"],
    ['a number with all its digits', scaledNumber(-1_234_567_890_123_456_789n, 9), '-1234567890.123456789'],
    ['nothing', null, ''],
    ['a truth', true, 'true'],
  ])('writes %s', (_, cell, text) => {
    expect(csvText(['name'], [[cell]])).toBe(`name\r\n${text}\r\n`)
  })
})

it('a CSV table of records has the names and values of its API version', () => {
  const list = meterRecordList.examples?.answer as Parameters<typeof storedRecordsToCsv>[0]
  const cellsOf = (apiVersion: 'current' | 'earlier') => {
    const [names = [], values = []] = storedRecordsToCsv(list, apiVersion)
      .split('\r\n')
      .map(line => line.split(','))
    return { names: names.slice(3, 5), values: values.slice(3, 5), all: [names.length, values.length] }
  }
  const all = [16, 16]
  expect(cellsOf('current')).toEqual({
    names: ['energy_flow_direction', 'tariff_direction'],
    values: ['INBOUND', 'IMPORT'],
    all,
  })
  expect(cellsOf('earlier')).toEqual({ names: ['direction', 'tariff_rate'], values: ['IMPORT', 'IMPORT'], all })
})
