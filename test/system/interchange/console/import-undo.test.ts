import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Client, login } from '../../../support/system/client.ts'
import { bought, makeHome } from '../../../support/system/home.ts'
import { recordsOf } from '../../../support/system/stored-costs.ts'
import { useSharedSystem } from '../../../support/system/use-system.ts'
import { hasBrowser, launchBrowser } from '../../../support/web/browser.ts'
import { type ConsolePerson, openPerson } from '../../../support/web/console-person.ts'
import { signIn } from '../../../support/web/console-visitor.ts'
import { pageFaults } from '../../../support/web/page-faults.ts'

const system = useSharedSystem()
const path = '/console/imports'

const energiesOf = async (client: Client, home: string): Promise<readonly number[]> =>
  (await recordsOf(client, home)).map(({ data }) => data.energy.value).toReversed()

const hours = 'start,value\n2026-02-03T10:00:00Z,1\n2026-02-03T11:00:00Z,2\n2026-02-03T12:00:00Z,3\n'

/** Create a home with a record that the file replaces, and one that has the value of the file. */
const makeStoredHome = async (client: Client): Promise<string> => {
  const home = await makeHome(client, { import: 0.3 })
  await client.submit([
    bought(home, 7, '2026-02-03T10:00:00Z', '2026-02-03T11:00:00Z'),
    bought(home, 2, '2026-02-03T11:00:00Z', '2026-02-03T12:00:00Z'),
  ])
  return home
}

/** Counts of the page, in their order: withdrawn, set back, unchanged, left. */
const countsIn = (text: string): readonly string[] =>
  [...text.matchAll(/<dd>([^<]*)<\/dd>/g)].map(([, count = '']) => count).slice(0, 4)

/** Import the hours as a file. */
const importFile = async (one: ConsolePerson, home: string, name: string): Promise<void> => {
  const { tab } = one
  await one.goTo('Import readings')
  await tab.getByLabel('File with readings').setInputFiles({ name, mimeType: 'text/csv', buffer: Buffer.from(hours) })
  await tab.getByLabel('Location ID or reference').fill(home)
  await tab.getByLabel('Unit of all values').selectOption('KWH')
  await tab.getByLabel('Length of the intervals').fill('PT1H')
  await one.press('Import into test data')
  await tab.getByRole('heading', { name: 'Result' }).waitFor()
}

describe.skipIf(!hasBrowser)('the undo of an import in the console', () => {
  let browser: Browser
  let client: Client

  beforeAll(async () => {
    browser = await launchBrowser()
    client = await login(system.sandbox())
  }, 120_000)

  afterAll(() => browser?.close())

  it('shows the counts, asks, undoes, and is in the list and the audit log', { timeout: 120_000 }, async () => {
    const home = await makeStoredHome(client)
    await using one = await openPerson(browser, system.sandbox(), system.sandbox().test_key)
    const { tab } = one
    await importFile(one, home, 'wrong-month.csv')
    expect(await energiesOf(client, home)).toEqual([1_000, 2_000, 3_000])

    await one.goTo('Import readings')
    await tab.getByRole('link', { name: 'Undo the import wrong-month.csv' }).click()
    await tab.getByRole('heading', { name: 'What the undo changes' }).waitFor()
    expect(countsIn(await tab.content())).toEqual(['1', '1', '1', '0'])
    expect(await one.read()).not.toContain('Other imports')
    expect(await pageFaults(tab, path)).toEqual([])
    expect(await energiesOf(client, home)).toEqual([1_000, 2_000, 3_000])
    await one.press('Undo in test data')
    await tab.getByRole('heading', { name: 'Result' }).waitFor()
    expect(await one.read()).toContain('Import undone: 2 records changed.')
    await expect.poll(() => energiesOf(client, home), { timeout: 20_000 }).toEqual([7_000, 2_000, 0])

    await one.goTo('Import readings')
    const listed = await tab.getByRole('group', { name: 'Imports' }).innerText()
    expect(listed).toContain('wrong-month.csv')
    expect(listed).toContain('Undone ')
    type Log = { readonly data: readonly { readonly action: string }[] }
    const { data }: Log = await client.ask('GET', '/audit-log?limit=3')
    expect(data.map(({ action }) => action)).toEqual(['readings.import_undo', 'readings.import_end', 'readings.import'])
  })

  it('names the other import of the same readings before its question', { timeout: 120_000 }, async () => {
    const home = await makeHome(client, { import: 0.3 })
    await using one = await openPerson(browser, system.sandbox(), system.sandbox().test_key)
    const { tab } = one
    for (const name of ['first.csv', 'again.csv']) await importFile(one, home, name)
    await one.goTo('Import readings')
    await tab.getByRole('link', { name: 'Undo the import again.csv' }).click()
    await tab.getByRole('heading', { name: 'What the undo changes' }).waitFor()
    expect(countsIn(await tab.content())).toEqual(['0', '0', '3', '0'])
    expect(await one.read()).toContain(
      'Other imports sent some of these records too: first.csv. These records keep the value that others sent last.',
    )
    expect(await pageFaults(tab, path)).toEqual([])
    await one.follow('first.csv')
    await tab.getByRole('heading', { name: 'What the undo changes' }).waitFor()
    expect(countsIn(await tab.content())).toEqual(['0', '0', '0', '3'])
    expect(await one.read()).toContain('too: again.csv.')
    await one.press('Undo in test data')
    await tab.getByRole('heading', { name: 'Result' }).waitFor()
    expect(await energiesOf(client, home)).toEqual([1_000, 2_000, 3_000])
  })
})

describe('the undo of an import in the console without a script', () => {
  it('answers with whole pages, for those who may send records', { timeout: 60_000 }, async () => {
    const { base_url: base, account_id: account, test_key: key } = system.sandbox()
    const client = await login(system.sandbox())
    const home = await makeStoredHome(client)
    const submission = hours
      .trim()
      .split('\n')
      .slice(1)
      .map(line => {
        const [start = '', value] = line.split(',')
        return bought(home, Number(value), start, new Date(Date.parse(start) + 3_600_000).toISOString())
      })
    await client.ask('PUT', '/meters/interval?import_id=no-script', submission)
    const visitor = await signIn(base, account, key)
    const undoPath = `${path}/no-script/undo`
    const listed = async () => (await visitor.get(path)).text
    await expect.poll(listed, { timeout: 20_000 }).toContain(`href="${undoPath}"`)
    const asked = await visitor.get(undoPath)
    expect(countsIn(asked.text)).toEqual(['1', '1', '1', '0'])
    expect(asked.text).toMatch(/<!doctype html>.*What the undo changes.*Undo in test data.*<\/html>/s)
    const foreign = await visitor.send(undoPath, undoPath, { csrf: 'x'.repeat(43) })
    expect(foreign.status).toBe(403)
    const done = await visitor.send(undoPath, undoPath)
    expect(done.text).toMatch(/<!doctype html>.*Import undone: 2 records changed.*<\/html>/s)
    await expect.poll(() => energiesOf(client, home), { timeout: 20_000 }).toEqual([7_000, 2_000, 0])

    const unknown = await visitor.get(`${path}/never-sent/undo`)
    expect(unknown.text).toContain('import_not_found')
    expect(unknown.text).not.toContain('Undo in test data')
    const { text } = await visitor.send('/console/keys', '/console/keys', { scope: 'read' })
    const [, reader = ''] = /<code class="secret">(sk_test_\w+)<\/code>/.exec(text) ?? []
    expect((await (await signIn(base, account, reader)).get(undoPath)).status).toBe(403)
  })
})
