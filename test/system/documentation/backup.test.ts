import { execFileSync } from 'node:child_process'
import { chmodSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { login } from '../../support/system/client.ts'
import { bought, makeHome } from '../../support/system/home.ts'
import { fillDataFolder } from '../../support/system/prepared-folder.ts'
import { dataFolder, removeData, startSystem } from '../../support/system/running-system.ts'

const page = readFileSync('docs/operations.md', 'utf8')

/** Return the commands of a named block of the page. */
const commands = (name: string): string => new RegExp(`^\`\`\`sh ${name}\n(.*?)^\`\`\`$`, 'ms').exec(page)?.[1] ?? ''

describe('the commands of the page about operations', () => {
  const [folder, linkedFolder] = [dataFolder(), dataFolder()]
  afterAll(() => [folder, linkedFolder].map(removeData))

  /** Move the database out of the data folder, as the service does if its user cannot enter the folder. */
  const moveDatabase = (from: string): string => {
    const away = join(from, '../away')
    renameSync(join(from, 'postgres'), away)
    symlinkSync(away, join(from, 'postgres'))
    return away
  }

  it.each([
    ['', folder],
    [', whose database is behind a link', linkedFolder],
  ])('restore all costs and keys from a backup of the data folder%s', { timeout: 120_000 }, async (name, folder) => {
    await fillDataFolder(folder)
    const variables = { DATA: folder, BACKUP: join(folder, '../backup.tar'), RESTORED: join(folder, '../restored') }
    const runBlock = (name: string): void => {
      expect(commands(name)).not.toBe('')
      execFileSync('sh', ['-ec', commands(name)], { env: { ...process.env, ...variables } })
    }
    const day = { start_time: '2026-01-15T00:00:00Z', end_time: '2026-01-16T00:00:00Z' }

    const first = await startSystem(folder)
    const client = await login(first.sandbox)
    const home = await makeHome(client, { import: 0.3 })
    await client.submit([bought(home, 2, '2026-01-15T10:00:00Z', '2026-01-15T11:00:00Z')])
    const before = await client.ask('POST', `/costs/interval/${home}`, day)
    expect(await first.stop()).toBe(0)

    const away = name === '' ? null : moveDatabase(folder)
    runBlock('backup')
    if (away !== null) {
      rmSync(away, { recursive: true })
      await expect(startSystem(folder)).rejects.toThrow(`The database of ${folder} is missing in ${away}.`)
    }
    runBlock('restore')
    chmodSync(join(folder, '..'), 0o755)
    await using second = await startSystem(variables.RESTORED)
    expect(second.sandbox.test_key).toBe(first.sandbox.test_key)
    const after = await (await login(second.sandbox)).ask('POST', `/costs/interval/${home}`, day)
    const answer = { id: expect.any(String), time_created: expect.any(String) }
    expect(after).toEqual({ ...(before as object), ...answer })
    expect(JSON.stringify(after)).toContain('"value":0.6')
  })
})
