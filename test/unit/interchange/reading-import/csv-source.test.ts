import { describe, expect, it } from 'vitest'
import type { ReadRow } from '../../../../services/interchange/domain/reading.ts'
import {
  readCsvForm,
  readCsvRules,
  readReadingColumns,
} from '../../../../services/interchange/reading-import/csv-options.ts'
import { csvReadingSource } from '../../../../services/interchange/reading-import/read-csv-readings.ts'

type Options = Readonly<Record<string, string>>

const constants = { location: 'depot-7', unit: 'KWH' }

/** Read the bytes of a file with the options of the command. */
const read = async (file: string | Buffer, options: Options = constants) => {
  const chunks = async function* () {
    yield Buffer.from(file)
  }
  const source = csvReadingSource(
    chunks(),
    readCsvForm(options),
    readReadingColumns(options),
    readCsvRules(options, null),
  )
  const rows: ReadRow[] = []
  for await (const some of source.read()) rows.push(...some)
  const { rows: count, blank } = source.counts()
  return { rows, count, blank, ...source.notes() }
}

/** Read a file, and return its values, or the line, field and code of refused rows. */
const valuesOf = async (file: string | Buffer, options: Options = constants) =>
  (await read(file, options)).rows.map(row => ('code' in row ? [row.line, row.field, row.code] : row.value))

const [start, end] = ['2026-01-10T00:00:00Z', '2026-01-10T01:00:00Z']

