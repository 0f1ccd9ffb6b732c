import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { runImport } from '../../support/interchange/run-import.ts'
import { makeTestFolder } from '../../support/stores/postgres.ts'
import { makeHome } from '../../support/system/home.ts'
import { runCommand } from '../../support/system/run-command.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'

const system = useSharedSystem()

const fileOf = (name: string, ...lines: readonly string[]): string => {
  const path = join(makeTestFolder(), name)
  writeFileSync(path, `${lines.join('\n')}\n`)
  return path
}

it('a known location is unchanged, or changed with --update', async () => {
  const client = await system.login()
  const head = 'reference_id,timezone,currency_code,metadata.site'
  const first = fileOf('first.csv', head, 'depot-9,Europe/Berlin,EUR,north')
  expect((await runImport(system.sandbox(), 'locations', [first])).report).toMatchObject({ created: 1 })
  const second = fileOf('second.csv', head, 'depot-9,Europe/Berlin,EUR,south')
  expect((await runImport(system.sandbox(), 'locations', [second])).report).toMatchObject({ created: 0, unchanged: 1 })
  const updated = await runImport(system.sandbox(), 'locations', [second, '--update'])
  expect([updated.code, updated.report.changed]).toEqual([0, 1])
  expect(await client.ask('GET', '/locations/reference:depot-9')).toMatchObject({ metadata: { site: 'south' } })
})

it('readings of a register become intervals; the base counts as accepted', async () => {
  const client = await system.login()
  const location = await makeHome(client, { import: 0.3 })
  const rows = ['00', '01', '02'].map((hour, index) => `2026-01-01T${hour}:00:00Z,${100 + index * 2}`)
  const file = fileOf('register.csv', 'end,register', ...rows)
  const { code, report } = await runImport(system.sandbox(), 'readings', [
    file,
    '--location',
    location,
    '--unit',
    'KWH',
  ])
  expect([code, report.accepted, report.batches_pending]).toEqual([0, 3, 0])
  const span = { start_time: '2026-01-01T00:00:00Z', end_time: '2026-01-02T00:00:00Z' }
  const costs = await client.ask('POST', `/costs/interval/${location}`, span)
  expect(costs).toMatchObject({ data: [{ records: 2, energy: { value: 4_000 } }] })
})

it('standard input is read as a file', async () => {
  const client = await system.login()
  const location = await makeHome(client, { import: 0.3 })
  const { base_url: baseUrl, test_key: key } = system.sandbox()
  const program = fileURLToPath(new URL('../../../services/command-line.mjs', import.meta.url))
  const args = ['import', 'readings', '-', '--location', location, '--unit', 'WH', '--base-url', baseUrl, '--json']
  const folder = makeTestFolder()
  const child = spawn(process.execPath, [program, ...args], {
    cwd: folder,
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { PATH: process.env['PATH'], WATTLEDGER_API_KEY: key, WATTLEDGER_DATA_DIR: folder },
  })
  child.stdin?.end('start,end,value\n2026-01-01T00:00:00Z,2026-01-01T01:00:00Z,500\n')
  const report = child.stdout === null ? '' : await text(child.stdout)
  expect(JSON.parse(report)).toMatchObject({ file: '-', accepted: 1, refused: [] })
})

it('signed readings are refused, and the message names another way', async () => {
  const signed = 'OCMF|{"FV":"1.0","RD":[{"TM":"2026-01-01T10:00:00,000+0100 S","RV":1.5,"RU":"kWh"}]}|{"SD":"00"}'
  const files = [
    fileOf('signed.txt', signed),
    fileOf('signed.xml', '<?xml version="1.0"?>', `<values><value><signedData format="OCMF">${signed}</signedData>`),
  ]
  for (const file of files) {
    const { base_url: url, test_key: key } = system.sandbox()
    const { code, err } = await runCommand(['import', 'readings', file, '--location', 'depot-9', '--base-url', url], {
      WATTLEDGER_API_KEY: key,
      WATTLEDGER_DATA_DIR: makeTestFolder(),
    })
    expect([code, err]).toEqual([1, expect.stringMatching(/signed readings \(OCMF\).*as CSV/)])
  }
})

it('rows of unknown objects and repeated rows are refused by line, and the good rows are stored', async () => {
  const client = await system.login()
  const location = await makeHome(client, { import: 0.3 }, { reference_id: 'depot-codes' })
  const row = (hour: number, place: string, device = '') =>
    `2026-01-01T0${hour}:00:00Z,2026-01-01T0${hour + 1}:00:00Z,1,${place},${device}`
  const lines = [row(0, 'depot-codes'), row(1, 'depot-none'), row(2, 'depot-codes', 'charger-none')]
  const file = fileOf(
    'codes.csv',
    'start,end,value,location_reference,device_reference',
    ...lines,
    row(0, 'depot-codes'),
  )
  const { code, report } = await runImport(system.sandbox(), 'readings', [file, '--unit', 'KWH'])
  expect([code, report.rows, report.accepted]).toEqual([3, 4, 1])
  expect(report.refused.map(refused => [refused.line, refused.code])).toEqual([
    [3, 'location_not_found'],
    [4, 'device_not_found'],
    [5, 'duplicate_row'],
  ])
  const span = { start_time: '2026-01-01T00:00:00Z', end_time: '2026-01-02T00:00:00Z' }
  expect(await client.ask('POST', `/costs/interval/${location}`, span)).toMatchObject({ data: [{ records: 1 }] })
})

it('locations and devices are read from lines of JSON, and a reference twice in a file is refused', async () => {
  const client = await system.login()
  const place = (reference: string, more: object = {}) =>
    JSON.stringify({ reference_id: reference, timezone: 'Europe/Oslo', currency_code: 'NOK', ...more })
  const places = fileOf(
    'places.ndjson',
    ...[place('ndjson-1', { metadata: { site: 'quay' } }), place('ndjson-2'), place('ndjson-1')],
  )
  const first = await runImport(system.sandbox(), 'locations', [places])
  expect([first.code, first.report.created, first.report.refused.map(({ line }) => line)]).toEqual([3, 2, [3]])
  expect(await client.ask('GET', '/locations/reference:ndjson-1')).toMatchObject({ metadata: { site: 'quay' } })
  const devices = fileOf('devices.csv', 'reference_id,location_id,type', 'ndjson-charger,reference:ndjson-1,EV_CHARGER')
  const second = await runImport(system.sandbox(), 'devices', [devices])
  expect([second.report.refused, second.report.created]).toEqual([[], 1])
})
