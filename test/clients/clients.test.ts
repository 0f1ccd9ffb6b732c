import { readFileSync } from 'node:fs'
import { beforeAll, describe, expect, it } from 'vitest'
import type { Sandbox } from '../../services/platform/access/sandbox-file.ts'
import { clientsInShort } from '../support/clients/clients-in-short.ts'
import { generateDecimalRecords } from '../support/clients/decimal-records.ts'
import { exampleCalls } from '../support/clients/example-calls.ts'
import { findNode20 } from '../support/clients/node-20.ts'
import { buildPythonClient, hasPython, runPython } from '../support/clients/python-client.ts'
import { buildTypescriptClient, runInClient } from '../support/clients/typescript-client.ts'
import { createOtherAccount, openRecords } from '../support/registry/accounts.ts'
import { assertDefined } from '../support/registry/isolation-fixture.ts'
import { createLocation } from '../support/registry/object-fixture.ts'
import { type Client, login as loginTo } from '../support/system/client.ts'
import { makeHome } from '../support/system/home.ts'
import { loopbackWebhooks } from '../support/system/running-system.ts'
import { useSystem } from '../support/system/use-system.ts'
import { casesOfRun } from '../support/test-run/short-form.ts'

const { sandbox, folder } = useSystem(loopbackWebhooks)

/** Output of a cell of a notebook: its text, and the media types of its data. */
type Output = { readonly text: string; readonly types: readonly string[] }

const hours = 6_000

/** Create locations, and return the input of an upload of electricity and gas in the same hours. */
const twoQuantities = async (account: Sandbox, locations: number) => {
  const client = await loginTo(account)
  const location_ids: string[] = []
  for (let made = 0; made < locations; made += 1) location_ids.push(await makeHome(client, { import: 0.25 }))
  const input = { base_url: account.base_url, api_key: account.test_key, location_ids, count: hours }
  return { client, location_ids, input }
}

/** The gas is refused. The electricity that is repeated with equal values is accepted, and counts once. */
const ofOneQuantity = {
  accepted: 2 * hours,
  failed: hours,
  first: expect.stringMatching(/^duplicate_row: Record 6001 of the call has .* record 1,/),
  last: expect.stringMatching(/^duplicate_row: Record 12000 of the call has .* record 6000,/),
}

const energyOf = async (client: Client, location: string): Promise<number | undefined> => {
  const year = { start_time: '2025-01-01T00:00:00Z', end_time: '2026-01-01T00:00:00Z' }
  const costs = await client.ask('POST', `/costs/interval/${location}`, year)
  return (costs as unknown as { data: { energy: { value: number } }[] }).data[0]?.energy.value
}

/** Enough for the installation of packages on a slow network. */
const installLimitMs = 420_000

const chosen = casesOfRun(clientsInShort)
const node20 = chosen.includes('TypeScript on Node 20') ? await findNode20() : null

/** Open an account of its own: the examples have references that an account has once. */
const openAccount = async (): Promise<Sandbox> => {
  await using records = await openRecords(folder)
  return await createOtherAccount(records, folder, sandbox())
}

const testTypescriptPackage = (): void => {
  beforeAll(buildTypescriptClient, installLimitMs)

  it('has types that accept decimals only, and compiled examples in its README', async () => {
    await runInClient(['node_modules/typescript/bin/tsc', '-p', 'examples'])
    const readme = readFileSync('clients/typescript/README.md', 'utf8')
    for (const name of ['first-cost.ts', 'webhook.ts'])
      expect(readme).toContain(readFileSync(`clients/typescript/examples/${name}`, 'utf8'))
  })

  it('has an example that prints the cost', async () => {
    const printed = await runInClient(['examples/first-cost.ts'], { URL: sandbox().base_url, KEY: sandbox().test_key })
    expect(printed).toBe('1.961\n')
  })
}

if (chosen.some(client => client !== 'Python')) describe('the TypeScript client', testTypescriptPackage)

const typescriptRuns = [
  ['TypeScript on the packaged Node', process.execPath],
  ['TypeScript on Node 20', node20],
] as const