describe('columns of a file with readings', () => {
  it('give each member of a reading, by the names of the fields', async () => {
    const head = 'start,end,value,unit,location_reference,device_reference,session,record,direction,confidence'
    const { rows } = await read(`${head}\n${start},${end},1.50,WH,depot-7,charger-2,s-1,r-1,EXPORT,0.8\n`, {})
    expect(rows).toMatchObject([
      {
        value: '1.50',
        units: 'WH',
        location: { reference: 'depot-7' },
        device: { reference: 'charger-2' },
        sessionReferenceId: 's-1',
        recordReferenceId: 'r-1',
        confidence: '0.8',
        directions: { energyFlowDirection: 'OUTBOUND', tariffDirection: 'EXPORT' },
      },
    ])
  })

  it('name location and device by id', async () => {
    const [location, device] = ['loc_0198c0ffee00112233445566', 'dev_0198c0ffee00112233445566']
    const { rows } = await read(`start,end,value,location,device\n${start},${end},1,${location},${device}\n`, {
      unit: 'KWH',
    })
    expect(rows).toMatchObject([{ location: { id: location }, device: { id: device } }])
  })

  it('win over the values for all rows', async () => {
    const all = { ...constants, device: 'charger-1', direction: 'EXPORT' }
    const file = `start,end,value,unit,device_reference,direction\n${start},${end},1,W,charger-2,IMPORT\n${start},${end},2,,,\n`
    expect((await read(file, all)).rows).toMatchObject([
      { units: 'W', device: { reference: 'charger-2' }, directions: { tariffDirection: 'IMPORT' } },
      { units: 'KWH', device: { reference: 'charger-1' }, directions: { tariffDirection: 'EXPORT' } },
    ])
  })

  it('are chosen by heading or number, and "field=" ignores the field', async () => {
    const columns = 'start="From, local",end=2,value=Energy,confidence='
    const file = `"From, local",To,Energy,confidence\n${start},${end},3,high\n`
    const { rows, noted } = await read(file, { ...constants, columns })
    expect(rows).toMatchObject([{ value: '3', confidence: null }])
    expect(noted).toEqual([{ path: '/confidence', message: 'The column is not used.' }])
  })

  it.each(['Note=', 'note=', '"a, b"=', '5='])('are ignored by "%s"', async ignored => {
    const header = `start,end,value,location_reference,${ignored === '"a, b"=' ? '"a, b"' : 'Note'}`
    const { rows, noted } = await read(`${header}\n${start},${end},3,home,x\n`, { ...constants, columns: ignored })
    expect([rows.length, noted]).toEqual([1, []])
  })

  it('are ignored although a field has their name', async () => {
    const columns = 'value=Energy,start_time=,units='
    const file = `start,end,Energy,units,start_time\n${start},${end},3,furlong,never\n`
    const { rows } = await read(file, { ...constants, columns })
    expect(rows).toMatchObject([{ value: '3', units: 'KWH' }])
  })

  it('that the file does not have cannot be ignored', async () => {
    const unknown = read(`start,end,value\n${start},${end},1\n`, { ...constants, columns: 'Noet=' })
    await expect(unknown).rejects.toThrow('The file has no column "Noet"')
  })

  it('without a field are noted, with the pointer to their heading', async () => {
    const { noted } = await read(`start,end,value,a/b~c\n${start},${end},1,x\n`)
    expect(noted.map(({ path }) => path)).toEqual(['/a~1b~0c'])
  })

  it.each(
    [
      ['WH', 'KWH', 'W', 'KW'].map(unit => [{ unit }, 'units', unit] as const),
      [[{ direction: 'IMPORT' }, 'directions', { energyFlowDirection: 'INBOUND', tariffDirection: 'IMPORT' }] as const],
      [
        [
          { direction: 'EXPORT' },
          'directions',
          { energyFlowDirection: 'OUTBOUND', tariffDirection: 'EXPORT' },
        ] as const,
      ],
    ].flat(),
  )('have the constant %j', async (option, member, value) => {
    const { rows } = await read(`start,end,value\n${start},${end},1\n`, { ...constants, ...option })
    expect(rows).toMatchObject([{ [member]: value }])
  })

  it.each([
    ['location_not_found', 'location', 'start,end,value', `${start},${end},1`, { unit: 'KWH' }],
    ['field_invalid', 'unit', 'start,end,value,unit', `${start},${end},1,MJ`, constants],
    ['field_invalid', 'direction', 'start,end,value,direction', `${start},${end},1,UP`, constants],
    ['not_a_number', 'confidence', 'start,end,value,confidence', `${start},${end},1,high`, constants],
  ])('refuse a row as %s of %s', async (code, field, head, row, options) => {
    const other = 'location_reference' as const
    const file = options === constants ? `${head}\n${row}\n` : `${head},${other}\n${row},\n`
    expect(await valuesOf(file, options)).toEqual([[2, field, code]])
  })

  it('with a blank value are counted and give no reading', async () => {
    const { rows, blank, count } = await read(`start,end,value\n${start},${end},\n${end},${start},\n`)
    expect([rows, blank, count]).toEqual([[], 2, 2])
  })
})

