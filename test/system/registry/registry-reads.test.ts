import sql from 'sql-template-tag'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openRecords } from '../../support/registry/accounts.ts'
import type { Client } from '../../support/system/client.ts'
import { bought, makeHome, makeOne } from '../../support/system/home.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'

const system = useSharedSystem()
let records: Awaited<ReturnType<typeof openRecords>> | undefined
let client: Client | undefined
let earlier: Client | undefined
beforeAll(async () => {
  records = await openRecords(system.folder)
  client = await system.login()
  earlier = await system.login('test', 'earlier')
})
afterAll(async () => {
  await records?.[Symbol.asyncDispose]()
})

const ready = () => {
  if (client === undefined || earlier === undefined || records === undefined) throw new Error('the system is not ready')
  return { client, earlier, records }
}

type Page = {
  readonly has_more: boolean
  readonly data: readonly ({ readonly id: string } & Readonly<Record<string, unknown>>)[]
}

const pageOf = (path: string, by: Client = ready().client): Promise<Page> => by.ask('GET', path) as Promise<Page>

/** Read a list to its end in one direction. Returns the ids in the order of the list. */
const readWholeList = async (
  path: string,
  limit: number,
  cursor: 'starting_after' | 'ending_before',
  from = '',
): Promise<readonly string[]> => {
  const ids: string[] = []
  for (let at = from; ; ) {
    const page = await pageOf(`${path}limit=${limit}${at === '' ? '' : `&${cursor}=${at}`}`)
    const found = page.data.map(({ id }) => id)
    if (cursor === 'starting_after') ids.push(...found)
    else ids.unshift(...found)
    if (!page.has_more) return ids
    expect(page.data).toHaveLength(limit)
    at = (cursor === 'starting_after' ? found.at(-1) : found[0]) ?? ''
  }
}

describe('the list of providers', () => {
  it('is complete in both directions, equal in both modes, and filtered by country and address type', async () => {
    const forth = await readWholeList('/providers?', 100, 'starting_after')
    expect(forth.length).toBeGreaterThan(100)
    expect(new Set(forth).size).toBe(forth.length)
    expect(forth).toEqual([...forth].sort().reverse())
    const last = forth.at(-1) ?? ''
    expect(await readWholeList('/providers?', 37, 'ending_before', last)).toEqual(forth.slice(0, -1))
    const german = await readWholeList('/providers?country_code=de&', 10, 'starting_after')
    expect(german.length).toBeGreaterThan(1)
    expect(german.length).toBeLessThan(forth.length)
    const [first] = (await pageOf('/providers?country_code=DE&postal_address_type=COMMERCIAL&limit=1')).data
    expect(first).toMatchObject({
      object: 'provider',
      live_mode: false,
      countries: ['DE'],
      address_types: ['RESIDENTIAL', 'COMMERCIAL'],
      logo_url: null,
      direct: false,
      account_id: null,
    })
    expect(await pageOf('/providers?country_code=AQ')).toMatchObject({
      object: 'list',
      url: '/providers',
      has_more: false,
      data: [],
    })
    const { records: database } = ready()
    await database.operator(sql`update providers set address_types = '{RESIDENTIAL}' where id = ${first?.id}`)
    const commercial = await readWholeList(
      '/providers?country_code=DE&postal_address_type=COMMERCIAL&',
      10,
      'starting_after',
    )
    expect(commercial).toEqual(german.filter(id => id !== first?.id))
  })

  it('leaves null texts out in the earlier API version, and refuses unknown parameters', async () => {
    const [first] = (await pageOf('/providers?limit=1', ready().earlier)).data
    expect(first).toMatchObject({ object: 'provider', direct: false })
    expect(first).not.toHaveProperty('logo_url')
    for (const [query, code] of [
      ['country_code=Germany', 'field_invalid'],
      ['country_code=UK', 'field_invalid'],
      ['postal_address_type=FARM', 'field_invalid'],
      ['starting_after=prv_0198c0ffee00112233445566', 'cursor_not_found'],
      ['name=x', 'unknown_parameter'],
    ]) {
      const { status, json } = await ready().client.send('GET', `/providers?${query}`)
      expect([query, status, (json as { readonly code: string }).code]).toEqual([query, 400, code])
    }
  })
})

