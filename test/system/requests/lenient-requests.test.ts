import { beforeAll, describe, expect, it } from 'vitest'
import { createObjectFixture, type ObjectFixture } from '../../support/registry/object-fixture.ts'
import type { Client } from '../../support/system/client.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'

const system = useSharedSystem()
let current: Client
let earlier: Client
let fixture: ObjectFixture

beforeAll(async () => {
  current = await system.login()
  earlier = await system.login('test', 'earlier')
  fixture = await createObjectFixture(current, 'session-17')
})

const span = { start_time: '2025-09-14T00:00:00Z', end_time: '2025-09-15T00:00:00Z' }
const inQuery = (members: object): string => new URLSearchParams(Object.entries(members)).toString()
const clients = () => [current, earlier] as const

describe('a request', () => {
  it('may end its path with a slash', async () => {
    for (const client of clients()) {
      for (const path of ['/customers', `/customers/${fixture.customer}`, '/account']) {
        const [plain, slashed] = [await client.send('GET', path), await client.send('GET', `${path}/`)]
        expect([slashed.status, slashed.text]).toEqual([200, plain.text])
      }
      expect((await client.send('PATCH', `/devices/${fixture.device}/`, {})).status).toBe(200)
      expect((await client.send('GET', '/customers//')).status).toBe(404)
      expect((await client.send('DELETE', '/customers/')).status).toBe(405)
    }
  })

  it('may have empty parameters, which count as absent', async () => {
    const all = await current.send('GET', '/customers')
    expect((await current.send('GET', '/customers?reference_id=&starting_after=&limit=')).text).toBe(all.text)
    expect((await current.send('GET', '/meters/batch?batch_id=')).json).toMatchObject({
      code: 'field_required',
      field: 'batch_id',
    })
  })

  it('may request carbon in both API versions, and gets none', async () => {
    const record = { location_id: fixture.location, units: 'KWH', value: 1, ...span }
    for (const client of clients()) {
      const instant = await client.send('POST', '/costs/instant?include_carbon=true&non_persistent=true', record)
      expect([instant.status, instant.text.includes('"carbon":')]).toEqual([200, false])
      const costs = await client.send('POST', `/costs/interval/${fixture.location}?include_carbon=1`, span)
      expect([costs.status, costs.text.includes('"carbon":')]).toEqual([200, false])
    }
    expect((await current.send('POST', `/prices/${fixture.location}?include_carbon=true`, span)).status).toBe(200)
    expect(
      (await earlier.send('GET', `/tariffs/rates/${fixture.location}?include_carbon=true&${inQuery(span)}`)).status,
    ).toBe(200)
  })

  it('of the earlier API version may use tariff or direction for the direction of slots', async () => {
    const requestBody = { ...span, segment: 'LOW' }
    for (const path of [
      `/slots/time/${fixture.location}?duration=60&`,
      `/slots/threshold/${fixture.location}?relative=0.5&`,
    ]) {
      const byTariff = await earlier.ask('GET', path + inQuery({ ...requestBody, tariff: 'IMPORT' }))
      const byDirection = await earlier.ask('GET', path + inQuery({ ...requestBody, direction: 'IMPORT' }))
      const own = { id: '', time_created: '', next_update: '' }
      expect({ ...(byDirection as object), ...own }).toEqual({ ...(byTariff as object), ...own })
      expect(
        (await earlier.send('GET', path + inQuery({ ...requestBody, tariff: 'IMPORT', direction: 'EXPORT' }))).json,
      ).toMatchObject({
        code: 'field_invalid',
        field: 'direction',
        message: 'direction must equal tariff; send one of the two names.',
      })
      const wrong = { ...requestBody, direction: 'EXPORT' }
      expect((await earlier.send('GET', path + inQuery(wrong))).json).toMatchObject({ code: 'no_tariff_connected' })
    }
    const wrongVersion = await current.send('POST', `/schedules/duration/${fixture.location}`, {
      ...requestBody,
      duration: 60,
      direction: 'IMPORT',
    })
    expect(wrongVersion.json).toMatchObject({
      code: 'unknown_field',
      message: expect.stringContaining('use tariff_direction'),
    })
  })

  it('of the earlier API version may send the power of a plan as a string', async () => {
    const plan = (value: unknown) => ({
      location_id: fixture.location,
      max_power: { units: 'KW', value },
      data: [
        { device_id: fixture.device, ...span, max_power: { units: 'KW', value }, energy: { units: 'KWH', value: 7 } },
      ],
    })
    const [asNumber, asString] = [
      await earlier.send('POST', '/schedules', plan(7.4)),
      await earlier.send('POST', '/schedules', plan('7.40')),
    ]
    const plain = ({ json }: typeof asNumber) => ({ ...(json as object), id: '', time_created: '' })
    expect([asString.status, plain(asString)]).toEqual([200, plain(asNumber)])
    expect((await earlier.send('POST', '/schedules', plan('7,4'))).json).toMatchObject({
      field: 'max_power.value',
      message: 'value must be a number.',
    })
    const { location_id: _, ...body } = plan('7.4')
    expect((await current.send('POST', `/schedules/amount/${fixture.location}`, body)).json).toMatchObject({
      field: 'max_power.value',
    })
  })

  it('of a webhook may send the version of its header', async () => {
    const url = 'https://example.com/hook'
    for (const [client, version] of [
      [current, '2025-09-14'],
      [earlier, '2024-08-24'],
    ] as const) {
      const made = await client.send('POST', '/webhooks', { url, api_version: version })
      expect([made.status, made.json]).toMatchObject([201, { api_version: version }])
      expect((await client.send('POST', '/webhooks', { url, api_version: '2020-01-01' })).json).toMatchObject({
        code: 'field_invalid',
        field: 'api_version',
        message: expect.stringContaining(version),
      })
    }
  })

  it('of an import may send that it disconnects nothing', async () => {
    const body = (disconnect: boolean) => ({
      session: { location_id: fixture.location, direction: 'EXPORT', disconnect },
      tariff: {
        type: 'FIXED',
        data: [
          { days_and_hours: [{ hours: [{ valid_from: '00:00:00', valid_to: '00:00:00', rate: [{ fixed: 1 }] }] }] },
        ],
      },
    })
    expect((await earlier.send('POST', '/connect/tariff/batch', body(false))).status).toBe(200)
    expect((await earlier.send('POST', '/connect/tariff/batch', body(true))).json).toMatchObject({
      field: 'session.disconnect',
    })
  })

  it.each(['/locations', '/connect/token'])('with UK to POST %s is refused with the advice to send GB', async path => {
    const address = { city: 'London', country_code: 'UK' }
    const more =
      path === '/locations' ? {} : { connect_url: 'https://example.com', callback_url: 'https://example.com' }
    expect((await current.send('POST', path, { ...more, postal_address: address })).json).toMatchObject({
      field: 'postal_address.country_code',
      message: 'country_code must be GB for the United Kingdom, not UK.',
    })
  })
})

