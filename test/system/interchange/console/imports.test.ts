import type { Browser, Page as Tab } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Client, login } from '../../../support/system/client.ts'
import { makeHome } from '../../../support/system/home.ts'
import { useSharedSystem } from '../../../support/system/use-system.ts'
import { hasBrowser, launchBrowser } from '../../../support/web/browser.ts'
import { openPerson } from '../../../support/web/console-person.ts'
import { signIn } from '../../../support/web/console-visitor.ts'
import { pageFaults } from '../../../support/web/page-faults.ts'

const system = useSharedSystem()
const path = '/console/imports'

/** Four hours of a home, one of them wrong, under headings that no preset knows. */
const file = {
  name: 'depot.csv',
  mimeType: 'text/csv',
  buffer: Buffer.from(
    ['From;Used', '2026-01-15 10:00;1.5', '2026-01-15 11:00;2.25', '2026-01-15 12:00;much', '2026-01-16 00:00;4'].join(
      '\n',
    ),
  ),
}

type RecordList = {
  readonly data: readonly { readonly data: { readonly start_time: string }; readonly energy_submitted: number }[]
}

const recordsOf = async (client: Client, home: string): Promise<readonly (readonly [string, number])[]> => {
  const list: RecordList = await client.ask('GET', `/meters/records?location_id=${home}`)
  return list.data
    .map(({ data, energy_submitted: energy }) => [new Date(data.start_time).toISOString(), energy] as const)
    .sort()
}

type AuditEntry = {
  readonly action: string
  readonly time_created: string
  readonly detail: Readonly<Record<string, unknown>>
}

/** Return the newest two audit entries. */
const auditOf = async (client: Client): Promise<readonly AuditEntry[]> => {
  const { data }: { readonly data: readonly AuditEntry[] } = await client.ask('GET', '/audit-log?limit=2')
  return data
}

