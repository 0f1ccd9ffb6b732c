import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { runImport } from '../../support/interchange/run-import.ts'
import { makeTestFolder } from '../../support/stores/postgres.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'

const system = useSharedSystem()

it.each([
  ['locations', ',timezone,currency_code', ',Europe/Oslo,NOK'],
  ['devices', '', ''],
])('a name of %s for people is read from a column, and changed by --update', async (kind, heads, cells) => {
  const client = await system.login()
  const path = join(makeTestFolder(), `named-${kind}.csv`)
  const write = (name: string): void =>
    writeFileSync(path, `reference_id,display_name${heads}\nnamed,"${name}"${cells}\n`)
  write('Quay, north')
  await runImport(system.sandbox(), kind, [path])
  expect(await client.ask('GET', `/${kind}/reference:named`)).toMatchObject({ display_name: 'Quay, north' })
  write('Quay, south')
  await runImport(system.sandbox(), kind, [path, '--update'])
  expect(await client.ask('GET', `/${kind}/reference:named`)).toMatchObject({ display_name: 'Quay, south' })
})
