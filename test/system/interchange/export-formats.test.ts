import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { cdrFrame } from '../../support/interchange/cdr-frame.ts'
import { runImport } from '../../support/interchange/run-import.ts'
import { makeTestFolder } from '../../support/stores/postgres.ts'
import { bought, makeHome, makeOne, priceSchedule } from '../../support/system/home.ts'
import { runCommand } from '../../support/system/run-command.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'

const system = useSharedSystem()
const span = { from: '2026-03-02T00:00:00Z', to: '2026-03-03T00:00:00Z' }
const folder = makeTestFolder()
const frameFile = join(folder, 'frame.json')
writeFileSync(frameFile, JSON.stringify(cdrFrame))

const exportFile = async (kind: 'costs' | 'tariffs', format: string, options: Record<string, string>) => {
  const file = join(makeTestFolder(), 'out')
  const { base_url: baseUrl, test_key: key } = system.sandbox()
  const all = { ...options, format, out: file, 'base-url': baseUrl }
  const args = Object.entries(all).flatMap(([name, value]) => [`--${name}`, value])
  const variables = { WATTLEDGER_API_KEY: key, WATTLEDGER_DATA_DIR: folder }
  const { code, out, err } = await runCommand(['export', kind, ...args, '--json'], variables)
  const text = existsSync(file) ? readFileSync(file, 'utf8') : ''
  const manifest = existsSync(file) ? JSON.parse(readFileSync(`${file}.manifest.json`, 'utf8')) : null
  if (manifest !== null) {
    const { file: _, not_written: __, ...reported } = JSON.parse(out)
    expect(manifest).toEqual(reported)
    expect(manifest).toMatchObject({ kind, format, bytes: Buffer.byteLength(text), version: expect.any(String) })
    expect(manifest.sha256).toBe(createHash('sha256').update(text).digest('hex'))
  }
  expect(existsSync(`${file}.manifest.json`)).toBe(existsSync(file))
  return { exitCode: code, report: (out === '' ? null : JSON.parse(out)) as Report, err, file, text }
}

type Report = {
  readonly rows: number
  readonly sums: { readonly energy_wh: string; readonly cost: Readonly<Record<string, string>> }
  readonly not_written: readonly { readonly id: string; readonly reason: string }[]
}

const at = (clock: string): string => `2026-03-02T${clock}:00Z`

describe('costs as Green Button', () => {
  it('are imported again with the same energies and costs', async () => {
    const client = await system.login()
    const home = { timezone: 'America/Denver', currency_code: 'USD' }
    const location = await makeHome(client, { import: 0.2345, export: 0.05 }, home)
    const device = await makeOne(client, '/devices', { reference_id: 'panel' })
    const sold = { energy_flow_direction: 'OUTBOUND', tariff_direction: 'EXPORT', device_id: device }
    const receipt = await client.submit([
      bought(location, 1.25, at('00:00'), at('01:00')),
      bought(location, 0.0004, at('01:00'), at('01:15'), { confidence: 0.9 }),
      bought(location, 2, at('02:00'), at('03:00'), sold),
      bought(location, 0.3, at('04:00'), at('04:00')),
    ])
    expect(receipt).toMatchObject({ failed_records: [] })
    const { exitCode, report, file, text } = await exportFile('costs', 'green-button', { location, ...span })
    expect(exitCode).toBe(3)
    expect(report).toMatchObject({ rows: 3, not_written: [{ reason: 'zero_duration' }] })
    // 1.25 kWh × 0.2345 = 0.293125 USD are 29312.5, half to even 29312.
    expect(text).toContain('<cost>29312</cost>')
    const copy = await makeHome(client, { import: 0.2345, export: 0.05 }, home)
    const imported = await runImport(system.sandbox(), 'readings', [file, '--location', copy, '--compare'])
    expect(imported.report).toMatchObject({ format: 'green-button', accepted: 3, refused: [], not_imported: [] })
    // 0.293125 is rounded to 0.29312 in the file, and 0.4 Wh × 0.2345 = 0.0000938 to 0.00009. Sold: 2 kWh × 0.05.
    expect(imported.report.compared).toMatchObject([
      { direction: 'IMPORT', file: { cost: '0.29321', currency_code: 'USD' }, ours: { cost: '0.2932188' } },
      { direction: 'EXPORT', file: { cost: '0.1', currency_code: 'USD' }, ours: { cost: '0.1', currency_code: 'USD' } },
    ])
    const again = await exportFile('costs', 'green-button', { location: copy, ...span })
    expect(again.exitCode).toBe(0)
    expect(again.report.sums).toEqual(report.sums)
  })
})

