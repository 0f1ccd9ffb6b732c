import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import type { ImportReport } from '../../../services/interchange/commands/import/import-report.ts'
import { runImport } from '../../support/interchange/run-import.ts'
import { type Random, seededRandom } from '../../support/random.ts'
import { makeTestFolder } from '../../support/stores/postgres.ts'
import type { Client } from '../../support/system/client.ts'
import { bought, makeHome, makeOne } from '../../support/system/home.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'
import { signIn } from '../../support/web/console-visitor.ts'

const system = useSharedSystem()
const folder = makeTestFolder()
let client: Client
let customer: string
beforeAll(async () => {
  client = await system.login()
  customer = await makeOne(client, '/customers', { reference_id: 'fleet' })
  // A location with a tariff: its currency cannot change.
  const home = await makeHome(client, { import: 0.2 })
  await client.ask('PATCH', `/locations/${home}`, { reference_id: 'priced' })
})

type Row = Readonly<Record<string, unknown>>
type Kind = 'locations' | 'devices'

const unknownId = (prefix: string): string => `${prefix}_000000000000000000000000`

/** Rows of locations by the outcome that the first import of the row has. */
const locationRows: Readonly<Record<string, Row>> = {
  created: { timezone: 'Europe/Oslo', currency_code: 'NOK' },
  'created with an address': {
    postal_address: { city: 'Berlin', post_code: '10117', country_code: 'DE' },
    metadata: { site: 'north' },
  },
  'created for a customer': { timezone: 'Europe/Oslo', currency_code: 'NOK', customer_id: 'reference:fleet' },
  'field_invalid timezone': { timezone: 'Europe/Olso', currency_code: 'NOK' },
  'field_invalid currency_code': { timezone: 'Europe/Oslo', currency_code: 'krone' },
  'field_required postal_address': {},
  'field_required timezone': { currency_code: 'NOK' },
  'geo_location_not_found city': { postal_address: { city: 'Nowhere at all', country_code: 'US' } },
  'geo_location_not_found state': { postal_address: { city: 'Springfield', country_code: 'US' } },
  'customer_not_found customer_id': { timezone: 'UTC', currency_code: 'EUR', customer_id: unknownId('cus') },
  'customer_not_found reference': { timezone: 'UTC', currency_code: 'EUR', customer_id: 'reference:none' },
  'calendar_not_found calendar_id': { timezone: 'UTC', currency_code: 'EUR', calendar_id: unknownId('cal') },
  market_source_not_found: { timezone: 'UTC', currency_code: 'EUR', market_sources: { export: unknownId('mrs') } },
  'field_too_long display_name': { timezone: 'UTC', currency_code: 'EUR', display_name: 'n'.repeat(256) },
  unknown_field: { timezone: 'UTC', currency_code: 'EUR', time_zone: 'UTC' },
}

const deviceRows: Readonly<Record<string, Row>> = {
  created: {},
  'created with a register': { register: { kind: 'LIFETIME', digits: 6 } },
  'value_out_of_range digits': { register: { kind: 'LIFETIME', digits: 60 } },
  'field_too_long display_name': { display_name: 'n'.repeat(256) },
  unknown_field: { location_id: unknownId('loc') },
}

const rowsOf: Readonly<Record<Kind, Readonly<Record<string, Row>>>> = { locations: locationRows, devices: deviceRows }

let files = 0
const writeRows = (rows: readonly (Row | string)[]): string => {
  files += 1
  const path = join(folder, `${files}.ndjson`)
  writeFileSync(path, rows.map(row => `${typeof row === 'string' ? row : JSON.stringify(row)}\n`).join(''))
  return path
}

/** What a report says about its rows, without the ids of new objects and the file of refused rows. */
const outcomeOf = ({ rows, accepted, created, unchanged, changed, refused, imported, error }: ImportReport) => ({
  rows,
  accepted,
  created,
  unchanged,
  changed,
  refused,
  error,
  imported: imported.map(({ object, name, from }) => ({ object, name, from })),
})

/** Text of all objects of a kind. */
const stateOf = async (kind: Kind): Promise<string> => JSON.stringify(await client.ask('GET', `/${kind}?limit=100`))

const form = ['--format', 'ndjson']

/** Import a file in a dry run and for real. Returns what both say, which must be the same. */
const importTwice = async (kind: Kind, path: string, args: readonly string[] = []) => {
  const before = await stateOf(kind)
  const dry = await runImport(system.sandbox(), kind, [path, ...form, ...args, '--dry-run'])
  expect(await stateOf(kind)).toBe(before)
  const act = await runImport(system.sandbox(), kind, [path, ...form, ...args])
  expect({ code: dry.code, ...outcomeOf(dry.report) }).toEqual({ code: act.code, ...outcomeOf(act.report) })
  expect([dry.report.dry_run, act.report.dry_run]).toEqual([true, false])
  return act.report
}