describe('the devices of a location', () => {
  it('are active devices with stored records there, page by page in both directions', async () => {
    const { client: caller } = ready()
    const [here, there] = [
      await makeHome(caller, { import: 0.3 }, { reference_id: 'here' }),
      await makeHome(caller, { import: 0.3 }),
    ]
    const devices: string[] = []
    for (let index = 0; index < 12; index += 1)
      devices.push(await makeOne(caller, '/devices', { reference_id: `box ${index}` }))
    const [start, end] = ['2025-06-02T10:00:00Z', '2025-06-02T11:00:00Z']
    const at = (location: string, device: string) => bought(location, 1, start, end, { device_id: device })
    const mine = devices.slice(0, 9)
    await caller.submit([
      ...mine.map(device => at(here, device)),
      bought(here, 1, start, end),
      at(there, devices[0] ?? ''),
      at(there, devices[10] ?? ''),
    ])
    for (const device of mine.slice(3, 6)) await caller.ask('DELETE', `/devices/${device}`)
    const expected = [...mine.slice(0, 3), ...mine.slice(6)].reverse()
    expect((await pageOf(`/devices?location_id=${here}`)).data.map(({ id }) => id)).toEqual(expected)
    expect(await readWholeList('/devices?location_id=reference:here&', 2, 'starting_after')).toEqual(expected)
    expect(await readWholeList(`/devices?location_id=${here}&`, 2, 'ending_before', expected.at(-1))).toEqual(
      expected.slice(0, -1),
    )
    // A cursor works for a deleted device and for a device of another location.
    expect(await readWholeList(`/devices?location_id=${here}&`, 2, 'starting_after', mine[4])).toEqual(
      mine.slice(0, 3).reverse(),
    )
    expect((await pageOf(`/devices?location_id=${there}`)).data.map(({ id }) => id)).toEqual([devices[10], devices[0]])
    expect((await pageOf(`/devices?location_id=${here}&reference_id=box 1`)).data.map(({ id }) => id)).toEqual([
      devices[1],
    ])
    expect((await pageOf(`/devices?location_id=${here}&reference_id=box 10`)).data).toEqual([])
    expect((await pageOf(`/devices?location_id=${here}&limit=1`)).data[0]).toMatchObject({
      last_seen: expect.any(String),
    })
    expect((await pageOf(`/devices?location_id=${await makeHome(caller, {})}`)).data).toEqual([])
  })

  it('are refused for a location or cursor that does not exist', async () => {
    const { client: caller } = ready()
    const location = await makeHome(caller, {})
    const refused = async (query: string) => (await caller.send('GET', `/devices?${query}`)).json
    expect(await refused('location_id=loc_0198c0ffee00112233445566')).toMatchObject({
      code: 'location_not_found',
      field: 'location_id',
    })
    expect(await refused('location_id=reference:nowhere')).toMatchObject({
      code: 'location_not_found',
      field: 'location_id',
    })
    for (const cursor of ['dev_0198c0ffee00112233445566', "x'--", location])
      expect(await refused(`location_id=${location}&starting_after=${cursor}`)).toMatchObject({
        code: 'cursor_not_found',
      })
    await caller.ask('DELETE', `/locations/${location}`)
    expect(await refused(`location_id=${location}`)).toMatchObject({ code: 'location_not_found' })
  })
})

describe('a schedule by amount', () => {
  it('is answered again for 24 h, byte for byte, in each API version', async () => {
    const { client: caller, earlier: old, records: database } = ready()
    const location = await makeHome(caller, { import: 0.3 })
    const device_id = await makeOne(caller, '/devices', { reference_id: 'planned' })
    const times = { start_time: '2026-01-05T00:00:00+01:00', end_time: '2026-01-05T06:00:00+01:00' }
    const window = { device_id, ...times, max_power: { units: 'KW', value: 7.4 }, energy: { units: 'KWH', value: 3.3 } }
    const made = await caller.send('POST', `/schedules/amount/${location}`, { data: [window] })
    const { id } = made.json as { readonly id: string }
    const again = await caller.send('GET', `/schedules/${id}`)
    expect([again.status, again.text]).toEqual([200, made.text])
    const oldMade = await old.send('POST', '/schedules', { location_id: location, data: [window] })
    const oldAgain = await old.send('GET', `/schedules/${(oldMade.json as { readonly id: string }).id}`)
    expect([oldAgain.status, oldAgain.text]).toEqual([200, oldMade.text])
    expect((await old.send('GET', `/schedules/${id}`)).json).toMatchObject({ id, tariff: { value: 0.99 } })

    const age = (hours: string) =>
      database.operator(sql`update events set time_created = time_created - ${hours}::interval where object_id = ${id}`)
    await age('23 hours 59 minutes')
    expect((await caller.send('GET', `/schedules/${id}`)).status).toBe(200)
    await age('1 minute')
    expect((await caller.send('GET', `/schedules/${id}`)).json).toMatchObject({
      code: 'not_found',
      message: 'No schedule by amount of the last 24 hours has this id.',
    })
  })

  it('is not found by another id, nor by the id of a schedule that is not stored', async () => {
    const { client: caller } = ready()
    const location = await makeHome(caller, { import: 0.3 })
    const span = { start_time: '2026-01-05T00:00:00Z', end_time: '2026-01-05T06:00:00Z', duration: 60, segment: 'LOW' }
    const { id } = (await caller.ask('POST', `/schedules/duration/${location}`, span)) as { readonly id: string }
    for (const other of [id, location, 'sae_0198c0ffee00112233445566', 'x']) {
      expect([other, (await caller.send('GET', `/schedules/${other}`)).status]).toEqual([other, 404])
    }
  })
})