describe('costs as charge detail records', () => {
  const openSession = async (reference: string) => {
    const client = await system.login()
    const location = await makeOne(client, '/locations', { timezone: 'Europe/Amsterdam', currency_code: 'EUR' })
    const hours = [
      { valid_from: '07:00:00', valid_to: '21:00:00', rate: [{ fixed: 0.33333 }] },
      { valid_from: '21:00:00', valid_to: '07:00:00', rate: [{ fixed: 0.2 }] },
    ]
    const schedule = [{ days_and_hours: [{ hours }] }]
    await makeOne(client, '/tariffs', { location_id: location, direction: 'IMPORT', type: 'COMMODITY', schedule })
    const fee = { location_id: location, kind: 'SESSION', name: 'Start', price: 0.5, per: 'SESSION' }
    await makeOne(client, '/charges', fee)
    await makeOne(client, '/charges', { ...fee, name: 'Parking', price: 0.1, per: 'MINUTE', while: 'IDLE' })
    await makeOne(client, '/charges', { location_id: location, kind: 'PERCENTAGE', name: 'BTW', rate: 0.21 })
    const session = { session_reference_id: reference }
    await client.submit([
      bought(location, 10, at('19:30'), at('20:30'), session),
      bought(location, 0, at('20:30'), at('20:45'), session),
      bought(location, 1, at('21:00'), at('22:00')),
    ])
    return location
  }

  it.each(['2.2.1', '2.3.0'])('of OCPI %s have the pieces and charges of the session', async version => {
    const location = await openSession(`session-${version}`)
    const options = { location, frame: frameFile, ...span }
    const { exitCode, report, text } = await exportFile('costs', `ocpi-cdr-${version}`, options)
    expect(exitCode).toBe(3)
    expect(report).toMatchObject({ rows: 1, not_written: [{ reason: 'no_session' }] })
    const [cdr] = JSON.parse(text)
    // 21:00 in Amsterdam is 20:00 UTC: 5 kWh × 0.33333 + 5 kWh × 0.2 = 2.66665, and 15 minutes × 0.10 = 1.50 parking.
    expect(cdr).toMatchObject({ id: `session-${version}`, total_energy: 10, total_time: 1.25, currency: 'EUR' })
    expect(cdr.charging_periods.map((one: { start_date_time: string }) => one.start_date_time)).toEqual([
      at('19:30'),
      at('20:00'),
      at('20:30'),
    ])
    const [net, tax] =
      version === '2.2.1'
        ? [cdr.total_cost.excl_vat, cdr.total_cost.incl_vat - cdr.total_cost.excl_vat]
        : [cdr.total_cost.before_taxes, cdr.total_cost.taxes[0].amount]
    // 4.66665 is rounded to 4.6667, its tax 0.9799965 to 0.98.
    expect(net).toBe(4.6667)
    expect(tax).toBeCloseTo(0.98, 9)
    expect(report.sums).toMatchObject({ energy_wh: '10000', cost: { EUR: '2.66665' } })
  })

  it('name the missing members of the frame', async () => {
    const file = join(folder, 'empty.json')
    writeFileSync(file, '{"party":{}}')
    const { exitCode, err } = await exportFile('costs', 'ocpi-cdr-2.2.1', { location: 'x', frame: file, ...span })
    expect(exitCode).toBe(2)
    expect(err).toMatch(/\/party\/country_code is missing.*\/token\/uid is missing/)
  })

  it('of one session need no location', async () => {
    await openSession('session-alone')
    const { exitCode, report } = await exportFile('costs', 'ocpi-cdr-2.2.1', {
      session: 'session-alone',
      frame: frameFile,
      ...span,
    })
    expect([exitCode, report.rows]).toEqual([0, 1])
  })
})

describe('tariffs', () => {
  it.each(['urdb', 'ocpi'])('as %s are imported again with the same prices', async format => {
    const client = await system.login()
    const home = { timezone: 'America/Denver', currency_code: 'USD' }
    const location = await makeHome(client, { import: 0.123456789, export: 0.05 }, home)
    const { exitCode, report, file } = await exportFile('tariffs', format, { location })
    expect(exitCode).toBe(3)
    expect(report).toMatchObject({ rows: 1, not_written: [{ reason: 'not_expressible' }] })
    const copy = await makeOne(client, '/locations', home)
    const imported = await runImport(system.sandbox(), 'tariffs', [file, '--location', copy])
    expect(imported.report).toMatchObject({ format, created: 1, not_imported: [] })
    const [tariff] = imported.report.imported
    const stored = (await client.ask('GET', `/tariffs/${tariff?.id}`)) as Record<string, unknown>
    expect(stored['schedule']).toMatchObject(priceSchedule(0.123456789))
  })
})

describe('an export that fails', () => {
  it('leaves no file', async () => {
    const { exitCode, err, file } = await exportFile('costs', 'green-button', { location: 'unknown', ...span })
    expect(exitCode).toBe(1)
    expect(err).toContain('location_not_found')
    expect(readdirSync(dirname(file))).toEqual([])
  })

  it('leaves no file if the format can express nothing', async () => {
    const location = await makeHome(await system.login(), { export: 0.05 }, { currency_code: 'USD' })
    const { exitCode, report, file } = await exportFile('tariffs', 'urdb', { location })
    expect([exitCode, report.rows, report.not_written.length]).toEqual([1, 0, 1])
    expect(readdirSync(dirname(file))).toEqual([])
  })
})
