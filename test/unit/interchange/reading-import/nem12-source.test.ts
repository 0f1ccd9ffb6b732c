import { describe, expect, it } from 'vitest'
import { writeInstant } from '../../../../services/domain/instant.ts'
import { isRefusedRow } from '../../../../services/interchange/domain/reading.ts'
import { readCsvForm, readCsvRules } from '../../../../services/interchange/reading-import/csv-options.ts'
import { findPreset } from '../../../../services/interchange/reading-import/find-preset.ts'
import { nem12ReadingSource } from '../../../../services/interchange/reading-import/read-nem12.ts'

const values = (value: string) => `${value},`.repeat(48)
const file = [
  '100,NEM12,202604060000,MDP1,RETAILER1',
  '200,6102000001,E1E2,1,E1,N1,METER1,kWh,30,',
  `300,20260405,${values('0.5')}V,,,,`,
  '400,1,47,A,,',
  '400,48,48,N,,',
  '200,6102000001,E1E2,1,E2,N2,METER1,kWh,30,',
  `300,20260405,${values('0.25')}E52,,,,`,
  '900',
  '',
].join('\n')

/** Read the file as the command does, with the zone of a location in Sydney. */
const read = async (text: string, options: Readonly<Record<string, string>> = {}) => {
  const bytes = Buffer.from(text)
  const preset = findPreset(bytes, { location: 'depot-7', ...options })
  const rules = readCsvRules(preset.options, 'Australia/Sydney')
  const chunks = async function* () {
    yield bytes
  }
  const source = nem12ReadingSource(chunks(), readCsvForm(preset.options), preset.choices, rules)
  const rows = (await Array.fromAsync(source.read())).flat()
  return { reader: preset.reader, rows, counts: source.counts(), cells: source.cellsOf(3) }
}

const readingsOf = async (options: Readonly<Record<string, string>> = {}) =>
  (await read(file, options)).rows.map(row =>
    isRefusedRow(row) ? row.code : `${writeInstant(row.start).slice(5, 16)} ${row.value} ${row.confidence}`,
  )

describe('a NEM12 file', () => {
  it('has the sum of its registers from the grid with the lower confidence, and blank rows for the quality N', async () => {
    const { rows, counts } = await read(file)
    expect([rows.length, counts]).toEqual([48, { rows: 96, blank: 1 }])
    const readings = await readingsOf()
    expect([readings[0], readings.at(-1)]).toEqual(['04-04T14:00 0.75 0.9', '04-05T13:30 0.25 0.9'])
  })

  it('is not moved by a zone, and its qualities have the confidence of --map', async () => {
    expect(await readingsOf({ zone: 'Europe/Lisbon' })).toEqual(await readingsOf())
    expect((await readingsOf({ map: 'E=0.5' }))[0]).toBe('04-04T14:00 0.75 0.5')
  })

  it('is found with --columns too, and a refused row has the cells of the file', async () => {
    const { reader, rows, cells } = await read(file, { columns: 'device_reference=Suffix', map: 'A=x' })
    expect([reader, rows[0]]).toMatchObject(['nem12', { line: 3, code: 'not_a_number' }])
    expect(cells.slice(0, 3)).toEqual(['300', '20260405', '0.5'])
  })

  it('with NEM12 in another line is a CSV file', async () => {
    expect(findPreset(Buffer.from(`start,end,value\n${file}`), {}).reader).toBeUndefined()
  })
})
