import { beforeAll, describe, expect, it } from 'vitest'
import { askPrices } from '../../support/acceptance/price-cases.ts'
import type { Client, Reply } from '../../support/system/client.ts'
import { clockToleranceMs } from '../../support/system/clock-tolerance.ts'
import { bought, makeHome, makeOne, priceSchedule } from '../../support/system/home.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'
import { addTiers, makeTieredHome } from '../../support/tariffs/tier-tariff.ts'

const system = useSharedSystem()
let ready: { readonly client: Client; readonly earlier: Client } | undefined

const clients = () => {
  if (ready === undefined) throw new Error('the system did not start')
  return ready
}

beforeAll(async () => {
  ready = { client: await system.login(), earlier: await system.login('test', 'earlier') }
})

type Answer = {
  readonly request: { readonly start_time: string; readonly end_time: string }
  readonly data: readonly {
    readonly valid_from: string
    readonly valid_to: string
    readonly price: { readonly value: number; readonly confidence: number }
  }[]
}
type Fault = { readonly code: string; readonly message: string; readonly field?: string }

const prices = async (home: string, body: object): Promise<Answer> =>
  clients().client.ask('POST', `/prices/${home}`, body)
const refusalOf = (reply: Reply): readonly [number, Fault] => [reply.status, JSON.parse(reply.text) as Fault]
const refused = async (home: string, body: object) =>
  refusalOf(await clients().client.send('POST', `/prices/${home}`, body))
const shown = ({ data }: Answer) => data.map(({ valid_from, valid_to, price }) => [valid_from, valid_to, price.value])

describe('prices with tiers', () => {
  const june = { start_time: '2025-06-10T00:00:00Z', end_time: '2025-07-02T00:00:00Z' }

  it('are the prices of the next energy, divided at the start of a record that fills a tier', async () => {
    const { client } = clients()
    // 0.1 up to 10 kWh per month, 0.5 above.
    const home = await makeTieredHome(client)
    await client.submit([
      bought(home, 6, '2025-06-10T08:00:00Z', '2025-06-10T09:00:00Z'),
      bought(home, 6, '2025-06-10T10:00:00Z', '2025-06-10T11:00:00Z'),
    ])
    expect(shown(await prices(home, june))).toEqual([
      ['2025-06-10T00:00:00Z', '2025-06-10T10:00:00Z', 0.1],
      ['2025-06-10T10:00:00Z', '2025-06-30T22:00:00Z', 0.5],
      ['2025-06-30T22:00:00Z', '2025-07-02T00:00:00Z', 0.1],
    ])
    // A late record counts at its own time,
    await client.submit([bought(home, 5, '2025-06-10T07:00:00Z', '2025-06-10T07:30:00Z')])
    expect(shown(await prices(home, june))[0]).toEqual(['2025-06-10T00:00:00Z', '2025-06-10T08:00:00Z', 0.1])
    // and a cancelled record does not count.
    await client.submit([bought(home, 0, '2025-06-10T10:00:00Z', '2025-06-10T11:00:00Z')])
    await client.submit([bought(home, 0, '2025-06-10T07:00:00Z', '2025-06-10T07:30:00Z')])
    expect(shown(await prices(home, june))).toEqual([[june.start_time, june.end_time, 0.1]])
  })

  it('count devices and shares of records that reach into a month, but not energy from storage', async () => {
    const { client } = clients()
    const home = await makeTieredHome(client)
    const car = await makeOne(client, '/devices', { reference_id: 'car that charges over the start of June' })
    const supplied = { energy_flow_direction: 'OUTBOUND', tariff_direction: 'IMPORT' }
    await client.submit([
      // Half of the record belongs to June, which begins at 22:00Z.
      bought(home, 12, '2025-05-31T20:00:00Z', '2025-06-01T00:00:00Z', { device_id: car }),
      bought(home, 40, '2025-06-01T06:00:00Z', '2025-06-01T07:00:00Z', supplied),
      bought(home, 4, '2025-06-01T08:00:00Z', '2025-06-01T09:00:00Z'),
    ])
    const span = { start_time: '2025-05-31T21:00:00Z', end_time: '2025-06-02T00:00:00Z' }
    expect(shown(await prices(home, span))).toEqual([
      ['2025-05-31T21:00:00Z', '2025-06-01T08:00:00Z', 0.1],
      ['2025-06-01T08:00:00Z', '2025-06-02T00:00:00Z', 0.5],
    ])
  })

  it('count the remaining energy of an estimate in the month of that energy', async () => {
    const { client } = clients()
    const home = await makeTieredHome(client)
    // 20 kWh across the start of July. The half in June is measured as 1 kWh, so July alone has counted 10.
    await client.submit([bought(home, 20, '2025-06-30T20:00:00Z', '2025-07-01T00:00:00Z', { confidence: 0.5 })])
    await client.submit([bought(home, 1, '2025-06-30T20:00:00Z', '2025-06-30T22:00:00Z')])
    const around = { start_time: '2025-06-30T21:00:00Z', end_time: '2025-07-02T00:00:00Z' }
    expect(shown(await prices(home, around)).map(element => element[2])).toEqual([0.1, 0.5])
  })

  it('equal the charge of a record of 1 kWh, for any start', async () => {
    const { client } = clients()
    const home = await makeHome(client, {})
    await addTiers(client, home, [{ fixed: 0.1, to_kwh: 10 }, { fixed: 0.2, to_kwh: 23 }, { fixed: 0.5 }])
    const hour = (of: number): string => new Date(Date.parse('2025-06-10T00:00:00Z') + of * 3_600_000).toISOString()
    await client.submit(
      Array.from({ length: 24 }, (_, index) => bought(home, 1 + (index % 4), hour(index), hour(index + 1))),
    )
    const found = await askPrices(client, 'current', home, { start_time: hour(0), end_time: hour(24) })
    expect(found.map(({ price }) => price)).toEqual([0.1, 0.2, 0.5])
    for (let index = 0; index < 24; index += 1) {
      const start = new Date(Date.parse(hour(index)) + 1_800_000).toISOString()
      const probe = bought(home, 0.001, start, hour(index + 1))
      const { data } = (await client.ask('POST', '/costs/instant?non_persistent=true', probe)) as {
        data: { tariff: { cost: { value: number } } }
      }
      const element = found.find(({ from, to }) => from <= Date.parse(start) && Date.parse(start) < to)
      expect([index, Math.round(data.tariff.cost.value * 1e9)]).toEqual([
        index,
        Math.round((element?.price ?? 0) * 1e6),
      ])
    }
  })
})

