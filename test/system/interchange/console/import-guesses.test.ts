import type { Browser, Page as Tab } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { makeWorkbook } from '../../../support/interchange/make-workbook.ts'
import { type Client, login } from '../../../support/system/client.ts'
import { makeHome } from '../../../support/system/home.ts'
import { recordsOf } from '../../../support/system/stored-costs.ts'
import { useSharedSystem } from '../../../support/system/use-system.ts'
import { hasBrowser, launchBrowser } from '../../../support/web/browser.ts'
import { openPerson } from '../../../support/web/console-person.ts'
import { signIn } from '../../../support/web/console-visitor.ts'
import { pageFaults } from '../../../support/web/page-faults.ts'

const system = useSharedSystem()
const path = '/console/imports'

const days = 'Datum;Verbrauch kWh\n28.03.2026;24,5\n29.03.2026;23\n30.03.2026;24\n'
const produced = 'start;Production kWh\n2026-03-01T00:00:00Z;3\n2026-03-01T01:00:00Z;1\n2026-03-01T02:00:00Z;2\n'
const octopus = 'Consumption (kWh),Start,End\n0.5,2026-03-01T00:00:00Z,2026-03-01T00:30:00Z\n'

const energies = async (client: Client, home: string): Promise<readonly number[]> =>
  (await recordsOf(client, home)).map(({ data }) => data.energy.value).sort((a, b) => a - b)

