import { beforeAll, describe, expect, it } from 'vitest'
import type { Client, Reply } from '../../support/system/client.ts'
import { makeHome, makeOne } from '../../support/system/home.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'

const system = useSharedSystem()
let client: Client

beforeAll(async () => {
  client = await system.login()
})

const rate = (price: number, more: object = {}) => ({
  label: 'own-1',
  name: 'Own rate',
  energyratestructure: [[{ rate: price }]],
  fixedchargefirstmeter: 10,
  fixedchargeunits: '$/month',
  ...more,
})

type Report = {
  readonly created: number
  readonly unchanged: number
  readonly replaced: number
  readonly imported: readonly { readonly id: string | null; readonly object: string; readonly status: string }[]
}

const newLocation = () => makeOne(client, '/locations', { timezone: 'America/Denver', currency_code: 'USD' })
const send = (location: string, file: object | string, query = ''): Promise<Reply> =>
  client.send('POST', `/tariffs/import?location_id=${location}${query}`, file)
const load = async (location: string, file: object, query = ''): Promise<Report> => {
  const { status, json, text } = await send(location, file, query)
  expect(status, text).toBe(200)
  return json
}
const errorOf = async (reply: Promise<Reply>) => {
  const { status, json } = await reply
  const { code, field } = json as { code: string; field?: string }
  return [status, code, field ?? null]
}
const stored = async (location: string) => {
  const listed = await Promise.all(
    ['tariffs', 'charges'].map(name => client.ask('GET', `/${name}?location_id=${location}`)),
  )
  return listed.map(list => (list as { data: readonly { id: string }[] }).data.map(({ id }) => id))
}

describe('an import of tariffs', () => {
  it('of the same file again changes nothing', async () => {
    const location = await newLocation()
    const first = await load(location, rate(0.1))
    expect([first.created, first.unchanged]).toEqual([2, 0])
    const before = await stored(location)
    const again = await load(location, rate(0.1), '&replace=true')
    expect([again.created, again.unchanged, again.replaced]).toEqual([0, 2, 0])
    expect(again.imported.map(({ id }) => id)).toEqual(first.imported.map(({ id }) => id))
    expect(await stored(location)).toEqual(before)
  })

  it('with another price is refused, and replaces the old one on request', async () => {
    const location = await newLocation()
    const first = await load(location, rate(0.1))
    const span = { start_time: '2026-03-01T07:00:00Z', end_time: '2026-03-01T08:00:00Z' }
    await client.submit([{ location_id: location, units: 'KWH', value: 10, ...span }])
    expect(await errorOf(send(location, rate(0.2)))).toEqual([400, 'tariff_overlap', 'replace'])
    const changed = rate(0.2, { fixedchargefirstmeter: 12 })
    const second = await load(location, changed, '&replace=true')
    expect([second.created, second.replaced]).toEqual([2, 2])
    const ids = second.imported.map(({ id }) => [id])
    expect(await stored(location)).toEqual(ids)
    expect(ids.flat()).not.toContain(first.imported[0]?.id)
    const { data } = (await client.ask('POST', `/prices/${location}`, span)) as {
      data: readonly { price: { value: number } }[]
    }
    expect(JSON.stringify(data)).toContain('0.2')
  })

  it('in a dry run answers the same and writes nothing', async () => {
    const location = await newLocation()
    const report = await load(location, rate(0.1), '&dry_run=true')
    expect([report.created, report.imported.map(({ id }) => id)]).toEqual([2, [null, null]])
    expect(await stored(location)).toEqual([[], []])
    await load(location, rate(0.1))
    const replaced = await load(location, rate(0.3), '&dry_run=true&replace=true')
    expect([replaced.created, replaced.unchanged, replaced.replaced]).toEqual([1, 1, 1])
    expect((await stored(location)).map(({ length }) => length)).toEqual([1, 1])
    expect(await errorOf(send(location, rate(0.3), '&dry_run=true'))).toEqual([400, 'tariff_overlap', 'replace'])
  })

  it('writes all of a file or nothing', async () => {
    const location = await makeHome(client, { import: 0.3 }, { timezone: 'America/Denver', currency_code: 'USD' })
    expect(await errorOf(send(location, rate(0.1)))).toEqual([400, 'tariff_overlap', 'replace'])
    const twice = { items: [rate(0.1), rate(0.2, { label: 'own-2' })] }
    expect(await errorOf(send(location, twice, '&replace=true'))).toEqual([400, 'tariff_overlap', null])
    expect((await stored(location)).map(({ length }) => length)).toEqual([1, 0])
  })

  it.each([
    ['not JSON', 'energy: 1', '&format=urdb', 'body_invalid', null],
    ['of an unknown format', { prices: [1] }, '', 'field_required', 'format'],
    [
      'with a text as price',
      { energyratestructure: [[{ rate: 'free' }]] },
      '',
      'field_invalid',
      '/energyratestructure/0/0/rate',
    ],
    ['with a wrong date', rate(0.1), '&valid_from=soon', 'field_invalid', 'valid_from'],
    ['with a wrong tax', rate(0.1), '&vat=a', 'field_invalid', 'vat'],
  ])('is refused if the file is %s', async (_, file, query, code, field) => {
    expect(await errorOf(send(await newLocation(), file, query))).toEqual([400, code, field])
  })

  it('names the formats if that of the file is unknown', async () => {
    const { text } = await send(await newLocation(), { prices: [1] })
    expect(text).toContain('Set format to one of urdb, ocpi, fri-nettleie, datahub-pricelist, octopus.')
  })

  it('needs a location of the account', async () => {
    const unknown = 'loc_000000000000000000000000'
    expect(await errorOf(send(unknown, rate(0.1)))).toEqual([400, 'location_not_found', 'location_id'])
  })

  it('of a later file of market prices adds them, and the tariff is unchanged', async () => {
    const location = await makeOne(client, '/locations', { timezone: 'Europe/London', currency_code: 'GBP' })
    const unitRates = (day: number, pence: number) => ({
      results: [
        {
          value_exc_vat: pence,
          value_inc_vat: pence,
          payment_method: null,
          valid_from: `2026-01-${day}T00:00:00Z`,
          valid_to: `2026-01-${day + 1}T00:00:00Z`,
        },
      ],
    })
    const first = await load(location, unitRates(10, 20), '&format=octopus')
    const second = await load(location, unitRates(11, 30), '&format=octopus')
    expect([first.created, second.created, second.unchanged]).toEqual([1, 0, 1])
    // Forecasts after the last price follow the clock of the tariff.
    const { market_sources: sources } = (await client.ask('GET', `/locations/${location}`)) as {
      market_sources: { import: string }
    }
    expect(await client.ask('GET', `/markets/${sources.import}`)).toMatchObject({ timezone: 'Europe/London' })
    const hour = (day: number) => ({
      location_id: location,
      units: 'KWH',
      value: 10,
      start_time: `2026-01-${day}T10:00:00Z`,
      end_time: `2026-01-${day}T11:00:00Z`,
    })
    await client.submit([hour(10), hour(11)])
    const span = { start_time: '2026-01-10T00:00:00Z', end_time: '2026-01-12T00:00:00Z' }
    const { data } = (await client.ask('POST', `/costs/interval/${location}`, span)) as {
      data: readonly { tariff: { cost: { value: number } } }[]
    }
    // 10 kWh x 0.20 + 10 kWh x 0.30
    expect(data.reduce((sum, { tariff }) => sum + tariff.cost.value, 0)).toBeCloseTo(5, 9)
  })
})
