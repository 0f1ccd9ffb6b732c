import { beforeAll, describe, expect, it } from 'vitest'
import type { Client } from '../../support/system/client.ts'
import { bought, makeHome, makeOne, priceSchedule } from '../../support/system/home.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'

const system = useSharedSystem()
let client: Client | undefined
let earlier: Client | undefined
beforeAll(async () => {
  client = await system.login()
  earlier = await system.login('test', 'earlier')
})
const ready = (): Client => {
  if (client === undefined) throw new Error('the system is not ready')
  return client
}

const [start, end] = ['2025-06-02T10:00:00Z', '2025-06-02T11:00:00Z']

type Receipt = {
  readonly records_accepted: number
  readonly failed_records: readonly { readonly record_num: number; readonly error: string }[]
}
type RecordList = {
  readonly data: readonly { readonly id: string; readonly location_id: string; readonly device_id: string | null }[]
}

const put = (records: readonly object[]): Promise<Receipt> =>
  ready().ask('PUT', '/meters/interval', records) as Promise<Receipt>

const recordsOf = async (location: string): Promise<RecordList['data']> =>
  ((await ready().ask('GET', `/meters/records?location_id=${encodeURIComponent(location)}`)) as RecordList).data

const references = [
  ['a path', 'yard/7/'],
  ['a query', 'a?b=c&d#e'],
  ['percent signs', '100% %2F%25 +1'],
  ['white space', ' a\tb\nc '],
  ['quotes and braces', '"\'\\`{}[]<>|^'],
  ['an id', 'loc_0198c0ffee00112233445566'],
  ['a prefix', 'reference:location:x'],
  ['a dot segment', '../../..'],
  ['other scripts', 'déjà 東京 🚗‍🔋 ع'],
  ['255 characters', '🔌'.repeat(255)],
] as const

describe('an own reference', () => {
  it.each(references)('of %s names its objects in paths, queries, bodies and records', async (_, reference) => {
    const caller = ready()
    const text = `reference:${reference}`
    const inPath = encodeURIComponent(text)
    const customer = await makeOne(caller, '/customers', { reference_id: reference })
    const location = await makeHome(caller, {}, { reference_id: reference, customer_id: text })
    const device = await makeOne(caller, '/devices', { reference_id: reference })
    await makeOne(caller, '/tariffs', {
      location_id: text,
      direction: 'IMPORT',
      type: 'COMMODITY',
      schedule: priceSchedule(0.3),
    })
    for (const [path, id] of [
      [`/customers/${inPath}`, customer],
      [`/locations/${inPath}`, location],
      [`/locations/${inPath}/`, location],
      [`/locations/${inPath}/status`, location],
      [`/devices/${inPath}`, device],
    ]) {
      expect(await caller.ask('GET', path ?? '')).toMatchObject({ id })
    }
    expect(await caller.ask('GET', `/locations?${new URLSearchParams({ customer_id: text })}`)).toMatchObject({
      data: [{ id: location }],
    })
    expect(await caller.submit([bought(text, 1, start, end, { device_id: text })])).toMatchObject({
      records_accepted: 1,
      failed_records: [],
    })
    const [record] = await recordsOf(text)
    expect(record).toMatchObject({ location_id: location, device_id: device })
    const cost = await caller.ask('POST', `/costs/interval/${encodeURIComponent(`location:${reference}`)}`, {
      start_time: start,
      end_time: end,
    })
    expect(cost).toMatchObject({
      object_id: location,
      data: [{ energy: { value: 1000 }, tariff: { cost: { value: 0.3 } } }],
    })
    await caller.ask('PATCH', `/locations/${inPath}`, { metadata: { note: 'seen' } })
    expect((await caller.send('DELETE', `/devices/${inPath}`)).status).toBe(202)
    expect((await caller.send('GET', `/devices/${inPath}`)).status).toBe(404)
    expect((await caller.send('HEAD', `/locations/${inPath}`)).status).toBe(200)
  })

  it('of several kinds is refused if it is ambiguous; a prefix with the kind decides', async () => {
    const caller = ready()
    const reference_id = 'twice'
    const location = await makeHome(caller, { import: 0.3 }, { reference_id })
    const device = await makeOne(caller, '/devices', { reference_id })
    const span = { start_time: start, end_time: end }
    const refused = await caller.send('POST', '/costs/interval/reference:twice', span)
    expect(refused.status).toBe(400)
    expect(refused.json).toMatchObject({
      code: 'reference_ambiguous',
      message:
        'The reference "twice" belongs to a location and a device: use the prefix location: or device: instead of reference:.',
    })
    expect((await earlier?.send('POST', '/costs/interval/reference:twice', span))?.status).toBe(409)
    expect(await caller.ask('POST', '/costs/interval/location:twice', span)).toMatchObject({ object_id: location })
    const ofDevice = await caller.ask('POST', '/costs/interval/device:twice?location_id=reference:twice', span)
    expect(ofDevice).toMatchObject({ object_id: device })
    expect((await caller.send('POST', '/costs/interval/customer:twice', span)).json).toMatchObject({
      code: 'not_found',
      message: 'No customer has the reference "twice".',
    })
    expect((await caller.send('GET', '/events?object_id=reference:twice')).json).toMatchObject({
      code: 'reference_ambiguous',
      field: 'object_id',
    })
    const { data } = (await caller.ask('GET', '/events?object_id=device:twice')) as {
      readonly data: readonly { readonly type: string }[]
    }
    expect(data.map(({ type }) => type)).toEqual(['device.create'])
    // Only one kind is possible here.
    expect(await caller.ask('GET', '/devices/reference:twice')).toMatchObject({ id: device })
    expect((await caller.send('GET', '/devices/location:twice')).status).toBe(404)
  })

  it('of no object is refused like an unknown id, and is named', async () => {
    const caller = ready()
    expect((await caller.send('GET', '/locations/reference:none')).json).toMatchObject({
      code: 'not_found',
      message: 'No location has the reference "none".',
    })
    expect((await caller.send('GET', '/tariffs?location_id=reference:none')).json).toMatchObject({
      code: 'location_not_found',
      message: 'No location has the reference "none".',
      field: 'location_id',
    })
    expect((await caller.send('GET', '/locations/reference:')).status).toBe(404)
    expect((await caller.send('GET', `/locations/reference:${'x'.repeat(256)}`)).status).toBe(404)
    expect((await caller.send('GET', `/locations/reference:a%00b`)).status).toBe(404)
    expect((await caller.send('PATCH', '/devices/reference:none', { reference_id: 'a' })).status).toBe(404)
    const { data } = (await caller.ask('GET', '/events?event_type=device.update.failed')) as {
      readonly data: readonly { readonly data: object }[]
    }
    expect(data[0]?.data).toMatchObject({ reference_id: 'none', error: { code: 'not_found' } })
  })
})

