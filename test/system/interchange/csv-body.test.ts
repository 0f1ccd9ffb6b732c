import { expect, it } from 'vitest'
import { makeHome } from '../../support/system/home.ts'
import { recordsOf } from '../../support/system/stored-costs.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'

const system = useSharedSystem()
const csv = { 'Content-Type': 'text/csv' }

type Receipt = {
  readonly records_submitted: number
  readonly records_accepted: number
  readonly failed_records: readonly { readonly record_num: number; readonly error: string }[]
}

const put = async (query: string, body: string) =>
  (await system.login()).send('PUT', `/meters/interval${query}`, body, csv)

it('a CSV body is submitted row by row, with the rules of imported files', async () => {
  const client = await system.login()
  const locationId = await makeHome(client, { import: 0.3 })
  const body = [
    'Beginn;kWh;Satz',
    '25.10.2026 02:00;1,5;a',
    '25.10.2026 02:00;2,5;b',
    '25.10.2026 03:00;x;c',
    '25.10.2026 25:00;1;d',
    '25.10.2026 04:00;;e',
    '25.10.2026 05:00;1;f',
    '25.10.2026 05:00;1;f',
  ].join('\r\n')
  const columns = encodeURIComponent('start=Beginn,value=kWh,record=Satz')
  const form = 'unit=KWH&zone=Europe/Berlin&date_format=dd.MM.yyyy%20HH:mm&interval=PT1H&decimal=comma'
  const answer = await put(`?location_id=${locationId}&columns=${columns}&${form}`, body)
  expect(answer.status, answer.text).toBe(200)
  const receipt = answer.json as Receipt
  expect(receipt).toMatchObject({ records_submitted: 6, records_accepted: 3 })
  expect(receipt.failed_records.map(({ record_num, error }) => [record_num, error.slice(0, 8)])).toEqual([
    ...[
      [3, 'Line 4: '],
      [4, 'Line 5: '],
      [6, 'duplicat'],
    ],
  ])
  await client.submit([
    {
      location_id: locationId,
      units: 'WH',
      value: 0,
      start_time: '2026-10-26T00:00:00Z',
      end_time: '2026-10-26T01:00:00Z',
    },
  ])
  const records = await recordsOf(client, locationId)
  const shown = records.map(({ data }) => [Date.parse(data.start_time), data.energy.value])
  // 02:00 is 00:00Z in summer time and 01:00Z in winter time; 05:00 is 04:00Z.
  expect(shown).toEqual(
    expect.arrayContaining([
      [Date.UTC(2026, 9, 25, 0), 1500],
      [Date.UTC(2026, 9, 25, 1), 2500],
      [Date.UTC(2026, 9, 25, 4), 1000],
    ]),
  )
})

it.each([
  ['', 'start,end,value\n', 'location_id'],
  ['?location_id=loc_0198c0ffee00112233445566', 'start,end,value\n', 'unit'],
  ['?location_id=loc_0198c0ffee00112233445566&unit=WH&columns=value=energy', 'start,end\n', 'no column "energy"'],
  ['?location_id=loc_0198c0ffee00112233445566&unit=WH&zone=Nowhere/City', 'start,end,value\n', 'zone must be'],
  ['?location_id=loc_0198c0ffee00112233445566&unit=WH&interval=P1Y', 'start,end,value\n', 'interval must be'],
  ['?location_id=loc_0198c0ffee00112233445566&unit=WH', 'start,end,value\n', 'at least one reading'],
  [
    '?location_id=loc_0198c0ffee00112233445566&unit=WH&where=type=gas',
    'start,end,value,type\na,b,1,Gas\na,b,1,\n',
    'Rows with another text of "type" are left out: Gas, (empty).',
  ],
  [
    '?location_id=loc_0198c0ffee00112233445566&unit=WH',
    `start,end,value\n${'x'.repeat(65_537)}\n`,
    'longer than 64 KiB',
  ],
  [
    '?location_id=loc_0198c0ffee00112233445566&unit=WH',
    `start,end,value\n${'a,b,c\n'.repeat(10_001)}`,
    'at most 10000',
  ],
  ['?location_id=loc_0198c0ffee00112233445566&unit=WH', `start,end,value\n1,"2\n`, 'a quote is not closed'],
])('a CSV body that gives no readings is refused as a whole: %s %#', async (query, body, message) => {
  const { status, text } = await put(query, body)
  expect(status).toBeGreaterThanOrEqual(400)
  expect(status).toBeLessThan(500)
  expect(JSON.parse(text).message).toContain(message)
})

it('parameters of a CSV body are refused with a JSON body', async () => {
  const client = await system.login()
  const { status, text } = await client.send('PUT', '/meters/interval?unit=WH', [])
  expect([status, JSON.parse(text).code]).toEqual([400, 'unknown_parameter'])
})

it('a CSV body with the parameter sum adds the registers of a meter', async () => {
  const client = await system.login()
  const location = await makeHome(client, { import: 0.3 })
  const body = [
    'start,end,value,tariff',
    '2026-03-01T00:00:00Z,2026-03-01T01:00:00Z,1.5,day',
    '2026-03-01T00:00:00Z,2026-03-01T01:00:00Z,2.25,night',
    '2026-03-01T01:00:00Z,2026-03-01T02:00:00Z,1,day',
  ].join('\n')
  const answer = await put(`?location_id=${location}&unit=KWH&sum=tariff`, body)
  expect(answer.json, answer.text).toMatchObject({ records_submitted: 2, records_accepted: 2, failed_records: [] })
  const stored = async () => (await recordsOf(client, location)).map(({ data }) => data.energy.value).toSorted()
  // 1.5 kWh + 2.25 kWh = 3.75 kWh
  await expect.poll(stored).toEqual([1000, 3750])
})