describe.each(['locations', 'devices'] as const)('a dry run of an import of %s', kind => {
  it.each(Object.entries(rowsOf[kind]))(`says what the import does: %s`, async (outcome, row) => {
    const path = writeRows([{ reference_id: `table ${kind} ${outcome}`, ...row }])
    const code = outcome.split(' ')[0] ?? ''
    const report = await importTwice(kind, path)
    expect(code === 'created' ? report.created : report.refused[0]?.code).toBe(code === 'created' ? 1 : code)
    // The second time, the object exists.
    const again = await importTwice(kind, path)
    expect([again.created, again.unchanged]).toEqual([0, code === 'created' ? 1 : 0])
    const updated = await importTwice(kind, path, ['--update'])
    expect([updated.created, updated.changed]).toEqual([0, code === 'created' ? 1 : 0])
  })

  it('names a reference that the file has twice, and lines that are no object', async () => {
    const row = { reference_id: `twice ${kind}`, ...rowsOf[kind]['created'] }
    const { refused, created } = await importTwice(kind, writeRows([row, row, '{', '7', { ...row, reference_id: '' }]))
    expect(created).toBe(1)
    expect(refused.map(({ line, code }) => `${line} ${code}`)).toEqual([
      '2 duplicate_row',
      '3 body_invalid',
      '4 field_required',
      '5 field_required',
    ])
  })

  it('needs a key that may change objects, as the import does', async () => {
    const { base_url, account_id, test_key } = system.sandbox()
    const owner = await signIn(base_url, account_id, test_key)
    const page = await owner.send('/console/keys', '/console/keys', { scope: 'read', description: `reads ${kind}` })
    const key = /sk_test_\w+/.exec(page.text)?.[0] ?? expect.fail(page.text)
    const path = writeRows([{ reference_id: 'read only', ...rowsOf[kind]['created'] }])
    const [dry, act] = await Promise.all(
      [['--dry-run'], []].map(args => runImport({ base_url, test_key: key }, kind, [path, ...args])),
    )
    expect([dry?.code, act?.code]).toEqual([1, 1])
    for (const one of [dry, act]) expect(one?.report.error).toContain(`POST /${kind} answered 403 insufficient_scope`)
  })
})

it('an update of a location is refused by the dry run as by the import', async () => {
  const row = { reference_id: 'priced', timezone: 'Europe/Oslo', currency_code: 'NOK' }
  const { refused } = await importTwice('locations', writeRows([row]), ['--update'])
  expect(refused).toMatchObject([{ code: 'currency_in_use', field: 'currency_code' }])
})

/** A random file: new and known references, good and bad rows, in any order, with repetitions. */
const randomFile = (kind: Kind, { below, pick, oneIn }: Random): string =>
  writeRows(
    Array.from({ length: 1 + below(12) }, () => {
      if (oneIn(12)) return pick(['', '{', '[]', '"text"', '{"reference_id":7}'])
      const reference_id = pick(['a', 'A', 'a ', 'b', 'ä', 'a\u0308', '=b', 'fleet', `${below(40)}`])
      const row = pick(Object.values(rowsOf[kind]))
      return { reference_id, ...row, ...(oneIn(3) ? { display_name: `Name ${below(3)}` } : {}) }
    }),
  )

const rounds = Number(process.env['OBJECT_DRY_RUNS'] ?? 25)

it.each(['locations', 'devices'] as const)(
  'a dry run of a random file of %s says what the import does',
  {
    timeout: 120_000,
  },
  async kind => {
    const random = seededRandom(Number(process.env['OBJECT_DRY_RUN_SEED'] ?? 40))
    const seen = new Set<string>()
    for (let round = 0; round < rounds; round += 1) {
      const report = await importTwice(kind, randomFile(kind, random), random.oneIn(2) ? ['--update'] : [])
      for (const { code } of report.refused) seen.add(code)
      for (const how of ['created', 'unchanged', 'changed'] as const) if ((report[how] ?? 0) > 0) seen.add(how)
    }
    // The random files reach each outcome.
    expect([...seen]).toEqual(
      expect.arrayContaining(['created', 'unchanged', 'changed', 'duplicate_row', 'field_too_long', 'unknown_field']),
    )
  },
)

it('counts the stored rows that a change of a location prices again', async () => {
  const home = await makeHome(client, { import: 0.2 })
  const records = [10, 11].map(hour => bought(home, 1, `2025-06-15T${hour}:00:00Z`, `2025-06-15T${hour + 1}:00:00Z`))
  await client.submit(records)
  const dry = (change: object) => client.ask('PATCH', `/locations/${home}?dry_run=true`, change)
  const effect = (locations: number, stored_rows: number) => ({ object: 'dry_run', locations, stored_rows, errors: [] })
  expect(await dry({ timezone: 'Europe/Lisbon' })).toEqual(effect(1, 2))
  expect(await dry({ display_name: 'Quay', customer_id: customer })).toEqual(effect(0, 0))
})