describe.skipIf(!hasBrowser)('the import of the console', () => {
  let browser: Browser
  let client: Client

  beforeAll(async () => {
    browser = await launchBrowser()
    client = await login(system.sandbox())
  }, 120_000)

  afterAll(() => browser?.close())

  const fill = async (tab: Tab, home: string): Promise<void> => {
    await tab.getByLabel('File with readings').setInputFiles(file)
    await tab.getByLabel('Location ID or reference').fill(home)
    await tab.getByLabel('Unit of all values').selectOption('KWH')
    await tab.getByLabel('Length of the intervals').fill('PT1H')
  }

  const cellsOf = async (tab: Tab, label: string): Promise<readonly string[]> => {
    const texts = await tab.getByRole('group', { name: label, exact: true }).locator('tbody td').allInnerTexts()
    return texts.map(text => text.replaceAll('\u00a0', ' '))
  }

  it('shows a file, maps its columns, stores the rows of the preview, and names the refused row', {
    timeout: 120_000,
  }, async () => {
    const home = await makeHome(client, { import: 0.3 }, { reference_id: 'Depot of the import' })
    await using one = await openPerson(browser, system.sandbox(), system.sandbox().test_key)
    const { tab } = one
    await tab.getByRole('link', { name: 'Import readings' }).click()
    await fill(tab, 'Depot of the import')
    await tab.getByRole('button', { name: 'Preview' }).click()
    // The headings are unknown, so the page asks for the columns.
    await tab.getByRole('alert').waitFor()
    await tab.getByText('Columns of the file').click()
    await tab.getByLabel('Column of start').selectOption('1')
    await tab.getByLabel('Column of value', { exact: true }).selectOption('2')
    await tab.getByRole('button', { name: 'Preview' }).click()
    await tab.getByRole('heading', { name: 'Sums of the days' }).waitFor()
    expect(await recordsOf(client, home)).toEqual([])
    const first = await cellsOf(tab, 'First readings')
    expect(first.slice(0, 5)).toEqual([
      '2',
      'reference:Depot of the import',
      '15 Jan 2026, 10:00:00',
      '15 Jan 2026, 11:00:00',
      '1.5 KWH',
    ])
    expect(first[4 + 14]).toBe('4 KWH')
    // 1.5 + 2.25 kWh of the first day, 4 kWh of the second, 7.75 kWh in all.
    expect(await cellsOf(tab, 'Sums of the days')).toEqual([
      '2026-01-15',
      'bought',
      '3.75 kWh',
      '2026-01-16',
      'bought',
      '4 kWh',
      'all days',
      'bought',
      '7.75 kWh',
    ])
    expect(await one.read()).toContain('The time of a row is read as the start of its interval.')
    expect((await cellsOf(tab, 'Refused rows'))[0]).toBe('4')
    expect(await pageFaults(tab, path)).toEqual([])

    await tab.getByRole('button', { name: 'Import into test data' }).click()
    await tab.getByRole('heading', { name: 'Result' }).waitFor()
    const [download] = await Promise.all([
      tab.waitForEvent('download'),
      tab.getByRole('link', { name: 'Download the refused rows' }).click(),
    ])
    expect(download.suggestedFilename()).toBe('refused.csv')
    // The home is in Berlin: 10:00 is 09:00 UTC.
    expect(await recordsOf(client, home)).toEqual([
      ['2026-01-15T09:00:00.000Z', 1_500],
      ['2026-01-15T10:00:00.000Z', 2_250],
      ['2026-01-15T23:00:00.000Z', 4_000],
    ])
    const [end, start] = await auditOf(client)
    expect(end).toMatchObject({
      action: 'readings.import_end',
      detail: { file: 'depot.csv', accepted: 3, refused: 1, is_complete: true },
    })
    expect(start).toMatchObject({
      action: 'readings.import',
      detail: { file: 'depot.csv', import_id: end?.detail['import_id'] },
    })
    expect(Date.parse(start?.time_created ?? '')).toBeLessThanOrEqual(Date.parse(end?.time_created ?? ''))
    await tab.goto(tab.url())
    await tab.getByText('reached the end of the file: 3 readings accepted, 1 row refused').waitFor()
  })

  it('reports what it sent before the browser was closed, and counts each reading once', {
    timeout: 180_000,
  }, async () => {
    const home = await makeHome(client, { import: 0.3 })
    const rows = 200_000
    const start = Date.parse('2020-01-01T00:00:00Z')
    const lines = Array.from({ length: rows }, (_, index) => `${new Date(start + index * 900_000).toISOString()},1`)
    const long = { name: 'years.csv', mimeType: 'text/csv', buffer: Buffer.from(['start,value', ...lines].join('\n')) }
    const open = async () => {
      const one = await openPerson(browser, system.sandbox(), system.sandbox().test_key)
      await one.tab.getByRole('link', { name: 'Import readings' }).click()
      await one.tab.getByLabel('File with readings').setInputFiles(long)
      await one.tab.getByLabel('Location ID or reference').fill(home)
      await one.tab.getByLabel('Unit of all values').selectOption('WH')
      await one.tab.getByLabel('Length of the intervals').fill('PT15M')
      return one
    }
    {
      await using one = await open()
      await one.press('Import into test data')
      await one.tab.getByText(',000 accepted, 0 refused…').first().waitFor()
    }
    await expect.poll(async () => (await auditOf(client))[0]?.action, { timeout: 60_000 }).toBe('readings.import_end')
    const [end] = await auditOf(client)
    const accepted = Number(end?.detail['accepted'])
    expect(end?.detail).toMatchObject({ file: 'years.csv', is_complete: false })
    expect(accepted).toBeGreaterThan(0)
    expect(accepted).toBeLessThan(rows)
    const energy = async (): Promise<number> => {
      const range = { start_time: '2020-01-01T00:00:00Z', end_time: '2026-01-01T00:00:00Z' }
      type Months = { readonly data: readonly { readonly energy: { readonly value: number } }[] }
      const { data }: Months = await client.ask('POST', `/costs/interval/${home}?aggregation=MONTH`, range)
      return data.reduce((sum, { energy: { value } }) => sum + value, 0)
    }
    // 1 Wh for each reading that the page reports.
    await expect.poll(energy, { timeout: 60_000 }).toBe(accepted)
    await using again = await open()
    const sent = accepted.toLocaleString('en')
    expect(await again.read()).toContain(
      `It ended before the end of the file: ${sent} readings accepted, 0 rows refused.`,
    )
    await again.press('Import into test data')
    await again.tab.getByRole('heading', { name: 'Result' }).waitFor({ timeout: 120_000 })
    expect(await again.read()).toContain(`Import ended: ${rows.toLocaleString('en')} readings accepted.`)
    expect(await again.read()).not.toContain('replaced with another value')
    await expect.poll(energy, { timeout: 60_000 }).toBe(rows)
  })
})

