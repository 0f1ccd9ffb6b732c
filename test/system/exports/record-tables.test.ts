import { parquetMetadata, parquetReadObjects } from 'hyparquet'
import { beforeAll, describe, expect, it } from 'vitest'
import type { Client } from '../../support/system/client.ts'
import { bought, makeHome, makeOne, priceSchedule } from '../../support/system/home.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'

const system = useSharedSystem()
let client: Client
let home: string
let commodity: string
let grid: string

const period = 'start_time=2025-06-01T00:00:00Z&end_time=2025-06-02T00:00:00Z'
const ten = '2025-06-01T10:00:00Z'
const quarterPast = '2025-06-01T10:15:00Z'
const half = '2025-06-01T10:30:00Z'

const mediaTypes = {
  csv: 'text/csv',
  ndjson: 'application/x-ndjson',
  parquet: 'application/vnd.apache.parquet',
  arrow: 'application/vnd.apache.arrow.stream',
}

const table = async (format: keyof typeof mediaTypes, query = period) => {
  const { base_url: url, account_id: account, test_key: key } = system.sandbox()
  const authorization = `Basic ${Buffer.from(`${account}:${key}`).toString('base64')}`
  return fetch(`${url}/meters/records?${query}`, {
    headers: { Accept: mediaTypes[format], Authorization: authorization },
  })
}
const textOf = async (format: 'csv' | 'ndjson', query?: string) => (await table(format, query)).text()

const columns = [
  'id',
  'location_id',
  'device_id',
  'session_reference_id',
  'record_reference_id',
  'energy_flow_direction',
  'tariff_direction',
  'status',
  'currency_code',
  'commodity_tariff_id',
  'non_commodity_tariff_id',
  'start_time',
  'end_time',
  'energy_wh',
  'cost',
  'confidence',
  'revision',
  'warnings',
]

const day = (index: number): string => new Date(Date.UTC(2024, 9, 20) + index * 86_400_000).toISOString()

/** Rows of a table as texts. CSV is read without quotes, Parquet by another reader. */
const rowsOf = async (format: 'csv' | 'ndjson' | 'parquet', answer: Response) => {
  type Row = Readonly<Record<string, string | undefined>>
  if (format === 'parquet') {
    const read = await parquetReadObjects({ file: await answer.arrayBuffer() })
    return read.map((row): Row => ({ ...row, start_time: (row['start_time'] as Date).toISOString() }))
  }
  const lines = (await answer.text()).trimEnd().split(/\r?\n/)
  if (format === 'ndjson') return lines.map(line => JSON.parse(line) as Row)
  const [head = [], ...rows] = lines.map(line => line.split(',').map(cell => cell.replaceAll('"', '')))
  return rows.map((cells): Row => Object.fromEntries(head.map((name, index) => [name, cells[index]])))
}

/** Two locations, one with a device, and 80 days of several months. They are sent by day, the latest day first. */
const addMonths = async (): Promise<void> => {
  const others = [await makeHome(client, { import: 0.1 }), await makeHome(client, { import: 0.2 })]
  const device = await makeOne(client, '/devices', { reference_id: 'meter of the table' })
  const days = Array.from({ length: 80 }, (_, index) => 79 - index)
  await client.submit(
    days.flatMap(index => [
      ...others.map(location => bought(location, 1, day(index), day(index + 1))),
      bought(others[0] ?? '', 1, day(index), day(index + 1), { device_id: device }),
    ]),
  )
}

beforeAll(async () => {
  client = await system.login()
  await addMonths()
  home = await makeHome(client, {})
  const tariff = { location_id: home, direction: 'IMPORT' }
  const tiers = [
    { to_kwh: 2, fixed: 0.1 },
    { to_kwh: null, fixed: 0.4 },
  ]
  const schedule = [
    {
      months: ['All'],
      days_and_hours: [{ days: ['All'], hours: [{ valid_from: '00:00:00', valid_to: '00:00:00', rate: tiers }] }],
    },
  ]
  commodity = await makeOne(client, '/tariffs', { ...tariff, type: 'COMMODITY', schedule })
  grid = await makeOne(client, '/tariffs', { ...tariff, type: 'NON_COMMODITY', schedule: priceSchedule(0.05) })
  await client.submit([
    bought(home, 3, quarterPast, half, { session_reference_id: '=1+1', record_reference_id: 'a "quoted", text' }),
    bought(home, 1, ten, quarterPast, { confidence: 0.5 }),
    bought(home, 7, '2025-06-02T00:00:00Z', '2025-06-02T01:00:00Z'),
  ])
})