describe.skipIf(!hasBrowser)('a file that is dropped on the import page', () => {
  let browser: Browser
  let client: Client
  let home = ''

  beforeAll(async () => {
    browser = await launchBrowser()
    client = await login(system.sandbox())
  }, 120_000)

  afterAll(() => browser?.close())

  const open = async () => {
    home = await makeHome(client, { import: 0.3 })
    const one = await openPerson(browser, system.sandbox(), system.sandbox().test_key)
    await one.tab.goto(`${system.sandbox().base_url}${path}`)
    await one.tab.getByLabel('Location ID or reference').fill(home)
    return one
  }

  const drop = (tab: Tab, name: string, text: string): Promise<unknown> =>
    tab.evaluate(`(() => {
      const dataTransfer = new DataTransfer()
      dataTransfer.items.add(new File([${JSON.stringify(text)}], ${JSON.stringify(name)}))
      document.querySelector('form[data-part]').dispatchEvent(new DragEvent('drop', { dataTransfer, cancelable: true }))
    })()`)

  const textOf = (tab: Tab, label: string): Promise<string> => tab.getByLabel(label, { exact: true }).inputValue()

  const choose = async (tab: Tab, group: string, label: string, value: string): Promise<void> => {
    await tab.getByText(group, { exact: true }).click()
    await tab.getByLabel(label, { exact: true }).selectOption(value)
  }

  it('shows a preview with a guess in the menus, and is stored after a click', { timeout: 60_000 }, async () => {
    await using one = await open()
    const { tab } = one
    await drop(tab, 'days.csv', days)
    await tab.getByRole('heading', { name: 'Sums of the days' }).waitFor()
    const text = await one.read()
    expect(text).toContain('The first rows gave the columns')
    expect(text).toContain('all days bought 71.5')
    await expect.poll(() => textOf(tab, 'Unit of all values')).toBe('KWH')
    const labels = [
      'Length of the intervals',
      'Form of the times',
      'Decimal mark',
      'Column of start',
      'Column of value',
    ]
    expect(await Promise.all(labels.map(label => textOf(tab, label)))).toEqual(['P1D', 'dd.MM.yyyy', ',', '1', '2'])
    expect(await pageFaults(tab, path)).toEqual([])
    expect(await energies(client, home)).toEqual([])
    await one.press('Import into test data')
    await tab.getByRole('heading', { name: 'Result' }).waitFor()
    expect(await energies(client, home)).toEqual([23_000, 24_000, 24_500])
    // Another file has a guess of its own.
    await drop(tab, 'known.csv', octopus)
    await tab.getByText('known file octopus').waitFor()
    await expect.poll(() => textOf(tab, 'Known file')).toBe('octopus')
    expect(await Promise.all(labels.slice(0, 3).map(label => textOf(tab, label)))).toEqual(['', '', ''])
  })

  it('asks for what two options can mean, and sends nothing before the answer', { timeout: 60_000 }, async () => {
    await using one = await open()
    const { tab } = one
    await drop(tab, 'produced.csv', produced)
    const question = tab.getByText('can be sold energy or own generation. Set "Direction of all readings"')
    await question.waitFor()
    expect(await pageFaults(tab, path)).toEqual([])
    await expect.poll(() => textOf(tab, 'Unit of all values')).toBe('KWH')
    await one.press('Import into test data')
    await question.waitFor()
    expect(await energies(client, home)).toEqual([])
    await tab.getByLabel('Direction of all readings').selectOption('EXPORT')
    await one.press('Import into test data')
    await tab.getByRole('heading', { name: 'Result' }).waitFor()
    expect(await energies(client, home)).toEqual([1_000, 2_000, 3_000])
  })

  it('is a workbook whose worksheet is chosen', { timeout: 60_000 }, async () => {
    await using one = await open()
    const { tab } = one
    const row = (day: number, value: string) => [{ number: String(46_110 + day), style: 1 }, { number: value }]
    const sheets = {
      March: [['Day', 'Energy kWh'], row(0, '24'), row(1, '25'), row(2, '23')],
      April: [['Note', 'Day', 'Energy Wh'], ...[0, 1, 2].map(day => ['x', ...row(30 + day, String(1_002 - day))])],
    }
    const buffer = Buffer.from(makeWorkbook({ sheets }))
    await tab.getByLabel('File with readings').setInputFiles({ name: 'year.xlsx', mimeType: '', buffer })
    await one.press('Preview')
    await tab.getByRole('cell', { name: 'all days' }).waitFor()
    expect(await one.read()).toContain('all days bought 72')
    expect(await pageFaults(tab, path)).toEqual([])
    await tab.getByLabel('Worksheet').selectOption('April')
    await one.press('Preview')
    await tab.getByText('3.003').waitFor()
    await expect.poll(() => textOf(tab, 'Unit of all values')).toBe('WH')
    expect([await textOf(tab, 'Worksheet'), await textOf(tab, 'Column of value')]).toEqual(['April', '3'])
    await one.press('Import into test data')
    await tab.getByRole('heading', { name: 'Result' }).waitFor()
    expect(await energies(client, home)).toEqual([1_000, 1_001, 1_002])
  })

  it('keeps a choice of the user', { timeout: 60_000 }, async () => {
    await using one = await open()
    await choose(one.tab, 'Form of the file', 'Decimal mark', ',')
    await one.tab.getByLabel('Length of the intervals').fill('PT15M')
    await drop(one.tab, 'days.csv', days)
    await one.tab.getByRole('heading', { name: 'Sums of the days' }).waitFor()
    expect(await textOf(one.tab, 'Length of the intervals')).toBe('PT15M')
  })
})

describe('a file of the import page without a script', () => {
  it('gets a preview with a guess before it is stored, and the page has the guess in its inputs', {
    timeout: 60_000,
  }, async () => {
    const client = await login(system.sandbox())
    const home = await makeHome(client, { import: 0.3 })
    const { base_url: base, account_id: account, test_key: key } = system.sandbox()
    const visitor = await signIn(base, account, key)
    const fields = { step: 'import', location_id: home, file: days }
    const { text } = await visitor.send(path, path, fields)
    expect(text).toContain('Nothing is stored yet.')
    expect(text).toMatch(/<option value="KWH" selected>/)
    expect(text).toMatch(/name="interval"[^>]*value="P1D"/)
    expect(text).toMatch(/<!doctype html>.*Sums of the days.*<\/html>/s)
    expect(await energies(client, home)).toEqual([])
    const options = { unit: 'KWH', interval: 'P1D', 'date-format': 'dd.MM.yyyy', decimal: ',' }
    await visitor.send(path, path, { ...fields, ...options, 'column-start': '1', 'column-value': '2' })
    expect(await energies(client, home)).toEqual([23_000, 24_000, 24_500])
  })
})
