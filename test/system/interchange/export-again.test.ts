import { join } from 'node:path'
import { expect, it } from 'vitest'
import { runImport } from '../../support/interchange/run-import.ts'
import { makeTestFolder } from '../../support/stores/postgres.ts'
import { makeHome } from '../../support/system/home.ts'
import { runCommand } from '../../support/system/run-command.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'

const system = useSharedSystem()

/** Texts that begin like a formula, guarded texts, spaces, quotes, line ends and numbers. */
const references = [
  ...['=1+1', '+49', '-5', '@SUM(A1)', "'=A1", "''=A1", "'-5", "'a", '\t=1', '\r-', 'a,"b"\nc', '＝1', ' =1+1', ' a '],
  ...['%0A=1', '0012', '1E5', 'a\t', "' =1"],
]

type StoredRecord = { readonly data: { readonly session_reference_id: string; readonly record_reference_id: string } }

const hourOf = (index: number): string => `2026-03-01T${String(index).padStart(2, '0')}:00:00Z`

it.each([
  ['guarded texts', []],
  ['raw texts', ['--raw']],
])('an export that is imported again changes no record: %s', async (_, raw) => {
  const client = await system.login()
  const location = await makeHome(client, { import: 0.25 })
  const records = references.map((reference, index) => ({
    location_id: location,
    units: 'KWH',
    value: 1,
    start_time: hourOf(index),
    end_time: hourOf(index + 1),
    session_reference_id: reference,
    record_reference_id: reference,
  }))
  await client.submit(records)
  const { base_url: url, test_key: key } = system.sandbox()
  const out = join(makeTestFolder(), 'records.csv')
  const settings = { WATTLEDGER_API_KEY: key, WATTLEDGER_DATA_DIR: makeTestFolder() }
  const period = ['--from', '2026-03-01', '--to', '2026-03-02']
  const args = ['export', 'records', ...period, '--location', location, '--out', out, '--base-url', url, ...raw]
  await expect.poll(async () => (await runCommand(args, settings)).code, { timeout: 30_000 }).toBe(0)
  const columns = 'start=start_time,end=end_time,value=energy_wh,direction=tariff_direction'
  const { code, report } = await runImport(system.sandbox(), 'readings', [
    ...[out, '--location', location, '--unit', 'WH', '--columns', columns, ...raw],
  ])
  expect([code, report.accepted, report.refused]).toEqual([0, references.length, []])
  const stored = (await client.ask('GET', `/meters/records?location_id=${location}&limit=100`)) as {
    readonly data: readonly StoredRecord[]
  }
  const texts = stored.data.flatMap(({ data }) => [data.session_reference_id, data.record_reference_id])
  expect(texts.toSorted()).toEqual([...references, ...references].toSorted())
})
