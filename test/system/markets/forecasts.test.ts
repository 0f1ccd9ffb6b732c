import { beforeAll, describe, expect, it } from 'vitest'
import type { Client } from '../../support/system/client.ts'
import { bought, makeHome, makeOne } from '../../support/system/home.ts'
import { recordsOf } from '../../support/system/stored-costs.ts'
import { until } from '../../support/system/until.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'

const system = useSharedSystem()
let client: Client

beforeAll(async () => {
  client = await system.login()
})

const hourMs = 3_600_000
const start = Date.parse('2025-06-02T00:00:00Z')
const instant = (hours: number): string => new Date(start + hours * hourMs).toISOString()
/** Cheap at night, expensive in the evening, cheaper on Saturday and Sunday; whole hundredths of a cent. */
const priceAt = (hours: number): number => {
  const weekday = Math.floor(hours / 24) % 7
  return (800 + 30 * (hours % 24) - (weekday >= 5 ? 150 : 0) + ((hours * 7) % 11)) / 10_000
}
const putPrices = (market: string, from: number, to: number) =>
  client.ask(
    'PUT',
    `/markets/${market}/prices`,
    Array.from({ length: to - from }, (_, i) => ({
      start_time: instant(from + i),
      end_time: instant(from + i + 1),
      value: priceAt(from + i),
    })),
  )

const marketHome = async (): Promise<{ readonly market: string; readonly home: string }> => {
  const market = await makeOne(client, '/markets', { display_name: 'Exchange', currency_code: 'EUR' })
  const home = await makeHome(client, {}, { market_sources: { import: market } })
  const hours = [{ valid_from: '00:00:00', valid_to: '00:00:00', rate: [{}] }]
  await makeOne(client, '/tariffs', {
    location_id: home,
    direction: 'IMPORT',
    type: 'COMMODITY',
    market_rates: true,
    schedule: [{ months: ['All'], days_and_hours: [{ days: ['All'], hours }] }],
  })
  return { market, home }
}

type Cost = { readonly value: number | null; readonly confidence: number }

/** Return the costs by the hour of their records. */
const costs = async (home: string): Promise<Readonly<Record<string, Cost>>> =>
  Object.fromEntries(
    (await recordsOf(client, home)).map(({ data }) => [data.record_reference_id ?? '', data.tariff.cost]),
  )

const submitHours = (home: string, ...hours: readonly number[]) =>
  client.submit(
    hours.map(hour => bought(home, 1, instant(hour), instant(hour + 1), { record_reference_id: String(hour) })),
  )

describe('prices after the published ones', () => {
  it('are forecast for five days with falling confidence; published prices replace forecasts', async () => {
    const { market, home } = await marketHome()
    const known = 14 * 24
    await submitHours(home, known - 1, known, known + 30, known + 119, known + 120)
    await putPrices(market, 0, known)
    const forecast = await until(
      () => costs(home),
      seen => seen[known + 119]?.value !== null,
    )
    expect(forecast[known - 1]).toEqual({ value: priceAt(known - 1), confidence: 1 })
    expect(forecast[known + 120]).toMatchObject({ value: null })
    for (const hour of [known, known + 30, known + 119]) {
      // The weekly pattern repeats: each forecast is within a third.
      expect(Math.abs((forecast[hour]?.value ?? 0) - priceAt(hour))).toBeLessThan(priceAt(hour) / 3)
      expect(forecast[hour]?.confidence).toBeGreaterThan(0)
      expect(forecast[hour]?.confidence).toBeLessThan(1)
    }
    expect(forecast[known + 119]?.confidence).toBeLessThanOrEqual(forecast[known]?.confidence ?? 0)

    await putPrices(market, known, known + 24)
    const published = await until(
      () => costs(home),
      seen => seen[known]?.confidence === 1 && seen[known + 120]?.value !== null,
    )
    expect(published[known]).toEqual({ value: priceAt(known), confidence: 1 })
    for (const hour of [known + 30, known + 119, known + 120]) expect(published[hour]?.confidence).toBeLessThan(1)
    await putPrices(market, known + 24, known + 121)
    const all = [known - 1, known, known + 30, known + 119, known + 120]
    const wanted = Object.fromEntries(all.map(hour => [hour, { value: priceAt(hour), confidence: 1 }]))
    expect(
      await until(
        () => costs(home),
        seen => Object.values(seen).every(({ confidence }) => confidence === 1),
      ),
    ).toEqual(wanted)
    // One event for the tariff and one for each publication. Forecasts cause no event.
    const events = (await client.ask('GET', `/events?object_id=${home}&event_type=location.update&limit=100`)) as {
      data: unknown[]
    }
    expect(events.data).toHaveLength(4)
  }, 60_000)

  it('are answered up to the end of the forecast; the source lists published prices only', async () => {
    const { market, home } = await marketHome()
    await putPrices(market, 0, 168)
    const span = (hours: number) => ({ start_time: instant(160), end_time: instant(168 + hours) })
    const answer = await until(
      () => client.send('POST', `/prices/${home}`, span(120)),
      ({ status }) => status === 200,
    )
    const { data } = answer.json as { data: readonly { readonly valid_from: string; readonly price: Cost }[] }
    expect(data).toHaveLength(128)
    for (const { valid_from, price } of data)
      expect(price.confidence < 1).toBe(Date.parse(valid_from) >= start + 168 * hourMs)
    expect((await client.send('POST', `/prices/${home}`, span(121))).json).toMatchObject({ code: 'no_price_data' })
    const listed = (await client.ask(
      'GET',
      `/markets/${market}/prices?start_time=${instant(160)}&end_time=${instant(300)}`,
    )) as {
      data: unknown[]
    }
    expect(listed.data).toHaveLength(8)
  })

  it('are not forecast from less than seven days', async () => {
    const { market, home } = await marketHome()
    await submitHours(home, 165, 166)
    await putPrices(market, 0, 166)
    const seen = await until(
      () => costs(home),
      now => now[165]?.value !== null,
    )
    expect(seen[165]).toEqual({ value: priceAt(165), confidence: 1 })
    // Another source, requested later, has its forecast by now.
    const other = await marketHome()
    await submitHours(other.home, 200)
    await putPrices(other.market, 0, 168)
    expect(
      (
        await until(
          () => costs(other.home),
          now => now[200]?.value !== null,
        )
      )[200]?.value,
    ).not.toBeNull()
    expect((await costs(home))[166]).toMatchObject({ value: null })
  })
})