describe('the interval of prices', () => {
  it('may be at any distance from now', async () => {
    const { client } = clients()
    const source = await makeOne(client, '/markets', { display_name: 'of one day', currency_code: 'EUR' })
    await client.ask('PUT', `/markets/${source}/prices`, [
      { start_time: '2025-06-10T00:00:00Z', end_time: '2025-06-11T00:00:00Z', value: 0.1 },
    ])
    const tiered = await makeTieredHome(client)
    const atMarket = await makeHome(client, {}, { market_sources: { import: source } })
    const hours = [{ valid_from: '00:00:00', valid_to: '00:00:00', rate: [{ surcharge_fixed: 0.1, to_kwh: 5 }, {}] }]
    const schedule = [{ months: ['All'], days_and_hours: [{ days: ['All'], hours }] }]
    const terms = { location_id: atMarket, direction: 'IMPORT', type: 'COMMODITY', market_rates: true, schedule }
    await client.ask('POST', '/tariffs', terms)
    for (const year of ['0001', '1582', '1900', '1969', '1999', '2105', '2199', '2262', '2300', '9999']) {
      const span = { start_time: `${year}-01-31T00:00:00Z`, end_time: `${year}-04-30T00:00:00Z` }
      const whole = await prices(tiered, span)
      expect([whole.data[0]?.valid_from, whole.data.at(-1)?.valid_to]).toEqual([span.start_time, span.end_time])
      const [status, { code }] = await refused(atMarket, span)
      expect([year, status, code]).toEqual([year, 422, 'no_price_data'])
    }
  })

  it('has at most 90 days, in the past or from now, and answers in the offsets of the location', async () => {
    const home = await makeHome(clients().client, { import: 0.3 })
    const whole = { start_time: '2025-01-01T00:00:00Z', end_time: '2025-04-01T02:00:00+02:00' }
    const answer = await prices(home, whole)
    expect(answer.request).toEqual({ ...whole, tariff_direction: 'IMPORT' })
    expect(shown(answer)).toEqual([['2025-01-01T01:00:00+01:00', '2025-04-01T02:00:00+02:00', 0.3]])
    const [status, { code, field }] = await refused(home, { ...whole, end_time: '2025-04-01T02:00:00.001+02:00' })
    expect([status, code, field]).toEqual([400, 'interval_too_long', 'end_time'])
    const before = Date.now()
    const { data } = await prices(home, { end_time: new Date(before + 3_600_000).toISOString() })
    expect(Date.parse(data[0]?.valid_from ?? '')).toBeGreaterThanOrEqual(before - clockToleranceMs)
    expect(Date.parse(data[0]?.valid_from ?? '')).toBeLessThanOrEqual(Date.now() + clockToleranceMs)
  })

  it.each([
    [{ end_time: '2025-01-01T00:00:00Z' }, 'end_before_start', 'end_time'],
    [{ start_time: '2025-01-01T00:00:00Z', end_time: '2025-01-01T00:00:00Z' }, 'end_before_start', 'end_time'],
    [{ start_time: '2025-01-01T00:00:00Z' }, 'field_required', 'end_time'],
    [{ end_time: '2025-01-01' }, 'field_invalid', 'end_time'],
    [{ end_time: '2099-01-01T00:00:00Z', tariff_direction: 'BOTH' }, 'field_invalid', 'tariff_direction'],
    [{ end_time: '2099-01-01T00:00:00Z', direction: 'IMPORT' }, 'unknown_field', 'direction'],
  ])('refuses %j', async (body, expected, of) => {
    const home = await makeHome(clients().client, { import: 0.3 })
    const [status, { code, field }] = await refused(home, body)
    expect([status, code, field]).toEqual([400, expected, of])
  })

  it('has whole seconds in the earlier API version, and its limit of 90 days applies after the rounding', async () => {
    const { client, earlier } = clients()
    const home = await makeHome(client, { import: 0.3 })
    const ask = (query: string) => earlier.send('GET', `/tariffs/rates/${home}?${query}`)
    const cut = await ask('start_time=2025-01-01T00:00:00.999Z&end_time=2025-04-01T00:00:00.5Z')
    const { request, data } = JSON.parse(cut.text) as Answer
    expect(request).toMatchObject({ start_time: '2025-01-01T00:00:00Z', end_time: '2025-04-01T00:00:00Z' })
    expect([data[0]?.valid_from, data.at(-1)?.valid_to]).toEqual(['2025-01-01T00:00:00Z', '2025-04-01T00:00:00Z'])
    const [status, { code }] = refusalOf(await ask('start_time=2025-01-01T00:00:00.999Z&end_time=2025-04-01T00:00:01Z'))
    expect([status, code]).toEqual([409, 'interval_too_long'])
    // A + that was not encoded counts as a plus sign.
    expect((await ask('start_time=2025-01-01T00:00:00+01:00&end_time=2025-01-02T00:00:00%2B01:00')).status).toBe(200)
    const wrong = refusalOf(await ask('end_time=2099-01-01T00:00:00Z&tariff_direction=IMPORT'))
    expect([wrong[0], wrong[1].field, wrong[1].message]).toEqual([
      409,
      'tariff_direction',
      expect.stringContaining('use direction'),
    ])
  })
})