describe('the import of the console without a script', () => {
  let client: Client
  let home = ''

  beforeAll(async () => {
    client = await login(system.sandbox())
    home = await makeHome(client, { import: 0.3 })
  }, 120_000)

  /** Send the form as a browser does. Returns the status and the text of the page. */
  const send = async (
    key: string,
    fields: Readonly<Record<string, string>>,
    content: string | Uint8Array<ArrayBuffer>,
  ): Promise<{ readonly status: number; readonly text: string }> => {
    const { base_url: base, account_id: account } = system.sandbox()
    const visitor = await signIn(base, account, key)
    const [, csrf = ''] = /name="csrf" value="([^"]*)"/.exec((await visitor.get(path)).text) ?? []
    const body = new FormData()
    for (const [name, value] of Object.entries({ csrf, ...fields })) body.append(name, value)
    body.append('file', new Blob([content]), 'hours.csv')
    const cookie = [...visitor.cookies].map(pair => pair.join('=')).join('; ')
    const response = await fetch(base + path, { method: 'POST', body, headers: { cookie, origin: base } })
    return { status: response.status, text: await response.text() }
  }

  const options = () => ({ step: 'import', location_id: home, unit: 'KWH', interval: 'PT1H' })
  const hours = 'start,value\n2026-02-03T10:00:00Z,1\n2026-02-03T11:00:00Z,2\n2026-02-03T12:00:00Z,x\n'

  it('answers with the whole page and counts a file that is sent again once', { timeout: 60_000 }, async () => {
    for (const _ of [1, 2]) {
      const { status, text } = await send(system.sandbox().test_key, options(), hours)
      expect(status).toBe(200)
      expect(text).toContain('Import ended: 2 readings accepted.')
      expect(text).toMatch(/<!doctype html>.*refused\.csv.*Before you import.*<\/html>/s)
    }
    expect(await recordsOf(client, home)).toEqual([
      ['2026-02-03T10:00:00.000Z', 1_000],
      ['2026-02-03T11:00:00.000Z', 2_000],
    ])
    // The live data of the account has no such location.
    const live = await send(system.sandbox().live_key, options(), hours)
    expect(live.text).toContain('Live mode')
    expect(live.text).toMatch(/class="notice bad"/)
  })

  it('refuses a form of another site, a file that is too large, and a visitor who may only read', {
    timeout: 60_000,
  }, async () => {
    const day = hours.replaceAll('02-03', '02-04')
    expect((await send(system.sandbox().test_key, { ...options(), csrf: 'x'.repeat(43) }, day)).status).toBe(403)
    const large = new Uint8Array(16 * 2 ** 20)
    expect((await send(system.sandbox().test_key, options(), large)).status).toBe(413)
    const owner = await signIn(system.sandbox().base_url, system.sandbox().account_id, system.sandbox().test_key)
    const { text } = await owner.send('/console/keys', '/console/keys', { scope: 'read' })
    const [, reader = ''] = /<code class="secret">(sk_test_\w+)<\/code>/.exec(text) ?? []
    expect((await send(reader, options(), day)).status).toBe(403)
    expect((await recordsOf(client, home)).filter(([start]) => start.startsWith('2026-02-04'))).toEqual([])
  })

  it('explains a wrong option by the label of its input', { timeout: 60_000 }, async () => {
    const { text } = await send(system.sandbox().test_key, { ...options(), step: 'preview', interval: '1 h' }, hours)
    expect(text).toContain('&quot;Length of the intervals&quot; must be P1D')
  })
})
