import { readFileSync } from 'node:fs'
import { beforeAll, describe, expect, it } from 'vitest'
import type { Sandbox } from '../../services/platform/access/sandbox-file.ts'
import { generateDecimalRecords } from '../support/clients/decimal-records.ts'
import { type ExampleCall, exampleCalls } from '../support/clients/example-calls.ts'
import { buildPythonClient, hasPython, runPython } from '../support/clients/python-client.ts'
import {
  type AnyClient,
  buildTypescriptClient,
  type ClientModule,
  loadClient,
  runInClient,
} from '../support/clients/typescript-client.ts'
import { createOtherAccount, openRecords } from '../support/registry/accounts.ts'
import { assertDefined, loopbackWebhooks } from '../support/registry/isolation-fixture.ts'
import { createLocation } from '../support/registry/object-fixture.ts'
import { login as loginTo } from '../support/system/client.ts'
import { useSystem } from '../support/system/use-system.ts'

const { sandbox, login, folder } = useSystem(loopbackWebhooks)

/** Output of a cell of a notebook: its text, and the media types of its data. */
type Output = { readonly text: string; readonly types: readonly string[] }

/** Enough for the installation of packages on a slow network. */
const installLimitMs = 420_000

const methodName = (id: string): string => id.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())

/** Perform a call, and return its answer: for a list the first page, for a download its text. */
const perform = async (
  client: AnyClient,
  { id, path, query, body, accept }: ExampleCall,
  { parseExact }: ClientModule,
): Promise<unknown> => {
  const input = { path, query, ...(body === null ? {} : { body: parseExact(body, new Set()) }) }
  if (accept !== null) return new Response(await client.download(methodName(id), accept, input)).text()
  const answer = await client[methodName(id)]?.(input)
  return answer !== undefined && 'page' in answer ? await answer.page() : answer
}

describe('the TypeScript client', () => {
  beforeAll(buildTypescriptClient, installLimitMs)

  it.each([
    ['current', 'test'],
    ['earlier', 'live'],
  ] as const)('performs every example of the %s OpenAPI document, and keeps each number', async (apiVersion, mode) => {
    const calls = await exampleCalls(sandbox(), mode, apiVersion)
    const texts: string[] = []
    const built = await loadClient(apiVersion)
    const client = built.createClient({
      baseUrl: sandbox().base_url,
      accountId: sandbox().account_id,
      apiKey: mode === 'live' ? sandbox().live_key : sandbox().test_key,
      fetch: async (...words: Parameters<typeof fetch>) => {
        const response = await fetch(...words)
        texts.push(await response.clone().text())
        return response
      },
    })
    const faults: string[] = []
    for (const call of calls) {
      try {
        const answer = await perform(client, call, built)
        if (call.accept === null && built.writeExact(answer) !== texts.at(-1))
          faults.push(`${call.id}: ${texts.at(-1)}`)
      } catch (error) {
        faults.push(`${call.id}: ${error}`)
      }
    }
    expect(faults).toEqual([])
    expect(calls.length).toBeGreaterThan(50)
  })

  it('has types that accept decimals only, and an example in its README that prints the cost', async () => {
    await runInClient(['node_modules/typescript/bin/tsc', '-p', 'examples'])
    const example = readFileSync('clients/typescript/examples/first-cost.ts', 'utf8')
    expect(readFileSync('clients/typescript/README.md', 'utf8')).toContain(example)
    const printed = await runInClient(['examples/first-cost.ts'], { URL: sandbox().base_url, KEY: sandbox().test_key })
    expect(printed).toBe('1.961\n')
  })

  it('has the compiled example of a webhook in its README', () => {
    // The test above compiles all examples.
    const example = readFileSync('clients/typescript/examples/webhook.ts', 'utf8')
    expect(readFileSync('clients/typescript/README.md', 'utf8')).toContain(example)
  })

  it('uploads 10,000 random decimals in chunks, and reads the same texts from a list', async () => {
    const { createClient, decimal } = await loadClient('current')
    // The key is used directly, without a login.
    const client = createClient({ baseUrl: sandbox().base_url, apiKey: sandbox().test_key })
    const location_id = await createLocation(await login())
    const records = generateDecimalRecords(10_000)
    const body = records.map(one => ({ ...one, location_id, units: 'WH', value: decimal(one.value) }))
    const accepted: number[] = []
    for await (const { id } of client.submitRecords(body))
      accepted.push((await client.waitForBatch(id)).records_processed)
    expect(accepted).toEqual([5_000, 5_000])
    const read = new Map<string, string>()
    for await (const record of client.meterRecordList({ query: { location_id, limit: 100 } }))
      read.set(record.data.record_reference_id, record.energy_submitted.text)
    expect(read).toEqual(new Map(records.map(one => [one.record_reference_id, one.value])))
    // Floats would change some of the texts.
    expect(records.filter(({ value }) => String(Number(value)) !== value).length).toBeGreaterThan(100)
  })
})

describe.skipIf(!hasPython)('the Python client', () => {
  let account: Sandbox | undefined
  const accountOf = (): Sandbox => assertDefined(account)
  beforeAll(async () => {
    await buildPythonClient()
    await using records = await openRecords(folder)
    account = await createOtherAccount(records, folder, sandbox())
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
})
