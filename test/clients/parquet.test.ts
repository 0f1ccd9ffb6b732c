import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { generateDecimalRecords } from '../support/clients/decimal-records.ts'
import { buildPythonClient, hasPython, runPython } from '../support/clients/python-client.ts'
import { makeHome } from '../support/system/home.ts'
import { until } from '../support/system/until.ts'
import { useSharedSystem } from '../support/system/use-system.ts'

const system = useSharedSystem()
const folder = mkdtempSync(join(tmpdir(), 'wattledger-parquet-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Enough for the installation of packages on a slow network. */
const installLimitMs = 420_000

/** Read a decimal text as a whole number of 10^-places. */
const wholeOf = (text: string, places: number): bigint => {
  const [whole, fraction = ''] = text.split('.')
  return BigInt(`${whole}${fraction.padEnd(places, '0')}`)
}
const total = (values: readonly bigint[]): bigint => values.reduce((sum, value) => sum + value, 0n)
/** Divide, and round half to even. */
const divide = (value: bigint, by: bigint): bigint => {
  const [quotient, twice] = [value / by, (value % by) * 2n]
  return twice > by || (twice === by && quotient % 2n === 1n) ? quotient + 1n : quotient
}

type Export = {
  readonly id: string
  readonly status: string
  readonly manifest: {
    readonly rows: number
    readonly sums: { readonly energy_wh: string; readonly cost: { readonly EUR: string } }
  }
}

/** What pyarrow reads. Decimals are texts. */
type Read = {
  readonly types: object
  readonly read: Readonly<Record<string, readonly [energy: string, cost: string]>>
  readonly starts: readonly string[]
  readonly sums: { readonly energy_wh: string; readonly cost: string }
}

describe.skipIf(!hasPython)('an exported Parquet file', () => {
  beforeAll(buildPythonClient, installLimitMs)

  it('has, read by pyarrow, each energy that was sent, its cost, and their sums, to the last digit', async () => {
    const client = await system.login()
    const home = await makeHome(client, { import: 0.123456789 })
    const sent = generateDecimalRecords(5_000, 3)
    await client.submit(
      `[${sent.map(
        one =>
          `{"location_id":"${home}","units":"WH",${JSON.stringify({ ...one, value: 0 })
            .slice(1)
            .replace('"value":0', `"value":${one.value}`)}`,
      )}]`,
    )
    const span = { start_time: '2026-01-01T00:00:00Z', end_time: '2027-01-01T00:00:00Z' }
    const body = { kind: 'records', format: 'parquet', location_id: home, ...span }
    const { id } = (await client.ask('POST', '/exports', body)) as Export
    const { manifest } = await until(
      async () => (await client.ask('GET', `/exports/${id}`)) as Export,
      ({ status }) => status === 'DONE',
    )
    const { base_url: url, account_id: account, test_key: key } = system.sandbox()
    const authorization = `Basic ${Buffer.from(`${account}:${key}`).toString('base64')}`
    const answer = await fetch(`${url}/exports/${id}/file`, { headers: { authorization } })
    const path = join(folder, 'records.parquet')
    writeFileSync(path, Buffer.from(await answer.arrayBuffer()))
    await client.ask('DELETE', `/exports/${id}`)

    const energies = sent.map(({ value }) => wholeOf(value, 6))
    // Energy in 1e-6 Wh × price in 1e-9 per kWh is 1e-18: 1e9 of it are the last digit of a cost.
    const costs = energies.map(energy => divide(energy * 123_456_789n, 10n ** 9n))
    const sums = [total(energies), total(costs)]
    expect(manifest.rows).toBe(5_000)
    expect([wholeOf(manifest.sums.energy_wh, 6), wholeOf(manifest.sums.cost.EUR, 9)]).toEqual(sums)
    const read = JSON.parse(await runPython(['tests/run_parquet.py', path])) as Read
    expect([wholeOf(read.sums.energy_wh, 6), wholeOf(read.sums.cost, 9)]).toEqual(sums)
    const rows = Object.entries(read.read).map(([reference, [energy, cost]]) => [
      reference,
      wholeOf(energy, 6),
      wholeOf(cost, 9),
    ])
    expect(rows).toEqual(sent.map((one, index) => [one.record_reference_id, energies[index], costs[index]]))
    expect(read.starts).toEqual(['2026-01-01T00:00:00+00:00', '2026-01-01T00:01:00+00:00'])
    expect(read.types).toMatchObject({
      id: 'string',
      start_time: 'timestamp[ms, tz=UTC]',
      energy_wh: 'decimal128(18, 6)',
      cost: 'decimal128(38, 9)',
      confidence: 'decimal128(9, 4)',
      revision: 'uint32',
    })
  })
})
