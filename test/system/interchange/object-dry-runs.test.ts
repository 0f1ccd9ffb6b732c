import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { runImport } from '../../support/interchange/run-import.ts'
import { seededRandom } from '../../support/random.ts'
import { makeTestFolder } from '../../support/stores/postgres.ts'
import { makeOne } from '../../support/system/home.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'

const system = useSharedSystem()

const place = { timezone: 'Europe/Oslo', currency_code: 'NOK' }

/** Members that the service accepts, and members that it refuses. */
const members: Readonly<Record<'locations' | 'devices', readonly object[]>> = {
  locations: [
    place,
    { ...place, display_name: 'Quay, north' },
    { ...place, customer_id: 'reference:owner' },
    { ...place, customer_id: 'reference:nobody' },
    { ...place, customer_id: 'cus_x' },
    { ...place, timezone: 'Europe/Osla' },
    { ...place, currency_code: 'kroner' },
    { ...place, curency_code: 'NOK' },
    { ...place, metadata: { site: 7 } },
    { ...place, postal_address: { city: 'Oslo', country_code: 'Norway' } },
    { ...place, register: { kind: 'LIFETIME', digits: 12 } },
    { ...place, market_sources: { imports: null } },
    { ...place, display_name: 'x'.repeat(256) },
  ],
  devices: [
    {},
    { display_name: 'Charger at the gate' },
    { metadata: { bay: '7' } },
    { metadata: { bay: null } },
    { register: { kind: 'SESSION' } },
    { register: { kind: 'DAILY' } },
    { location_id: 'reference:place' },
    { display_name: '' },
    { referenceid: 'x' },
  ],
}

const { below, pick } = seededRandom(11)

/** Write a file of objects. Some references repeat, so that an update meets them. */
const fileOf = (kind: 'locations' | 'devices', round: number): string => {
  const path = join(makeTestFolder(), `${kind}-${round}.ndjson`)
  const lines = Array.from({ length: 12 }, () =>
    JSON.stringify({ reference_id: below(20) === 0 ? '' : `${kind} ${below(24)}`, ...pick(members[kind]) }),
  )
  writeFileSync(path, `${lines.join('\n')}\n`)
  return path
}

const shownOf = ({ code, report }: Awaited<ReturnType<typeof runImport>>) => {
  const { created, unchanged, changed, accepted, refused } = report
  return { code, created, unchanged, changed, accepted, refused }
}

it('a dry run of locations and devices gives the counts and refusals of the import', async () => {
  const client = await system.login()
  await makeOne(client, '/customers', { reference_id: 'owner' })
  const codes = new Set<string>()
  for (let round = 0; round < 10; round += 1) {
    for (const kind of ['locations', 'devices'] as const) {
      const options = [fileOf(kind, round), ...(round % 2 === 0 ? [] : ['--update'])]
      const checked = shownOf(await runImport(system.sandbox(), kind, [...options, '--dry-run']))
      expect(checked).toEqual(shownOf(await runImport(system.sandbox(), kind, options)))
      for (const { code } of checked.refused) codes.add(code)
    }
  }
  expect(codes.size).toBeGreaterThan(4)
})

it('a name for people is read from a column, and changed by --update', async () => {
  const client = await system.login()
  for (const [kind, more] of [
    ['locations', ',Europe/Oslo,NOK'],
    ['devices', ''],
  ] as const) {
    const path = join(makeTestFolder(), `named-${kind}.csv`)
    const write = (name: string): void =>
      writeFileSync(
        path,
        `reference_id,display_name${more === '' ? '' : ',timezone,currency_code'}\nnamed,"${name}"${more}\n`,
      )
    write('Quay, north')
    await runImport(system.sandbox(), kind, [path])
    expect(await client.ask('GET', `/${kind}/reference:named`)).toMatchObject({ display_name: 'Quay, north' })
    write('Quay, south')
    await runImport(system.sandbox(), kind, [path, '--update'])
    expect(await client.ask('GET', `/${kind}/reference:named`)).toMatchObject({ display_name: 'Quay, south' })
  }
})
