import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { runImport } from '../../support/interchange/run-import.ts'
import { makeTestFolder } from '../../support/stores/postgres.ts'
import { makeOne } from '../../support/system/home.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'

const system = useSharedSystem()

it('a file with tariffs is sent to the service, and its second import changes nothing', async () => {
  const client = await system.login()
  const location = { timezone: 'America/Denver', currency_code: 'USD', reference_id: 'tariff-home' }
  await makeOne(client, '/locations', location)
  const file = join(makeTestFolder(), 'rate.json')
  writeFileSync(
    file,
    JSON.stringify({ items: [{ label: 'flat', name: 'Flat', energyratestructure: [[{ rate: 0.11 }]] }] }),
  )
  const args = [file, '--location', 'tariff-home']
  const checked = await runImport(system.sandbox(), 'tariffs', [...args, '--dry-run'])
  expect(checked.report).toMatchObject({ dry_run: true, format: 'urdb' })
  const { code, report } = await runImport(system.sandbox(), 'tariffs', args)
  expect([code, report.created, report.unchanged]).toEqual([0, 1, 0])
  expect(report.imported).toMatchObject([{ object: 'tariff', direction: 'IMPORT', type: 'COMMODITY' }])
  const again = await runImport(system.sandbox(), 'tariffs', args)
  expect([again.code, again.report.created, again.report.unchanged]).toEqual([0, 0, 1])
  const refused = await runImport(system.sandbox(), 'tariffs', [file, '--location', 'unknown'])
  expect([refused.code, refused.report.error]).toEqual([1, expect.stringContaining('location')])
})