describe('a record with references', () => {
  it('is the same record as with ids', async () => {
    const caller = ready()
    const location = await makeHome(caller, { import: 0.3 }, { reference_id: 'same' })
    const device = await makeOne(caller, '/devices', { reference_id: 'same' })
    const byId = bought(location, 1, start, end, { device_id: device })
    const byReference = bought('reference:same', 1, start, end, { device_id: 'device:same' })
    const receipt = await put([byId, byReference, { ...byReference, location_id: 'location:same' }])
    expect(receipt).toMatchObject({ records_accepted: 1 })
    expect(receipt.failed_records.map(({ error }) => error)).toEqual(['duplicate of record 1', 'duplicate of record 1'])
    await caller.submit([{ ...byReference, value: 2 }])
    await caller.submit([{ ...byId, value: 3 }])
    const records = (await recordsOf(location)) as unknown as readonly {
      readonly id: string
      readonly data: { readonly energy: object }
    }[]
    expect(records).toHaveLength(1)
    expect(records[0]?.data.energy).toEqual({ value: 3000 })
    const instant = await caller.ask('POST', '/costs/instant?non_persistent=true', byReference)
    expect(instant).toMatchObject({ id: records[0]?.id, request: { location_id: location, device_id: device } })
    const register = { location_id: 'reference:same', device_id: 'reference:same', units: 'WH' }
    const readings = [0, 500].map((value, index) => ({ time: 1_748_900_000 + index * 900, value }))
    await caller.ask('PUT', '/meters/cumulative/epoch', { ...register, data: readings })
    const again = await caller.ask('PUT', '/meters/cumulative/epoch', {
      ...register,
      location_id: location,
      device_id: device,
      data: readings,
    })
    await caller.ask('GET', `/meters/batch?batch_id=${(again as { readonly id: string }).id}`)
    await caller.submit([bought(location, 1, end, '2025-06-02T12:00:00Z')])
    expect(await recordsOf('reference:same')).toHaveLength(3)
  })

  it('fails alone if no object has the reference, and the failure names the reference', async () => {
    await makeHome(ready(), { import: 0.3 }, { reference_id: 'here' })
    const records = [
      bought('reference:nowhere', 1, start, end),
      bought('reference:here', 1, start, end, { device_id: 'reference:nothing' }),
      bought('reference:here', 1, start, end),
      bought('device:here', 1, start, end),
      bought('reference:', 1, start, end),
    ]
    const { records_accepted: accepted, failed_records: failed } = await put(records)
    expect(accepted).toBe(1)
    const advice =
      'location_id must be the id of a location, such as loc_0198c0ffee00112233445566, or reference: and its reference_id.'
    expect(failed.map(({ record_num: number, error }) => [number, error])).toEqual([
      [1, 'No location has the reference "nowhere".'],
      [2, 'No device has the reference "nothing".'],
      [4, advice],
      [5, advice],
    ])
    const register = { location_id: 'reference:nowhere', units: 'WH', data: [{ time: 1_748_900_000, value: 1 }] }
    expect((await ready().send('PUT', '/meters/cumulative/epoch', register)).json).toMatchObject({
      code: 'location_not_found',
      field: 'location_id',
      message: 'No location has the reference "nowhere".',
    })
    expect(
      (await ready().send('POST', '/costs/instant', bought('reference:nowhere', 1, start, end))).json,
    ).toMatchObject({
      code: 'location_not_found',
      field: 'location_id',
    })
  })

  it('belongs to the object that has the reference at that time: changed, deleted, created again', async () => {
    const caller = ready()
    const accepts = async () => (await put([bought('reference:moving', 1, start, end)])).records_accepted === 1
    const first = await makeHome(caller, { import: 0.3 }, { reference_id: 'moving' })
    expect(await accepts()).toBe(true)
    await caller.ask('PATCH', `/locations/${first}`, { reference_id: 'moved' })
    expect(await accepts()).toBe(false)
    const second = await makeHome(caller, { import: 0.3 }, { reference_id: 'moving' })
    expect(await accepts()).toBe(true)
    await caller.ask('DELETE', '/locations/reference:moving')
    expect(await accepts()).toBe(false)
    const customer_id = await makeOne(caller, '/customers', {})
    const third = await makeHome(caller, { import: 0.3 }, { reference_id: 'moving', customer_id })
    expect(await accepts()).toBe(true)
    await caller.ask('DELETE', `/customers/${customer_id}`)
    expect(await accepts()).toBe(false)
    await caller.submit([bought('reference:moved', 1, end, '2025-06-02T12:00:00Z')])
    for (const [location, count] of [
      [first, 2],
      [second, 1],
      [third, 1],
    ] as const)
      expect(await recordsOf(location)).toHaveLength(count)
  })
})

