import { stripVTControlCharacters } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { login } from '../support/client.ts'
import { makeHome } from '../support/home.ts'
import { runCommand } from '../support/run-command.ts'
import { dataFolder, type RunningSystem, removeData, startSystem } from '../support/running-system.ts'
import { makeDevices } from '../support/schedule-cases.ts'

const folder = dataFolder()
const variables = { WATTLEDGER_DATA_DIR: folder }
let system: RunningSystem | undefined
let home = ''
let device = ''

beforeAll(async () => {
  system = await startSystem(folder)
  const client = await login(system.sandbox)
  home = await makeHome(client, { import: 0.25 })
  device = (await makeDevices(client, 1))[0] ?? ''
})

afterAll(async () => {
  await system?.[Symbol.asyncDispose]()
  removeData(folder)
})

const words = (more: readonly string[] = []) => ['schedule', home, '--device', device, '--energy', '4', '--power', '2', ...more]

describe('wattledger schedule', () => {
  it('draws the prices, marks when the device runs under them, and says what that costs', async () => {
    const { code, out, err } = await runCommand(words(), variables)
    expect([code, err]).toEqual([0, ''])
    const text = stripVTControlCharacters(out)
    expect(text).toContain(`Plan of ${device} at ${home}, EUR per kWh, time of Europe/Berlin`)
    expect(text).toMatch(/0\.2500 │█+/)
    expect(text).toMatch(/\n +━{4}\n/)
    expect(text).toMatch(/ to .* {2}2 kW\n/)
    expect(text).toMatch(/energy +4 kWh\n +cost +1 EUR\n +saved +0 EUR \(0 %\) against running at once/)
  })

  it('gives the plan itself to scripts', async () => {
    const { code, out } = await runCommand(words(['--hours', '3', '--json']), variables)
    expect([code, JSON.parse(out)]).toMatchObject([0, { object: 'schedule_amount', location_id: home, cost: { value: 1 } }])
  })

  it.each([
    [['schedule', 'loc_1'], 2, '--device is missing'],
    [['schedule', 'loc_1', '--device', 'dev_1', '--energy', 'much', '--power', '2'], 2, '--energy is a number above 0, not "much"'],
    [
      ['schedule', 'loc_1', '--device', 'dev_1', '--energy', '1', '--power', '2', '--hours', '169'],
      2,
      '--hours is a whole number from 1 to 168',
    ],
    [['schedule', 'loc_1', '--device', 'dev_1', '--energy', '1', '--power', '2'], 1, 'No location has this id'],
  ])('%j ends with %i and says why', async (given, expected, reason) => {
    const { code, err } = await runCommand(given, variables)
    expect([code, err]).toEqual([expected, expect.stringContaining(reason)])
  })

  it('says why a plan cannot be', async () => {
    const { code, err } = await runCommand(words(['--hours', '1']), variables)
    expect([code, err]).toEqual([1, expect.stringContaining('asks for 4 kWh, but can have at most 2 kWh at full power')])
  })
})
