import { describe, expect, it } from 'vitest'
import { createPrices, planRequest } from '../../support/acceptance/schedule-cases.ts'
import { goldenText } from '../../support/golden.ts'
import type { ApiVersion, Client, Reply } from '../../support/system/client.ts'
import { makeOne, priceSchedule } from '../../support/system/home.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'

const system = useSharedSystem()

/** Create a market location without a price in the third hour, and a one-price location with expected generation. */
const createLocations = async (client: Client) => {
  const market = await createPrices(client, 'current', {
    start: '2025-09-14T00:00:00Z',
    step_minutes: 60,
    values: [0.3, 0.1234567, 0.2],
  })
  const home = await makeOne(client, '/locations', { timezone: 'Europe/Berlin', currency_code: 'EUR' })
  for (const direction of ['IMPORT', 'EXPORT'] as const) {
    const schedule = priceSchedule(direction === 'IMPORT' ? 0.3 : 0.08)
    await client.ask('POST', '/tariffs', { location_id: home, direction, type: 'COMMODITY', schedule })
  }
  const sun = { location_id: home, tariff_direction: 'LOCAL', units: 'KWH', value: 1.5, confidence: 0.8 }
  await client.submit([{ ...sun, start_time: '2025-09-14T02:00:00+02:00', end_time: '2025-09-14T03:00:00+02:00' }])
  const car = await makeOne(client, '/devices', { reference_id: `car ${market}` })
  const battery = await makeOne(client, '/devices', { reference_id: `battery ${market}` })
  return { market, home, car, battery }
}

const span = { start_time: '2025-09-14T02:30:00+02:00', end_time: '2025-09-14T06:00:00+02:00' }

const answersIn = async (
  client: Client,
  apiVersion: ApiVersion,
  maker: Client,
): Promise<Readonly<Record<string, Reply>>> => {
  const { market, home, car, battery } = await createLocations(maker)
  const ask = (current: string, earlier: string, body: Readonly<Record<string, string | number>>) => {
    if (apiVersion === 'current') return client.send('POST', current, { ...body, tariff_direction: 'IMPORT' })
    const query = Object.fromEntries(
      Object.entries({ ...body, tariff: 'IMPORT' }).map(([name, value]) => [name, String(value)]),
    )
    return client.send('GET', `${earlier}?${new URLSearchParams(query)}`)
  }
  const { path, body } = planRequest(apiVersion, home, {
    max_power: { units: 'KW', value: 2.2 },
    shaving_threshold: { relative: 1 },
    data: [
      { ...span, device_id: car, max_power: { units: 'W', value: 3700 }, energy: { units: 'WH', value: 2500 } },
      {
        ...span,
        device_id: battery,
        tariff_direction: 'EXPORT',
        start_time: '2025-09-14T00:00:00Z',
        energy: { units: 'KWH', value: 2.2 },
      },
    ],
  })
  const made = await client.send('POST', path, body)
  const { id } = JSON.parse(made.text) as { readonly id: string }
  return {
    schedule_duration: await ask(`/schedules/duration/${market}`, `/slots/time/${market}`, {
      ...span,
      segment: 'LOW',
      duration: 45,
    }),
    schedule_limit: await ask(`/schedules/limit/${market}`, `/slots/threshold/${market}`, {
      ...span,
      segment: 'HIGH',
      absolute: 0.2,
      relative: 0.5,
    }),
    schedule_amount: made,
    event_of_schedule: await client.send('GET', `/events?object_id=${id}`),
  }
}

const blotted = (text: string): string => goldenText(text).replace(/("next_update": )"[^"]+"/g, '$1"…"')

describe.each(['current', 'earlier'] as const)('the %s API version', apiVersion => {
  it('writes schedules as published', async () => {
    const answers = await answersIn(await system.login('test', apiVersion), apiVersion, await system.login())
    for (const [name, { status, text }] of Object.entries(answers)) {
      expect(status, `${name}: ${text}`).toBe(200)
      await expect(blotted(text)).toMatchFileSnapshot(`../../golden/${apiVersion}/${name}.json`)
    }
  })
})