describe('an import of the earlier version', () => {
  it('accepts references of its session', async () => {
    const customer = await makeOne(ready(), '/customers', { reference_id: 'imported' })
    const location = await makeHome(ready(), {}, { reference_id: 'imported', customer_id: customer })
    const session = { customer_id: 'reference:imported', location_id: 'reference:imported', direction: 'IMPORT' }
    const tariff = { type: 'FIXED', name: 'Imported', data: priceSchedule(0.3) }
    const postal_address = {
      address_line1: 'Unter den Linden 1',
      city: 'Berlin',
      post_code: '10117',
      country_code: 'DE',
    }
    const token = await earlier?.ask('POST', '/connect/tariff/batch', { session, postal_address, tariff })
    expect(token).toMatchObject({ customer_id: customer, location_id: location })
    expect(
      await earlier?.ask(
        'GET',
        '/tariffs/rates/reference:imported?start_time=2026-11-01T00:00:00Z&end_time=2026-11-01T01:00:00Z',
      ),
    ).toMatchObject({
      location_id: location,
    })
    const window = { start_time: '2026-11-01T00:00:00Z', end_time: '2026-11-01T04:00:00Z' }
    const device = await makeOne(ready(), '/devices', { reference_id: 'imported' })
    const data = [
      {
        device_id: 'reference:imported',
        ...window,
        max_power: { units: 'KW', value: 2 },
        energy: { units: 'KWH', value: 1 },
      },
    ]
    const plan = await earlier?.ask('POST', '/schedules', { location_id: 'reference:imported', data })
    expect(plan).toMatchObject({ location_id: location, data: [{ device_id: device }] })
  })
})
