import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { beforeAll, describe, expect, it } from 'vitest'
import { runImport } from '../../support/interchange/run-import.ts'
import { linesOf, postStatement } from '../../support/statements/statement-answer.ts'
import type { Client } from '../../support/system/client.ts'
import { makeOne } from '../../support/system/home.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'

type Shape = {
  readonly direction: string
  readonly start: string
  readonly hours: number
  readonly base: number
  readonly step: number
  readonly modulo: number
}

type Case = {
  readonly id: string
  readonly kind: string
  readonly file: string
  readonly format: string
  readonly location: object
  readonly options: readonly string[]
  readonly before?: readonly object[]
  readonly imported: string | readonly (readonly [string, string])[]
  readonly not_imported: readonly string[]
  readonly complete?: string
  readonly records?: readonly Shape[]
  readonly expected?: readonly { readonly tariff_direction: string; readonly cost: string }[]
  readonly tolerance?: { readonly abs: number }
  readonly contract?: readonly [string, string]
  readonly exit?: readonly number[]
  readonly when_charges?: Readonly<Record<string, unknown>>
}

type Imported = {
  readonly object: string
  readonly id: string
  readonly direction: string | null
  readonly type: string
  readonly from: readonly string[]
}

type Report = {
  readonly created: number
  readonly unchanged: number
  readonly imported: readonly Imported[]
  readonly not_imported: readonly { readonly path: string }[]
  readonly noted: readonly { readonly path: string }[]
}

const folder = new URL('../../../../shared/acceptance/interchange/', import.meta.url)
const casesFile = new URL('cases.json', folder)
const cases: readonly Case[] = existsSync(casesFile)
  ? (JSON.parse(readFileSync(casesFile, 'utf8')) as { readonly cases: readonly Case[] }).cases.filter(
      ({ kind }) => kind === 'tariff',
    )
  : []
if (cases.length === 0) console.info(`14 imports of tariffs are skipped: ${casesFile.pathname} does not exist.`)

const system = useSharedSystem()
let client: Client

beforeAll(async () => {
  client = await system.login()
})

const recordsOf = (locationId: string, shapes: readonly Shape[]): readonly object[] =>
  shapes.flatMap(({ start, hours, base, step, modulo, direction }) =>
    Array.from({ length: hours }, (_, hour) => ({
      location_id: locationId,
      units: 'WH',
      value: base + ((hour * step) % modulo),
      ...(direction === 'EXPORT' ? { energy_flow_direction: 'OUTBOUND' } : {}),
      tariff_direction: direction,
      start_time: new Date(Date.parse(start) + hour * 3_600_000).toISOString(),
      end_time: new Date(Date.parse(start) + (hour + 1) * 3_600_000).toISOString(),
    })),
  )

/** Import the file of a case with the command line. Checks its exit code. */
const importInto = async (locationId: string, { file, format, options, exit }: Case): Promise<Report> => {
  const path = fileURLToPath(new URL(`files/${file}`, folder))
  const args = [path, '--format', format, '--location', locationId, ...options]
  const { code, report, err } = await runImport(system.sandbox(), 'tariffs', args)
  expect(err).toBe('')
  const isReported = report.not_imported.length > 0
  expect(exit ?? (isReported ? [0, 1, 3] : [0])).toContain(code)
  return report as never
}

const locationFor = async ({ location, before = [] }: Case): Promise<string> => {
  const id = await makeOne(client, '/locations', location)
  for (const tariff of before) await client.ask('POST', '/tariffs', { ...tariff, location_id: id })
  return id
}

const namedIn = (report: Report): readonly string[] => [
  ...report.imported.flatMap(({ from }) => from),
  ...report.not_imported.map(({ path }) => path),
  ...report.noted.map(({ path }) => path),
]