describe('the table of all records of a period', () => {
  it('has the columns in order, oldest start first, and the tariffs of each kind', async () => {
    const lines = (await textOf('ndjson')).trim().split('\n')
    const rows = lines.map(line => JSON.parse(line) as Record<string, unknown>)
    expect(rows.map(row => Object.keys(row))).toEqual([columns, columns])
    // 1 kWh × (0.1 + 0.05); then 1 kWh × 0.15 and 2 kWh × (0.4 + 0.05).
    expect(rows.map(row => [row['start_time'], row['energy_wh'], row['cost'], row['confidence']])).toEqual([
      ['2025-06-01T10:00:00.000Z', 1000, 0.15, 0.5],
      ['2025-06-01T10:15:00.000Z', 3000, 1.05, 1],
    ])
    expect(rows[0]).toMatchObject({
      location_id: home,
      device_id: null,
      commodity_tariff_id: commodity,
      non_commodity_tariff_id: grid,
      status: 'PRICED',
    })
  })

  it.each(['ndjson', 'csv', 'parquet'] as const)(
    'has the rows of several months and locations in the documented order as %s',
    async format => {
      const days = Array.from({ length: 80 }, (_, index) => index)
      const answer = await table(format, `start_time=${day(0)}&end_time=${day(80)}`)
      const rows = await rowsOf(format, answer)
      const keys = rows.map(row =>
        format === 'parquet'
          ? [
              ...[row['start_time']?.slice(0, 7), row['location_id'], row['start_time']?.slice(0, 10)],
              ...[row['device_id'] ?? '', row['start_time'], row['id']],
            ]
          : [row['start_time'], row['id']],
      )
      expect(keys).toHaveLength(240)
      expect(keys).toEqual(keys.toSorted((a, b) => (a.join() < b.join() ? -1 : 1)))
      const starts = rows.map(row => row['start_time'])
      if (format === 'parquet') expect(starts).not.toEqual(starts.toSorted())
      expect(new Set(starts)).toEqual(new Set(days.map(day)))
    },
  )

  it('is RFC 4180 text as CSV, and no text of it is a formula', async () => {
    const answer = await table('csv')
    expect(answer.headers.get('content-type')).toBe('text/csv; charset=utf-8; header=present')
    const [head, first, second, end] = (await answer.text()).split('\r\n')
    expect([head, end]).toEqual([columns.map(name => `"${name}"`).join(','), ''])
    expect(first).toContain(`"${home}",,,,"INBOUND"`)
    expect(second).toContain(`"'=1+1","a ""quoted"", text"`)
    expect(await textOf('csv', `${period}&raw=true`)).toContain('"=1+1"')
  })

  it('has a row for each piece if requested', async () => {
    const rows = (await textOf('ndjson', `${period}&pieces=true&location_id=${home}`)).trim().split('\n')
    const pieces = rows.map(line => JSON.parse(line) as Record<string, unknown>)
    expect(pieces.map(row => [row['piece'], row['energy_wh'], row['price'], row['tier_kwh'], row['cost']])).toEqual([
      [1, 1000, 0.15, 0, 0.15],
      [1, 1000, 0.15, 0, 0.15],
      [2, 2000, 0.45, 2, 0.9],
    ])
    expect([pieces[1]?.['end_time'], pieces[2]?.['end_time']]).toEqual([
      pieces[2]?.['start_time'],
      '2025-06-01T10:30:00.000Z',
    ])
  })

  it('is read by an independent reader of Parquet, with exact types', async () => {
    const bytes = await (await table('parquet')).arrayBuffer()
    const { schema, num_rows: rows } = parquetMetadata(bytes)
    expect([schema.slice(1).map(({ name }) => name), rows]).toEqual([columns, 2n])
    const typeOf = (name: string) => schema.find(one => one.name === name)?.logical_type
    expect(typeOf('energy_wh')).toMatchObject({ type: 'DECIMAL', precision: 18, scale: 6 })
    expect(typeOf('cost')).toMatchObject({ type: 'DECIMAL', precision: 38, scale: 9 })
    expect(typeOf('start_time')).toMatchObject({ type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MILLIS' })
    const read = await parquetReadObjects({ file: bytes })
    expect(read.map(row => [row['start_time'], row['energy_wh'], Math.round(row['cost'] * 1e9), row['id']])).toEqual([
      [new Date(ten), 1000, 150_000_000, expect.stringMatching(/^mre_/)],
      [new Date(quarterPast), 3000, 1_050_000_000, expect.stringMatching(/^mre_/)],
    ])
  })

  it('is an Arrow stream, which begins with its schema and ends with its end marker', async () => {
    const bytes = Buffer.from(await (await table('arrow')).arrayBuffer())
    expect(bytes.subarray(0, 4).toString('hex')).toBe('ffffffff')
    expect(bytes.subarray(-8).toString('hex')).toBe('ffffffff00000000')
  })

  it('has the costs of a period as Parquet, with the elements of the JSON answer', async () => {
    const { base_url: url, account_id: account, test_key: key } = system.sandbox()
    const answer = await fetch(`${url}/costs/interval/${home}?aggregation=DAY`, {
      method: 'POST',
      headers: {
        Accept: mediaTypes.parquet,
        Authorization: `Basic ${Buffer.from(`${account}:${key}`).toString('base64')}`,
        'Content-Type': 'application/json',
      },
      body: JSON.stringify({ start_time: '2025-06-01T00:00:00+02:00', end_time: '2025-06-02T00:00:00+02:00' }),
    })
    const read = await parquetReadObjects({ file: await answer.arrayBuffer() })
    const names = ['start_time', 'end_time', 'energy_wh', 'cost', 'confidence', 'unpriced_records']
    expect(read.map(row => Object.keys(row))).toEqual([[...names, 'estimated_energy_wh', 'provisional_energy_wh']])
    expect(read).toMatchObject([{ energy_wh: 4000, estimated_energy_wh: 1000, provisional_energy_wh: 0 }])
    expect(Math.round(read[0]?.['cost'] * 1e9)).toBe(1_200_000_000)
  })

  it.each(['ndjson', 'csv', 'parquet'] as const)('names the warnings of a record as %s', async format => {
    const location = await makeHome(client, { import: 0.1 })
    const rule = (kw: number) => ({ register: { kind: 'LIFETIME', max_power: { units: 'KW', value: kw } } })
    const makeLarge = (name: string) =>
      makeOne(client, '/devices', { reference_id: `${name} ${format}`, ...rule(12_000) })
    const [large, smaller] = [await makeLarge('large'), await makeLarge('smaller')]
    const at = (hour: number): string => `2025-08-01T${String(hour).padStart(2, '0')}:00:00Z`
    // 10,000 kWh in an hour is 10 MW, the highest plausible power. A device allows 12 MW, another one 11 MW later.
    await client.submit([
      ...[10_000, 10_001].map((kwh, hour) => bought(location, kwh, at(hour), at(hour + 1))),
      bought(location, 12_000, at(0), at(1), { device_id: large }),
      bought(location, 11_001, at(0), at(1), { device_id: smaller }),
      bought(location, 20_000, at(5), at(5)),
    ])
    await client.ask('PATCH', `/devices/${smaller}`, rule(11_000))
    const query = `location_id=${location}&start_time=${at(0)}&end_time=${at(23)}`
    const warningsOf = async (text: string) =>
      (await rowsOf(format, await table(format, text))).map(row => [
        ...[Number(row['energy_wh']) / 1000, row['warnings'] || null],
      ])
    const expected = [
      [10_000, null],
      [10_001, 'implausible_energy'],
      [11_001, 'implausible_energy'],
      [12_000, null],
      [20_000, null],
    ]
    expect((await warningsOf(query)).sort()).toEqual(expected)
    expect((await warningsOf(`${query}&pieces=true`)).sort()).toEqual(expected)
  })

  it('shows one state of the records while they are corrected: each record once, with the cost of its energy', async () => {
    const location = await makeHome(client, { import: 0.5 })
    const at = (index: number): string => new Date(Date.UTC(2025, 6, 1) + index * 3_600_000).toISOString()
    const count = 300
    const records = (kwh: number) =>
      Array.from({ length: count }, (_, index) => bought(location, kwh, at(index), at(index + 1)))
    await client.submit(records(1))
    let isCorrected = false
    const correct = async (): Promise<void> => {
      for (let kwh = 2; kwh <= 5; kwh += 1) await client.submit(records(kwh))
      isCorrected = true
    }
    const correcting = correct()
    let tables = 0
    for (let isLast = false; !isLast; tables += 1) {
      isLast = isCorrected
      const text = await textOf('ndjson', `start_time=${at(0)}&end_time=${at(count)}&location_id=${location}`)
      const rows = text
        .trim()
        .split('\n')
        .map(line => JSON.parse(line) as { id: string; energy_wh: string; cost: string })
      expect([rows.length, new Set(rows.map(({ id }) => id)).size]).toEqual([count, count])
      expect(rows.filter(({ energy_wh, cost }) => Number(energy_wh) / 2_000 !== Number(cost))).toEqual([])
      if (isLast) expect(new Set(rows.map(({ energy_wh }) => Number(energy_wh)))).toEqual(new Set([5_000]))
    }
    await correcting
    expect(tables).toBeGreaterThan(1)
  })

  it('keeps pages for requests with a limit, and refuses a table without a period', async () => {
    const first = await table('csv', `${period}&location_id=${home}&limit=1`)
    const rows = (await first.text()).split('\r\n')
    expect([rows.length, first.headers.get('x-has-more')]).toEqual([3, 'true'])
    const id = rows[1]?.split(',')[0]
    const last = await table('csv', `${period}&location_id=${home}&limit=1&starting_after=${id}`)
    expect([(await last.text()).split('\r\n').length, last.headers.get('x-has-more')]).toEqual([3, 'false'])
    const refused = await table('parquet', `location_id=${home}`)
    expect([refused.status, ((await refused.json()) as { field: string }).field]).toEqual([400, 'start_time'])
    const empty = await textOf('csv', 'start_time=2020-01-01T00:00:00Z&end_time=2020-01-02T00:00:00Z')
    expect(empty.split('\r\n')).toHaveLength(2)
  })
})
