import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { makeTestFolder } from '../../support/stores/postgres.ts'
import { bought, makeHome, priceSchedule } from '../../support/system/home.ts'
import { runCommand } from '../../support/system/run-command.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'

const system = useSharedSystem()
const variables = { WATTLEDGER_DATA_DIR: system.folder }
const file = join(makeTestFolder(), 'simulation.json')
let home = ''

const write = (body: object | string): string => {
  writeFileSync(file, typeof body === 'string' ? body : JSON.stringify(body))
  return file
}

const request = (more: object = {}) => ({
  object_ids: [home],
  start_date: '2025-03-01',
  end_date: '2025-05-01',
  candidates: [
    { name: 'cheap', tariffs: [{ direction: 'IMPORT', type: 'COMMODITY', schedule: priceSchedule(0.05) }] },
    { name: 'with base', charges: [{ kind: 'FIXED', name: 'base', price: 5, per: 'MONTH' }] },
  ],
  ...more,
})

beforeAll(async () => {
  const client = await system.login()
  home = await makeHome(client, { import: 0.1 })
  await client.submit([
    bought(home, 10, '2025-03-05T10:00:00Z', '2025-03-05T11:00:00Z'),
    bought(home, 30, '2025-04-05T10:00:00Z', '2025-04-05T11:00:00Z'),
  ])
})

/** Words of each line of a text. */
const words = (text: string): readonly string[][] =>
  text
    .split('\n')
    .map(line => line.trim().split(/ {2,}/))
    .filter(([first]) => first !== '')

describe('wattledger simulate', () => {
  it('prints the comparison as a table', async () => {
    const { code, out, err } = await runCommand(['simulate', write(request())], variables)
    expect([code, err]).toEqual([0, ''])
    expect(words(out)).toEqual([
      ['EUR, 2025-03-01 to 2025-05-01'],
      ['BILL', 'ENERGY', 'CHARGES', 'TAX', 'TOTAL', 'DIFFERENCE'],
      ['stored *', '4.00', '0.00', '0.00', '4.00'],
      ['cheap *', '2.00', '0.00', '0.00', '2.00', '-2.00'],
      ['with base *', '4.00', '10.00', '0.00', '14.00', '+10.00'],
      ['* Records or prices are missing.'],
      ['Days with all standing charges: stored 0, cheap 0, with base 61.'],
    ])
  })

  it('prints months, and JSON for scripts', async () => {
    const { out } = await runCommand(['simulate', write(request()), '--months'], variables)
    expect(words(out)).toContainEqual(['2025-04', 'cheap *', '1.50', '-1.50'])
    const { code, out: text } = await runCommand(['simulate', file, '--json'], variables)
    expect([code, (JSON.parse(text) as { baseline: { total: number } }).baseline.total]).toEqual([0, 4])
  })

  it('waits for a large simulation', { timeout: 60_000 }, async () => {
    const charges = Array.from({ length: 40 }, (_, index) => ({
      kind: 'FIXED',
      name: `base ${index}`,
      price: 1,
      per: 'YEAR',
    }))
    const candidates = Array.from({ length: 50 }, (_, index) => ({ name: `c${index}`, charges }))
    const body = request({ start_date: '2022-05-01', candidates })
    const { code, out } = await runCommand(['simulate', write(body)], variables)
    expect([code, out]).toEqual([0, expect.stringContaining('c49')])
  })

  it('says what is wrong', async () => {
    const missing = await runCommand(['simulate', 'no-file.json'], variables)
    expect([missing.code, missing.err]).toEqual([1, expect.stringContaining('no-file.json is not a JSON file')])
    const broken = await runCommand(['simulate', write('{')], variables)
    expect([broken.code, broken.err]).toEqual([1, expect.stringContaining('POST /simulations')])
    const refused = await runCommand(['simulate', write(request({ candidates: [] }))], variables)
    expect([refused.code, refused.err]).toEqual([1, expect.stringContaining('candidates must not be empty')])
    expect((await runCommand(['simulate'], variables)).code).toBe(2)
    expect((await runCommand(['simulate', '--help'], variables)).out).toContain('simulate FILE')
  })
})
