import { stripVTControlCharacters } from 'node:util'
import { beforeAll, describe, expect, it } from 'vitest'
import { makeDevices } from '../../support/acceptance/schedule-cases.ts'
import { login } from '../../support/system/client.ts'
import { makeHome, makeOne } from '../../support/system/home.ts'
import { runCommand } from '../../support/system/run-command.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'

const system = useSharedSystem()
const variables = { WATTLEDGER_DATA_DIR: system.folder }
let home = ''
let device = ''

beforeAll(async () => {
  const client = await system.login()
  home = await makeHome(client, { import: 0.25 })
  device = (await makeDevices(client, 1))[0] ?? ''
})

const args = (more: readonly string[] = []) => [
  'schedule',
  home,
  '--device',
  device,
  '--energy',
  '4',
  '--power',
  '2',
  ...more,
]

describe('wattledger schedule', () => {
  it('draws the prices, marks when the device runs, and prints the cost', async () => {
    const { code, out, err } = await runCommand(args(), variables)
    expect([code, err]).toEqual([0, ''])
    const text = stripVTControlCharacters(out)
    expect(text).toContain(`Plan of ${device} at ${home}, EUR per kWh, time zone Europe/Berlin`)
    expect(text).toMatch(/0\.2500 │█+/)
    expect(text).toMatch(/\n +━{4}\n/)
    expect(text).toMatch(/ to .* {2}2 kW\n/)
    expect(text).toMatch(/energy +4 kWh\n +cost +1 EUR\n +savings +0 EUR \(0 %\) compared with an immediate start/)
  })

  it('plans and draws until the end of known prices', async () => {
    const client = await login(system.sandbox())
    const source = await makeOne(client, '/markets', { display_name: 'known for some hours', currency_code: 'EUR' })
    const hour = Math.floor(Date.now() / 3_600_000)
    const iso = (hours: number): string => new Date((hour + hours) * 3_600_000).toISOString()
    // Prices are known until the end of the sixth hour, except for one hour in between.
    await client.ask('PUT', `/markets/${source}/prices`, [
      { start_time: iso(0), end_time: iso(3), value: 0.4 },
      { start_time: iso(4), end_time: iso(6), value: 0.1 },
    ])
    const schedule = [
      {
        months: ['All'],
        days_and_hours: [{ days: ['All'], hours: [{ valid_from: '00:00:00', valid_to: '00:00:00', rate: [{}] }] }],
      },
    ]
    const atMarket = await makeHome(client, {}, { market_sources: { import: source } })
    await client.ask('POST', '/tariffs', {
      location_id: atMarket,
      direction: 'IMPORT',
      type: 'COMMODITY',
      market_rates: true,
      schedule,
    })
    const { code, out, err } = await runCommand(
      ['schedule', atMarket, '--device', device, '--energy', '4', '--power', '2'],
      variables,
    )
    expect([code, err]).toEqual([0, ''])
    expect(stripVTControlCharacters(out)).toMatch(/0\.4000 │█/)
    expect(out).toMatch(/cost +0\.4 EUR/)
  })

  it('prints the JSON plan for scripts', async () => {
    const { code, out } = await runCommand(args(['--hours', '3', '--json']), variables)
    expect([code, JSON.parse(out)]).toMatchObject([
      0,
      { object: 'schedule_amount', location_id: home, cost: { value: 1 } },
    ])
  })

  it.each([
    [['schedule', 'loc_1'], 2, '--device, --energy and --power are missing'],
    [
      ['schedule', 'loc_1', '--device', 'dev_1', '--energy', 'much', '--power', '2'],
      2,
      '--energy must be a number above 0, not "much"',
    ],
    [
      ['schedule', 'loc_1', '--device', 'dev_1', '--energy', '1', '--power', '2', '--hours', '169'],
      2,
      '--hours must be a whole number from 1 to 168',
    ],
    [['schedule', 'loc_1', '--device', 'dev_1', '--energy', '1', '--power', '2'], 1, 'No location has this id'],
  ])('%j exits with code %i and the reason', async (given, expected, reason) => {
    const { code, err } = await runCommand(given, variables)
    expect([code, err]).toEqual([expected, expect.stringContaining(reason)])
  })

  it('explains why a plan is impossible', async () => {
    const { code, err } = await runCommand(args(['--hours', '1']), variables)
    expect([code, err]).toEqual([
      1,
      expect.stringContaining('asks for 4 kWh, but can have at most 2 kWh at full power'),
    ])
  })
})