describe.each(typescriptRuns.filter(([client]) => chosen.includes(client)))('the client for %s', (_, program) => {
  const run = (name: string, input: object = {}): Promise<string> =>
    runInClient(
      [`tests/${name}.mjs`],
      {},
      { program: assertDefined(program ?? undefined), input: JSON.stringify(input) },
    )
  let account: Sandbox | undefined
  const accountOf = (): Sandbox => assertDefined(account)
  beforeAll(async () => {
    await buildTypescriptClient()
    account = await openAccount()
  }, installLimitMs)

  it.skipIf(program === null)('reads and writes exact numbers, and refuses wrong JSON', async () => {
    const version = await run('exact-json')
    expect(version.startsWith('v20.')).toBe(program === node20)
  })

  it.skipIf(program === null).each([
    ['current', 'test'],
    ['earlier', 'live'],
  ] as const)('performs every example of the %s OpenAPI document, and keeps each number', async (version, mode) => {
    const { base_url, account_id, live_key, test_key } = accountOf()
    const calls = await exampleCalls(accountOf(), mode, version)
    const api_key = mode === 'live' ? live_key : test_key
    expect(JSON.parse(await run('run-examples', { version, base_url, account_id, api_key, calls }))).toEqual([])
    expect(calls.length).toBeGreaterThan(50)
  })

  it.skipIf(program === null)(
    'uploads 10,000 random decimals in chunks, and reads the same texts from a list',
    async () => {
      const { base_url, test_key: api_key } = accountOf()
      const location_id = await createLocation(await loginTo(accountOf()))
      const records = generateDecimalRecords(10_000)
      // The key is used directly, without a login.
      expect(JSON.parse(await run('run-decimals', { base_url, api_key, location_id, records }))).toEqual({
        processed: [5_000, 5_000],
        read: Object.fromEntries(records.map(one => [one.record_reference_id, one.value])),
      })
      // Floats would change some of the texts.
      expect(records.filter(({ value }) => String(Number(value)) !== value).length).toBeGreaterThan(100)
    },
  )

  it.skipIf(program === null)('refuses an identity that comes again with another value, in any chunk', async () => {
    const { client, location_ids, input } = await twoQuantities(accountOf(), 1)
    expect(JSON.parse(await run('run-duplicates', input))).toEqual([ofOneQuantity])
    expect(await energyOf(client, location_ids[0] ?? '')).toBe(hours * 1_000)
  })
})

const testPythonClient = (): void => {
  let account: Sandbox | undefined
  const accountOf = (): Sandbox => assertDefined(account)
  beforeAll(async () => {
    await buildPythonClient()
    account = await openAccount()
  }, installLimitMs)

  it('keeps decimals, retries, reads lists and verifies deliveries', async () => {
    await runPython(['-m', 'unittest', 'discover', '-s', 'tests'])
  })

  it('has an example in its README that prints the cost', async () => {
    const { base_url, test_key } = accountOf()
    const example = readFileSync('clients/python/examples/first_cost.py', 'utf8')
    expect(readFileSync('clients/python/README.md', 'utf8')).toContain(example)
    expect(await runPython(['examples/first_cost.py'], '', { URL: base_url, KEY: test_key })).toBe('1.961\n')
  })

  it('runs the notebook from readings to a chart of costs', async () => {
    const { base_url, test_key } = accountOf()
    const program = ['tests/run_notebook.py', '../../docs/notebook.ipynb']
    const outputs = JSON.parse(await runPython(program, '', { URL: base_url, KEY: test_key })) as readonly Output[]
    // A day has 8 kWh of the night and 20 kWh of the day: 8 × 0.21 + 20 × 0.32 = 8.08. Seven days cost 56.56.
    expect(outputs.map(({ text }) => text).join('')).toMatch(/^168 hours, 196(?:\.0+)? kWh, 56\.56 EUR$/m)
    expect(outputs.flatMap(({ types }) => types)).toContain('image/png')
  })

  it('has one version, in its package and in its module', () => {
    const [project, module] = ['pyproject.toml', 'wattledger/__init__.py'].map(path =>
      /version__? = "([^"]+)"|^version = "([^"]+)"/m.exec(readFileSync(`clients/python/${path}`, 'utf8')),
    )
    expect(project?.[2]).toBe(module?.[1])
    expect(project?.[2]).toMatch(/^\d+\.\d+\.\d+$/)
  })

  it.each([
    ['current', 'test'],
    ['earlier', 'live'],
  ] as const)('performs every example of the %s OpenAPI document, and keeps each number', async (version, mode) => {
    const { base_url, account_id, live_key, test_key } = accountOf()
    const calls = await exampleCalls(accountOf(), mode, version)
    const api_key = mode === 'live' ? live_key : test_key
    const input = JSON.stringify({ version, base_url, account_id, api_key, calls })
    expect(JSON.parse(await runPython(['tests/run_examples.py'], input))).toEqual([])
    expect(calls.length).toBeGreaterThan(50)
  })

  it('uploads 10,000 random decimals in chunks, and reads the same texts from a list', async () => {
    const { base_url, test_key: api_key } = accountOf()
    const location_id = await createLocation(await loginTo(accountOf()))
    const records = generateDecimalRecords(10_000, 2)
    const input = JSON.stringify({ base_url, api_key, location_id, records })
    expect(JSON.parse(await runPython(['tests/run_decimals.py'], input))).toEqual({
      processed: [5_000, 5_000],
      read: Object.fromEntries(records.map(one => [one.record_reference_id, one.value])),
    })
  })

  it('refuses an identity that comes again with another value, in any chunk', async () => {
    const { client, location_ids, input } = await twoQuantities(accountOf(), 2)
    const summaries = JSON.parse(await runPython(['tests/run_duplicates.py'], JSON.stringify(input)))
    expect(summaries).toEqual([ofOneQuantity, ofOneQuantity])
    for (const location of location_ids) expect(await energyOf(client, location)).toBe(hours * 1_000)
  })
}

if (chosen.includes('Python')) describe.skipIf(!hasPython)('the Python client', testPythonClient)