describe('time without a price', () => {
  const day = { start_time: '2025-06-10T00:00:00Z', end_time: '2025-06-11T00:00:00Z' }
  const terms = (locationId: string, more: object) => ({
    location_id: locationId,
    direction: 'IMPORT',
    type: 'COMMODITY',
    schedule: priceSchedule(0.3),
    ...more,
  })

  it('is left out before the first contract, and is refused if nothing else remains', async () => {
    const { client, earlier } = clients()
    const home = await makeHome(client, {})
    const [status, { code, message }] = await refused(home, day)
    expect([status, code]).toEqual([422, 'no_tariff_connected'])
    expect(message).toMatch(
      /IMPORT at 2025-06-10T00:00:00Z; post one to \/tariffs with direction IMPORT and type COMMODITY/,
    )
    const other = await earlier.send(
      'GET',
      `/tariffs/audits/${home}?end_time=2099-01-01T00:00:00Z&start_time=2098-12-31T00:00:00Z`,
    )
    expect(refusalOf(other)[1].message).toMatch(/post one to \/tariffs\/elements/)
    await client.ask('POST', '/tariffs', terms(home, { contract_start_date: '2025-06-10T18:00:00Z' }))
    expect(shown(await prices(home, day))).toEqual([['2025-06-10T18:00:00Z', '2025-06-11T00:00:00Z', 0.3]])
    const [, late] = await refused(home, { start_time: '2025-06-09T00:00:00Z', end_time: '2025-06-10T18:00:00Z' })
    expect(late.code).toBe('no_tariff_connected')
  })

  it('is refused after a deleted tariff, and not after the end of a contract', async () => {
    const { client } = clients()
    const ended = await makeHome(client, {})
    const made = await makeOne(client, '/tariffs', terms(ended, { contract_end_date: '2025-06-10T12:00:00Z' }))
    expect((await prices(ended, day)).data.map(({ price }) => price.confidence)).toEqual([1, 0.8])
    await client.ask('DELETE', `/tariffs/${made}`)
    expect((await prices(ended, day)).data).toHaveLength(2)
    const [status, { code }] = await refused(ended, { end_time: new Date(Date.now() + 3_600_000).toISOString() })
    expect([status, code]).toEqual([422, 'no_tariff_connected'])
  })

  it('is refused if the market has no price, with the first such instant', async () => {
    const { client } = clients()
    const source = await makeOne(client, '/markets', { display_name: 'with a gap', currency_code: 'EUR' })
    await client.ask('PUT', `/markets/${source}/prices`, [
      { start_time: '2025-06-10T00:00:00Z', end_time: '2025-06-10T06:00:00Z', value: 0.1 },
      { start_time: '2025-06-10T07:00:00Z', end_time: '2025-06-10T08:00:00Z', value: 0.2 },
    ])
    const home = await makeHome(client, {}, { market_sources: { import: source } })
    const hours = [{ valid_from: '00:00:00', valid_to: '00:00:00', rate: [{ surcharge_fixed: 0.02 }] }]
    const schedule = [{ months: ['All'], days_and_hours: [{ days: ['All'], hours }] }]
    await client.ask('POST', '/tariffs', terms(home, { market_rates: true, schedule }))
    const [status, { code, message }] = await refused(home, { ...day, end_time: '2025-06-10T10:00:00+02:00' })
    expect([status, code]).toEqual([422, 'no_price_data'])
    expect(message).toContain('2025-06-10T08:00:00+02:00')
    const known = { ...day, end_time: '2025-06-10T06:00:00Z' }
    expect(shown(await prices(home, known))).toEqual([[known.start_time, known.end_time, 0.12]])
    const audit = (await client.ask('POST', `/audits/prices/${home}`, known)) as { market_sources: string[] }
    expect(audit.market_sources).toEqual([source])
    // A corrected price is in the next answer.
    await client.ask('PUT', `/markets/${source}/prices`, [
      { start_time: day.start_time, end_time: '2025-06-10T01:00:00Z', value: 0.5 },
    ])
    expect(shown(await prices(home, known))[0]).toEqual([day.start_time, '2025-06-10T01:00:00Z', 0.52])
  })

  it('does not exist for own generation: without a tariff it is free', async () => {
    const home = await makeHome(clients().client, {})
    const answer = await prices(home, { ...day, tariff_direction: 'LOCAL' })
    expect(answer.data.map(({ price }) => price)).toEqual([{ value: 0, confidence: 1 }])
  })

  it('differs from an unknown location', async () => {
    const { client } = clients()
    const reply = await client.send('POST', '/prices/loc_0198c0ffee00112233445566', day)
    expect(refusalOf(reply)[0]).toBe(404)
    const deleted = await makeHome(client, { import: 0.3 })
    await client.ask('DELETE', `/locations/${deleted}`)
    expect((await client.send('POST', `/prices/${deleted}`, day)).status).toBe(404)
  })
})
