import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openRefusedFile } from '../../../../services/interchange/commands/import/refused-file.ts'
import { makeTestFolder } from '../../../support/stores/postgres.ts'

it('keeps the cells of a refused row apart, also if they have commas', async () => {
  const path = join(makeTestFolder(), 'readings.csv.refused.csv')
  const file = await openRefusedFile({ refused: path, state: null }, null)
  const fault = { field: 'value', code: 'not_a_number', message: 'no number' } as const
  file.add({ line: 2, ...fault }, ['01:45', '1,5', 'a "b"'])
  file.add({ line: 3, ...fault }, ['{"value":"x","unit":"WH"}'])
  file.close()
  expect(readFileSync(path, 'utf8').split('\n')).toEqual([
    'line,field,code,message,row',
    // The row is the text 01:45,"1,5","a ""b""" as one cell.
    '2,value,not_a_number,no number,"01:45,""1,5"",""a """"b"""""""',
    // A line of NDJSON is not a row of cells.
    '3,value,not_a_number,no number,"{""value"":""x"",""unit"":""WH""}"',
    '',
  ])
})
