import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { makeTestFolder } from '../../support/stores/postgres.ts'
import { bought, makeHome } from '../../support/system/home.ts'
import { runCommand } from '../../support/system/run-command.ts'
import { until } from '../../support/system/until.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'

const system = useSharedSystem()

it('dates of an export with one location are its local days', async () => {
  const client = await system.login()
  // Berlin: 1 May 00:01 is 30 April 22:01 UTC, 1 June 00:30 is 31 May 22:30 UTC.
  const home = await makeHome(client, { import: 0.25 })
  const { id } = (await client.submit([
    bought(home, 10, '2026-05-01T00:01:00+02:00', '2026-05-01T00:31:00+02:00'),
    bought(home, 7, '2026-06-01T00:30:00+02:00', '2026-06-01T01:30:00+02:00'),
  ])) as { readonly id: string }
  await until(
    async () => (await client.ask('GET', `/meters/batch/${id}`)) as { readonly status: string },
    ({ status }) => status === 'COMPLETE',
  )
  const { base_url: url, test_key: key } = system.sandbox()
  const rowsOf = async (kind: string, ...args: readonly string[]): Promise<readonly Record<string, unknown>[]> => {
    const out = join(makeTestFolder(), 'file.ndjson')
    const words = [
      'export',
      kind,
      '--from',
      '2026-05-01',
      '--to',
      '2026-06-01',
      '--out',
      out,
      '--base-url',
      url,
      ...args,
    ]
    const { code, err } = await runCommand(words, { WATTLEDGER_API_KEY: key, WATTLEDGER_DATA_DIR: makeTestFolder() })
    expect([code, err]).toEqual([0, expect.any(String)])
    return readFileSync(out, 'utf8')
      .split('\n')
      .filter(Boolean)
      .map(line => JSON.parse(line))
  }
  const energies = (rows: readonly Record<string, unknown>[]) => rows.map(row => Number(row['energy_wh']))
  expect(energies(await rowsOf('records', '--location', home))).toEqual([10_000])
  expect(energies(await rowsOf('costs', '--location', home, '--aggregation', 'MONTH'))).toEqual([10_000])
  // Without a location, dates are days of UTC.
  expect(energies(await rowsOf('records'))).toEqual([7_000])
})