describe('an update', () => {
  const pathsOf = (isCurrent: boolean) => [
    `/customers/${fixture.customer}`,
    `/locations/${fixture.location}`,
    `/devices/${fixture.device}`,
    `${isCurrent ? '/tariffs' : '/tariffs/elements'}/${fixture.tariff}`,
  ]

  it('may send back an unchanged object, and changes nothing', async () => {
    for (const client of clients()) {
      for (const path of pathsOf(client === current)) {
        const before = await client.ask('GET', path)
        const made = await client.send('PATCH', path, before)
        expect([made.status, made.json], path).toEqual([path.startsWith('/customers') ? 202 : 200, before])
      }
    }
  })

  it('may write the same instant in another form, and no other instant', async () => {
    const path = `/tariffs/${fixture.tariff}`
    const { time_created: created } = (await current.ask('GET', path)) as { time_created: string }
    const shifted = new Date(Date.parse(created) + 3_600_000).toISOString().replace('Z', '+01:00')
    expect((await current.send('PATCH', path, { time_created: shifted })).status).toBe(200)
    for (const client of clients()) {
      for (const one of pathsOf(client === current)) {
        const refused = await client.send('PATCH', one, { time_created: '2020-01-01T00:00:00Z' })
        expect(refused.json, one).toMatchObject({ code: 'field_immutable', field: 'time_created' })
      }
    }
  })
})

describe('the message of a refusal', () => {
  it.each([
    ['POST', '/customers', { reference_id: 17 }, 'reference_id must be a string.'],
    [
      'POST',
      '/customers',
      '{"reference_id":"\\ud800"}',
      'The body contains an invalid Unicode character; send both halves of each surrogate pair (line 1, column 17).',
    ],
    [
      'POST',
      '/schedules/duration/{location}',
      { ...span, segment: 'LOW', duration: 1.5 },
      'duration must be a whole number of minutes.',
    ],
    [
      'POST',
      '/schedules/duration/{location}',
      { ...span, segment: 'LOW', duration: '60' },
      'duration must be a whole number of minutes.',
    ],
    [
      'PUT',
      '/markets/{market}/prices',
      [
        { ...span, value: 1 },
        { ...span, value: 2 },
      ],
      'start_time must not overlap entry [0].',
    ],
    [
      'POST',
      '/schedules/amount/{location}',
      { data: [{ device_id: 'dev_1', ...span, energy: { units: 'WH', value: 1 } }] },
      'max_power is required: set it for this window, or next to data for all windows.',
    ],
    ['POST', '/locations', { postal_address: { city: 'Xyzzyville', country_code: 'CA' } }, 'state is required in CA.'],
    [
      'POST',
      '/locations',
      { postal_address: { city: 'Xyzzyville', state: 'Nowhere', country_code: 'BR' } },
      'The city "Xyzzyville" cannot be placed in BR: check spelling and post code or give timezone and currency_code.',
    ],
  ])('to %s %s with %j names the required change', async (method, path, body, message) => {
    const filled = path.replace('{location}', fixture.location).replace('{market}', fixture.market)
    expect(((await current.send(method, filled, body)).json as { message: string }).message).toBe(message)
  })

  it.each([
    ['PUT', '/meters/cumulative/epoch', 'energy_flow_direction', 'direction'],
    ['PUT', '/meters/cumulative/epoch', 'tariff_direction', 'tariff_rate'],
    ['POST', '/costs/instant', 'energy_flow_direction', 'direction'],
    ['POST', '/costs/instant', 'tariff_direction', 'tariff_rate'],
    ['PUT', '/meters/interval', 'tariff_direction', 'tariff_rate'],
  ])('to %s %s of the earlier API version names %s and its replacement', async (method, path, foreign, own) => {
    const one = { location_id: fixture.location, units: 'WH', [foreign]: 'INBOUND' }
    const body = path === '/meters/interval' ? [one] : one
    const { text, json } = await earlier.send(method, path, body)
    expect(text).toContain(`${foreign} belongs to Api-Version 2025-09-14; with 2024-08-24 use ${own}`)
    if (!Array.isArray(body)) expect(json).toMatchObject({ code: 'unknown_field', field: foreign })
  })
})