describe('text of a file with readings', () => {
  it.each([
    [',', ','],
    [';', ';'],
    ['tab', '\t'],
    ['|', '|'],
  ])('has cells between %s, by the header or by the option', async (delimiter, mark) => {
    const file = `${['start', 'end', 'value'].join(mark)}\n${[start, end, '4'].join(mark)}\n`
    expect(await valuesOf(file)).toEqual(['4'])
    expect(await valuesOf(file, { ...constants, delimiter })).toEqual(['4'])
  })

  it('needs the option if the header has more other marks', async () => {
    const file = `start;end;value;a,b,c,d,e\n${start};${end};4;x\n`
    await expect(read(file)).rejects.toThrow(/column/)
    expect(await valuesOf(file, { ...constants, delimiter: ';' })).toEqual(['4'])
  })

  it.each([
    ['.', '', '1234.5', '1234.5'],
    ['.', ',', '1,234.5', '1234.5'],
    [',', '.', '1.234,5', '1234.5'],
    [',', ' ', '1 234,5', '1234.5'],
    ['.', "'", "1'234.5", '1234.5'],
  ])('has numbers with the decimal mark %s and thousands in %s', async (decimal, thousands, text, value) => {
    const marks = thousands === '' ? { decimal } : { decimal, thousands }
    expect(await valuesOf(`start;end;value\n${start};${end};${text}\n`, { ...constants, ...marks })).toEqual([value])
  })

  it('can be in UTF-16 or UTF-8 by its byte order mark, or in the encoding of the option', async () => {
    const file = `start;end;value;Größe\n${start};${end};5;ü\n`
    const littleEndian = Buffer.from(`\uFEFF${file}`, 'utf16le')
    for (const bytes of [Buffer.from(`\uFEFF${file}`), littleEndian, Buffer.from(littleEndian).swap16()]) {
      const { rows, noted } = await read(bytes)
      expect([rows, noted]).toMatchObject([[{ value: '5' }], [{ path: '/Größe' }]])
    }
    const latin = Buffer.from(file, 'latin1')
    await expect(read(latin)).rejects.toThrow('--encoding')
    expect((await read(latin, { ...constants, encoding: 'windows-1252' })).noted).toMatchObject([{ path: '/Größe' }])
  })

  it('has its header after skipped lines, and its rows keep the line numbers of the file', async () => {
    const file = `Export of a portal\nCreated;today\nstart;end;value\n${start};${end};x\n`
    expect(await valuesOf(file, { ...constants, 'skip-lines': '2' })).toEqual([[4, 'value', 'not_a_number']])
  })

  it('has quoted cells with marks, quotes and line ends, as RFC 4180 says', async () => {
    const file = `start,end,value,record\r\n${start},${end},"6","a ""b"", \r\nc"\r\n`
    expect((await read(file)).rows).toMatchObject([{ value: '6', recordReferenceId: 'a "b", \r\nc' }])
  })

  it('loses the quote mark that an export adds before a formula', async () => {
    const row = `${start},${end},6,'=1+2\n`
    const exported = await read(`start,end,value,record_reference_id\n${row}`)
    expect(exported.rows).toMatchObject([{ recordReferenceId: '=1+2' }])
    const other = await read(`start,end,value,record\n${row}`)
    expect(other.rows).toMatchObject([{ recordReferenceId: "'=1+2" }])
  })
})

describe('times of a file with readings', () => {
  it.each([
    ['yyyy-MM-dd HH:mm:ss', '2026-06-01 13:05:09', '11:05:09'],
    ['dd.MM.yyyy HH:mm', '01.06.2026 13:05', '11:05:00'],
    ['d/M/yyyy H:mm', '1/6/2026 13:05', '11:05:00'],
    ['MM/dd/yyyy hh:mm a', '06/01/2026 01:05 PM', '11:05:00'],
    ['MM/dd/yyyy hh:mm a', '06/01/2026 12:05 am', '22:05:00'],
    ['yyyyMMddHHmm', '202606011305', '11:05:00'],
  ])('have the form %s', async (format, text, time) => {
    const options = { ...constants, zone: 'Europe/Berlin', interval: 'PT15M', 'date-format': format }
    const [row] = (await read(`start,value\n${text},1\n`, options)).rows
    expect(row === undefined || 'code' in row ? row : new Date(row.start).toISOString().slice(11, 19)).toBe(time)
  })

  it('with an offset do not use the zone', async () => {
    const options = { ...constants, zone: 'Europe/Berlin', interval: 'PT1H' }
    expect((await read('start,value\n2026-06-01T00:00:00-07:00,1\n', options)).rows).toMatchObject([
      { start: Date.UTC(2026, 5, 1, 7), end: Date.UTC(2026, 5, 1, 8) },
    ])
  })

  it.each([
    ['--zone', { zone: 'Mars/Base' }],
    ['--interval', { interval: 'P1Y' }],
    ['--date-format', { 'date-format': 'HH:mm' }],
    ['--decimal', { decimal: ',', thousands: ',' }],
    ['--encoding', { encoding: 'EBCDIC' }],
    ['--skip-lines', { 'skip-lines': '-1' }],
    ['--columns', { columns: 'energy=kWh' }],
  ])('and the other options are refused with a reason: %s', async (name, option) => {
    await expect(read('start,end,value\n', { ...constants, ...option })).rejects.toThrow(name)
  })
})
