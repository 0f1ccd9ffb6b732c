import sql from 'sql-template-tag'
import { describe, expect, it } from 'vitest'
import { toTimestamp } from '../../../services/platform/postgres/column.ts'
import { goldenText } from '../../support/golden.ts'
import { openRecords } from '../../support/registry/accounts.ts'
import type { ApiVersion, Client, Reply } from '../../support/system/client.ts'
import { clockToleranceMs } from '../../support/system/clock-tolerance.ts'
import { makeHome, makeOne, priceSchedule } from '../../support/system/home.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'

const system = useSharedSystem()

/** Create a location with market price, percentage and tiered fee, and records that fill the first tier. */
const makeMarketHome = async (client: Client): Promise<string> => {
  const source = await makeOne(client, '/markets', { display_name: 'golden', currency_code: 'EUR' })
  const hours = ['00', '01', '02', '03', '04'].map(hour => `2025-09-14T${hour}:00:00+02:00`)
  const values = [0.08123, 0.08123, -0.0125, 0.3]
  const prices = values.map((value, index) => ({ start_time: hours[index], end_time: hours[index + 1], value }))
  await client.ask('PUT', `/markets/${source}/prices`, prices)
  const home = await makeHome(client, {}, { market_sources: { import: source } })
  const all = { valid_from: '00:00:00', valid_to: '00:00:00' }
  const scheduleOf = (rate: readonly object[]) => [
    { months: ['All'], days_and_hours: [{ days: ['All'], hours: [{ ...all, rate }] }] },
  ]
  const made = { location_id: home, direction: 'IMPORT', contract_end_date: '2025-09-14T03:30:00+02:00' }
  const market = scheduleOf([{ surcharge_fixed: 0.0125, surcharge_percentage: 0.19 }])
  await client.ask('POST', '/tariffs', { ...made, type: 'COMMODITY', market_rates: true, schedule: market })
  const fee = scheduleOf([{ fixed: 0.1, to_kwh: 1.5 }, { fixed: 0.0875 }])
  await client.ask('POST', '/tariffs', { location_id: home, direction: 'IMPORT', type: 'NON_COMMODITY', schedule: fee })
  const record = { location_id: home, units: 'KWH', value: 2 }
  await client.submit([{ ...record, start_time: '2025-09-14T01:15:00+02:00', end_time: '2025-09-14T01:30:00+02:00' }])
  await makeOne(client, '/tariffs', {
    location_id: home,
    direction: 'EXPORT',
    type: 'COMMODITY',
    schedule: priceSchedule(0.08),
  })
  return home
}

const span = { start_time: '2025-09-14T00:00:00.250+02:00', end_time: '2025-09-14T04:00:00+02:00' }

const answersIn = async (
  client: Client,
  home: string,
  apiVersion: ApiVersion,
): Promise<Readonly<Record<string, Reply>>> => {
  if (apiVersion === 'current') {
    return {
      price: await client.send('POST', `/prices/${home}`, span),
      price_audit: await client.send('POST', `/audits/prices/${home}`, span),
    }
  }
  const ask = (path: string, more: object = {}) =>
    client.send('GET', `${path}/${home}?${new URLSearchParams({ ...span, ...more })}`)
  return {
    price: await ask('/tariffs/rates', { direction: 'IMPORT' }),
    price_without_tariff: await ask('/tariffs/rates', {
      include_tariff: 'False',
      include_carbon: 'true',
      direction: 'EXPORT',
    }),
    price_audit: await ask('/tariffs/audits'),
  }
}

/** Mask times that depend on the current time, like creation times. */
const blotted = (text: string): string =>
  goldenText(text).replace(/("(?:last_updated|next_update)": )"[^"]+"/g, '$1"…"')

describe.each(['current', 'earlier'] as const)('the %s API version', apiVersion => {
  it('writes prices and audits as published', async () => {
    const home = await makeMarketHome(await system.login())
    const client = await system.login('test', apiVersion)
    for (const [name, { status, text }] of Object.entries(await answersIn(client, home, apiVersion))) {
      expect(status, `${name}: ${text}`).toBe(200)
      await expect(blotted(text)).toMatchFileSnapshot(`../../golden/${apiVersion}/${name}.json`)
    }
    if (apiVersion === 'current') return
    const query = new URLSearchParams(span)
    const [one, other] = [
      await client.send('GET', `/tariffs/audits/${home}?${query}`),
      await client.send('GET', `/tariffs/audit/${home}?${query}`),
    ]
    expect(blotted(other.text)).toBe(blotted(one.text))
  })

  it('contains the last change of prices, and in the earlier version the next update', async () => {
    const maker = await system.login()
    const client = await system.login('test', apiVersion)
    const home = await makeHome(maker, {})
    const before = Date.now() - clockToleranceMs
    await maker.ask('POST', '/tariffs', {
      location_id: home,
      direction: 'IMPORT',
      type: 'COMMODITY',
      schedule: priceSchedule(0.3),
    })
    const after = Date.now() + clockToleranceMs
    const [reply] = Object.values(await answersIn(client, home, apiVersion))
    const { last_updated: updated, next_update: next } = JSON.parse(reply?.text ?? '') as {
      last_updated: string
      next_update?: string
    }
    expect(Date.parse(updated)).toBeGreaterThanOrEqual(before)
    expect(Date.parse(updated)).toBeLessThanOrEqual(after)
    if (apiVersion === 'current') expect(next).toBeUndefined()
    else expect(Date.parse(next ?? '') - Date.now()).toBeGreaterThan(0)
  })
})

describe('the next update of the earlier API version', () => {
  it('is the next publication of the market source of the location, if it is before 23:00', async () => {
    const maker = await system.login()
    const client = await system.login('test', 'earlier')
    const home = await makeMarketHome(maker)
    const { market_sources } = (await maker.ask('GET', `/locations/${home}`)) as { market_sources: { import: string } }
    await using records = await openRecords(system.folder)
    const publication = Math.floor(Date.now() / 1000) * 1000 + 60_000
    await records.operator(
      sql`insert into market_feeds (source_id, next_at) values (${market_sources.import}, ${toTimestamp(publication)})`,
    )
    const nextOf = async (direction: string): Promise<number> => {
      const reply = await client.send('GET', `/tariffs/rates/${home}?${new URLSearchParams({ ...span, direction })}`)
      return Date.parse((JSON.parse(reply.text) as { next_update: string }).next_update)
    }
    const evening = await nextOf('EXPORT')
    expect(await nextOf('IMPORT')).toBe(Math.min(publication, evening))
    expect(new Date(evening).toLocaleTimeString('en-GB', { timeZone: 'Europe/Berlin' })).toBe('23:00:00')
  })
})
