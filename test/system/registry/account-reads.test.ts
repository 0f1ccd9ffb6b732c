import { beforeAll, describe, expect, it } from 'vitest'
import { type Client, login } from '../../support/system/client.ts'
import { bought, makeHome, makeOne } from '../../support/system/home.ts'
import { until } from '../../support/system/until.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'

type Hit = { readonly kind: string; readonly id: string; readonly name: string }
type Found = { readonly data: readonly Hit[] }

const system = useSharedSystem()
const hourMs = 3_600_000
let client: Client
let [priced, unpriced, tariff] = ['', '', '']

beforeAll(async () => {
  client = await login(system.sandbox())
  priced = await makeHome(client, { import: 0.3 }, { reference_id: 'Depot North_1' })
  unpriced = await makeHome(client, {}, { reference_id: 'Depot South%2' })
  await makeOne(client, '/devices', { reference_id: 'charger at depot' })
  const tariffs = (await client.ask('GET', `/tariffs?location_id=${priced}`)) as Found
  tariff = tariffs.data[0]?.id ?? ''
  const end = Math.floor(Date.now() / hourMs) * hourMs
  const times = [new Date(end - hourMs).toISOString(), new Date(end).toISOString()] as const
  await client.submit([
    bought(priced, 2, ...times, { session_reference_id: 'night-session-1', record_reference_id: 'own-1' }),
    bought(unpriced, 1.5, ...times),
  ])
}, 120_000)

const search = async (query: string): Promise<readonly string[]> => {
  const { data } = (await client.ask('GET', `/search?${new URLSearchParams({ query })}`)) as Found
  return data.map(({ kind, name }) => `${kind} ${name}`)
}

describe('the search', () => {
  it('finds parts of references of each kind, in any case, and takes wildcards literally', async () => {
    expect(await search('DEPOT')).toEqual([
      'location Depot South%2',
      'location Depot North_1',
      'device charger at depot',
    ])
    expect(await search('h_1')).toEqual(['location Depot North_1'])
    expect(await search('South%')).toEqual(['location Depot South%2'])
    expect(await search('%')).toEqual(['location Depot South%2'])
    expect(await search("'; drop table")).toEqual([])
  })

  it('finds objects by the start of an id, and sessions and records by their references', async () => {
    expect(await search(priced)).toEqual(['location Depot North_1'])
    expect(await search(priced.slice(0, 20))).toContain('location Depot North_1')
    const session = await until(
      () => search('ght-sess'),
      found => found.length > 0,
    )
    expect(session).toEqual(['session night-session-1'])
    expect(await search('own-1')).toEqual(['meter_record own-1'])
  })

  it.each(['location', 'device', 'customer'])(
    'finds each %s with a part of its name, also with equal names',
    async kind => {
      const zone = kind === 'location' ? { timezone: 'UTC', currency_code: 'EUR' } : {}
      for (const number of [1, 2])
        await makeOne(client, `/${kind}s`, { ...zone, reference_id: `${kind}-${number}`, display_name: 'Wharf, Café' })
      expect((await search('WHARF')).filter(one => one.startsWith(`${kind} `))).toEqual(
        Array(2).fill(`${kind} Wharf, Café`),
      )
      const { data } = (await client.ask('GET', `/${kind}s`)) as { readonly data: readonly { display_name: string }[] }
      expect(data.slice(0, 2).map(one => one.display_name)).toEqual(Array(2).fill('Wharf, Café'))
    },
  )

  it('finds nothing of the other mode', async () => {
    const live = await login(system.sandbox(), 'live')
    expect(((await live.ask('GET', '/search?query=depot')) as Found).data).toEqual([])
  })
})

describe('the overview', () => {
  it('names the locations with energy without a price, and forgets them after a tariff is added', async () => {
    type Overview = {
      readonly timezone: string
      readonly currency_codes: readonly string[]
      readonly unpriced: readonly { readonly location_id: string; readonly energy: { readonly value: number } }[]
    }
    await client.ask('PATCH', `/locations/${unpriced}`, { display_name: 'Quay & Co' })
    const named = { location_display_name: 'Quay & Co' }
    const overview = async () => (await client.ask('GET', '/account/overview')) as Overview
    const first = await until(overview, one => one.unpriced.length > 0)
    expect([first.timezone, first.currency_codes]).toEqual(['Europe/Berlin', ['EUR']])
    expect(first.unpriced).toMatchObject([
      { location_id: unpriced, location_reference_id: 'Depot South%2', ...named, records: 1, energy: { value: 1500 } },
    ])
    await makeOne(client, '/tariffs', {
      location_id: unpriced,
      direction: 'IMPORT',
      type: 'COMMODITY',
      schedule: [
        { days_and_hours: [{ hours: [{ valid_from: '00:00:00', valid_to: '00:00:00', rate: [{ fixed: 1 }] }] }] },
      ],
    })
    expect((await until(overview, one => one.unpriced.length === 0)).unpriced).toEqual([])
  })

  it('counts the records that were accepted and processed in 24 hours', async () => {
    const { failed_records: failed } = (await client.ask('PUT', '/meters/interval', [
      bought(priced, 1, '2026-01-05T00:00:00Z', '2026-01-05T01:00:00Z'),
      bought(priced, 1, '2026-01-05T01:00:00Z', '2026-01-05T00:00:00Z'),
    ])) as { readonly failed_records: readonly object[] }
    expect(failed).toHaveLength(1)
    type Counts = { readonly [Name in 'records_accepted' | 'records_processed' | 'failed_records']: number }
    const counts = async () => (await client.ask('GET', '/account/overview')) as Counts
    // The refused record and the records of a submission are stored by different partitions.
    const found = await until(counts, one => one.records_processed === 3 && one.failed_records === 1)
    expect(found).toMatchObject({ records_accepted: 3, records_processed: 3, failed_records: 1 })
  })

  it('names the tariffs that end in 30 days, not those that end later', async () => {
    const ends = async (days: number) => {
      const contract_end_date = new Date(Date.now() + days * 24 * hourMs).toISOString()
      await client.ask('PATCH', `/tariffs/${tariff}`, { contract_end_date })
      const overview = (await client.ask('GET', '/account/overview')) as {
        readonly tariffs_ending: readonly {
          readonly [Name in 'tariff_id' | 'location_reference_id' | 'location_display_name']: string | null
        }[]
      }
      return overview.tariffs_ending.map(one => [one.tariff_id, one.location_reference_id, one.location_display_name])
    }
    await client.ask('PATCH', `/locations/${priced}`, { display_name: 'North & South' })
    expect(await ends(31)).toEqual([])
    expect(await ends(29)).toEqual([[tariff, 'Depot North_1', 'North & South']])
  })
})

describe('the list of changes', () => {
  it('names who changed an object, the newest first', async () => {
    await client.ask('PATCH', `/tariffs/${tariff}`, { display_name: 'Renamed' })
    const { data } = (await client.ask('GET', `/audit-log?object_id=${tariff}`)) as {
      readonly data: readonly { readonly actor: string; readonly actor_address: null; readonly action: string }[]
    }
    expect(data[0]?.action).toBe('tariff.update')
    expect(data.at(-1)?.action).toBe('tariff.create')
    for (const { actor, actor_address: address } of data)
      expect([actor, address]).toEqual([expect.stringMatching(/^key_/), null])
    const one = (await client.ask('GET', '/audit-log?limit=1')) as { readonly has_more: boolean }
    expect(one.has_more).toBe(true)
  })
})
