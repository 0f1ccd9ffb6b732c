import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { runImport } from '../../support/interchange/run-import.ts'
import { makeTestFolder } from '../../support/stores/postgres.ts'
import { makeOne } from '../../support/system/home.ts'
import { runCommand } from '../../support/system/run-command.ts'
import { useSharedSystem, useSystem } from '../../support/system/use-system.ts'

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

describe('a file of tariffs for the library of a supplier', () => {
  const { running, folder } = useSystem()
  const rate = (price: number, name = 'Flat') => ({ label: name, name, energyratestructure: [[{ rate: price }]] })
  const providers = { providers: [{ display_name: 'Plains Energy', countries: ['US'] }] }
  const write = (name: string, content: object): string => {
    const path = join(folder, name)
    writeFileSync(path, JSON.stringify(content))
    return path
  }
  const command = async (...args: readonly string[]) => {
    const { code, out, err } = await runCommand(args, { WATTLEDGER_DATA_DIR: folder })
    return { code, err, json: out === '' ? null : JSON.parse(out) }
  }

  it('is imported once, changed by a new file, and needs no key', async () => {
    expect(running()).toBeDefined()
    const made = await command('providers', 'import', write('providers.json', providers), '--json')
    const [{ id }] = made.json.providers as [{ id: string }]
    const past = { ...rate(0.3, 'Old'), enddate: Date.parse('2020-01-01T00:00:00Z') / 1000 }
    const file = write('library.json', {
      items: [{ ...rate(0.11), fixedchargefirstmeter: 9, fixedchargeunits: '$/month' }, past],
    })
    const words = ['--library', id, '--json']
    const dry = await command('import', 'tariffs', file, ...words, '--dry-run')
    expect([dry.code, dry.json.created]).toEqual([3, 1])
    const first = await command('import', 'tariffs', file, ...words)
    expect([first.code, first.json.created, first.json.imported]).toEqual([
      3,
      1,
      [expect.objectContaining({ object: 'library_tariff', name: 'Flat', direction: 'IMPORT', type: 'COMMODITY' })],
    ])
    expect(first.json.not_imported).toEqual([
      expect.objectContaining({ path: '/items/0/fixedchargefirstmeter', reason: 'no_charges', affects: 'bill' }),
      expect.objectContaining({ path: '/items/0/fixedchargeunits', reason: 'no_charges' }),
    ])
    expect(first.json.noted).toContainEqual(
      expect.objectContaining({ path: '/items/1/energyratestructure', message: 'is not in force now' }),
    )
    const again = await command('import', 'tariffs', file, ...words)
    expect([again.json.created, again.json.unchanged]).toEqual([0, 1])
    const changed = await command('import', 'tariffs', write('new.json', { items: [rate(0.12)] }), ...words)
    expect([changed.code, changed.json.changed]).toEqual([0, 1])
    const list = await command('providers', 'list', '--country', 'US', '--json')
    expect(JSON.stringify(list.json)).toContain('Plains Energy')
  })

  it('is refused for an unknown supplier, and with options of a location', async () => {
    const file = write('one.json', { items: [rate(0.11)] })
    const unknown = await command('import', 'tariffs', file, '--library', `prv_${'0'.repeat(24)}`)
    expect([unknown.code, unknown.err]).toEqual([1, expect.stringContaining('There is no supplier')])
    const both = await command('import', 'tariffs', file, '--library', `prv_${'0'.repeat(24)}`, '--replace')
    expect([both.code, both.err]).toEqual([2, expect.stringContaining('--library and --replace exclude each other')])
    const none = await command('import', 'tariffs', file)
    expect(none.err).toContain('--location is missing')
  })
})