const verifyReport = (one: Case, report: Report): void => {
  const tariffs = report.imported.filter(({ object }) => object === 'tariff')
  if (typeof one.imported === 'string') {
    expect(tariffs.length).toBeGreaterThan(0)
    expect(tariffs.every(({ type }) => type === one.imported)).toBe(true)
  } else expect(tariffs.map(({ direction, type }) => [direction, type])).toEqual(one.imported)
  const reported = [
    ...report.not_imported.map(({ path }) => path),
    ...report.imported.filter(({ object }) => object === 'charge').flatMap(({ from }) => from),
  ]
  expect(reported).toEqual(expect.arrayContaining([...one.not_imported]))
}

const verifyCosts = async (one: Case, locationId: string): Promise<void> => {
  const { records = [], expected = [], tolerance } = one
  if (records.length === 0) return
  await client.submit(recordsOf(locationId, records))
  const starts = records.map(({ start }) => Date.parse(start))
  const ends = records.map(({ start, hours }) => Date.parse(start) + hours * 3_600_000)
  const span = {
    start_time: new Date(Math.min(...starts)).toISOString(),
    end_time: new Date(Math.max(...ends)).toISOString(),
  }
  for (const { tariff_direction: direction, cost } of expected) {
    const { data } = (await client.ask(
      'POST',
      `/costs/interval/${locationId}?tariff_direction=${direction}`,
      span,
    )) as { data: readonly { tariff: { cost: { value: number } } }[] }
    const total = data.reduce((sum, { tariff }) => sum + tariff.cost.value, 0)
    expect(Math.abs(total - Number(cost))).toBeLessThanOrEqual(tolerance?.abs ?? 0)
  }
}

const verifyBills = async ({ when_charges: charges }: Case, locationId: string): Promise<void> => {
  const bills = charges?.['bill'] as readonly number[] | undefined
  if (bills === undefined) return
  const body = { start_date: '2018-01-01', end_date: '2019-01-01' }
  const { periods } = await postStatement(client, locationId, body)
  expect(periods.map(({ totals }) => totals.net)).toEqual(bills.map(bill => expect.closeTo(bill, 5)))
}

describe.skipIf(cases.length === 0)('an imported file of tariffs', () => {
  it.each(cases.map(one => [one.id, one] as const))('costs as in the case: %s', async (_, one) => {
    const locationId = await locationFor(one)
    const report = await importInto(locationId, one)
    verifyReport(one, report)
    const [tariff] = report.imported
    if (one.contract !== undefined && tariff !== undefined) {
      const stored = (await client.ask('GET', `/tariffs/${tariff.id}`)) as Record<string, unknown>
      expect([stored['contract_start_date'], stored['contract_end_date']]).toEqual(one.contract)
    }
    await verifyCosts(one, locationId)
    await verifyBills(one, locationId)
    const again = await importInto(locationId, one)
    expect([again.created, again.unchanged]).toEqual([0, report.created])
  })

  it.each(cases.flatMap(one => (one.complete === undefined ? [] : [[one.id, one] as const])))(
    'names each member in the report: %s',
    async (_, one) => {
      const file = JSON.parse(readFileSync(new URL(`files/${one.file}`, folder), 'utf8')) as never
      const source = (one.complete ?? '')
        .split('/')
        .slice(1)
        .reduce((value: never, name) => value[name], file)
      const named = namedIn(await importInto(await locationFor(one), one))
      const isNamed = (path: string) =>
        named.some(other => path === other || path.startsWith(`${other}/`) || other.startsWith(`${path}/`))
      const unnamed = Object.keys(source).filter(name => !isNamed(`${one.complete}/${name}`))
      expect(unnamed).toEqual([])
    },
  )
})

describe.skipIf(cases.length === 0)('charges of an imported rate', () => {
  it('add to the statement', async () => {
    const one = cases.find(({ id }) => id === 'urdb-psco-re-tou') as Case
    const locationId = await locationFor(one)
    await importInto(locationId, one)
    const statement = await postStatement(client, locationId, { start_date: '2018-02-01', end_date: '2018-03-01' })
    expect(linesOf(statement).map(({ kind, amount }) => [kind, amount])).toEqual([['FIXED', 5.71]])
  })
})
