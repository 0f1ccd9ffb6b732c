import { expect, it } from 'vitest'
import {
  contractYear,
  flatTariff,
  listed,
  make,
  makeAccount,
  makeLocation,
  useService,
} from '../../../support/registry/service.ts'
import { allHours } from '../../../support/tariffs/all-hours.ts'

let at = Date.UTC(2026, 0, 15, 12)
const service = await useService(() => at++)
const { live } = await makeAccount(service)

/** Return the data of the price.update events of a location since the last call, oldest first. */
const seen = new Set<unknown>()
const newUpdates = async (location: string): Promise<readonly (readonly unknown[])[]> => {
  const events = listed(await live.call('GET', `/events?object_id=${location}&event_type=price.*&limit=100`))
  const fresh = events.toReversed().filter(({ id }) => !seen.has(id))
  for (const { id } of fresh) seen.add(id)
  return fresh.map(({ data }) => {
    const {
      location_id: of,
      tariff_direction: direction,
      start_time: start,
      end_time: end,
    } = data as Record<string, unknown>
    expect(of).toBe(location)
    return [direction, start, end]
  })
}

const year = (number: number): string => `${number}-01-01T00:00:00Z`

it('price.update is written once per change of a tariff, with the interval that changes', async () => {
  const location = await makeLocation(live)
  const first = await make(live, '/tariffs', flatTariff(location, contractYear(2025)))
  expect(await newUpdates(location)).toEqual([['IMPORT', year(2025), null]])
  const second = await make(live, '/tariffs', flatTariff(location, { ...contractYear(2027), direction: 'EXPORT' }))
  expect(await newUpdates(location)).toEqual([['EXPORT', year(2027), null]])

  await live.call('PATCH', `/tariffs/${first}`, { display_name: 'Another name' })
  expect(await newUpdates(location)).toEqual([])
  await live.call('PATCH', `/tariffs/${first}`, { contract_end_date: '2025-07-01T00:00:00Z' })
  expect(await newUpdates(location)).toEqual([['IMPORT', '2025-07-01T00:00:00Z', null]])
  const prices = { schedule: allHours([{ fixed: 0.4 }]), effective_from: '2025-03-01T00:00:00Z' }
  await live.call('PATCH', `/tariffs/${first}`, prices)
  expect(await newUpdates(location)).toEqual([['IMPORT', '2025-03-01T00:00:00Z', null]])

  await live.call('DELETE', `/tariffs/${first}`)
  expect((await newUpdates(location)).map(([direction]) => direction)).toEqual(['IMPORT'])
  await live.call('DELETE', `/tariffs/${second}?void=true`)
  expect(await newUpdates(location)).toEqual([['EXPORT', year(2027), null]])
  expect((await live.call('POST', '/tariffs', flatTariff(location, { schedule: [] }))).status).toBe(400)
  expect(await newUpdates(location)).toEqual([])
})

it('price.update is written for a new zone per direction with a tariff, and for a new source of market tariffs', async () => {
  const location = await makeLocation(live)
  const market = async (name: string): Promise<string> =>
    make(live, '/markets', { display_name: name, currency_code: 'EUR' })
  const [one, two] = [await market('one'), await market('two')]
  const moveTo = (body: object) => live.call('PATCH', `/locations/${location}`, body)
  await moveTo({ timezone: 'Europe/Vienna', market_sources: { import: one, export: one } })
  expect(await newUpdates(location)).toEqual([])

  await make(live, '/tariffs', flatTariff(location))
  const followsMarket = { direction: 'EXPORT', market_rates: true, schedule: allHours([{}]) }
  await make(live, '/tariffs', flatTariff(location, followsMarket))
  await newUpdates(location)
  await moveTo({ timezone: 'Europe/Paris' })
  expect(await newUpdates(location)).toEqual([
    ['EXPORT', null, null],
    ['IMPORT', null, null],
  ])
  await moveTo({ market_sources: { import: two } })
  expect(await newUpdates(location)).toEqual([])
  await moveTo({ market_sources: { export: two } })
  expect(await newUpdates(location)).toEqual([['EXPORT', null, null]])
  await moveTo({ metadata: { a: 'b' } })
  expect(await newUpdates(location)).toEqual([])

  const earlier = { 'api-version': '2024-08-24' }
  const [event] = listed(
    await live.call('GET', `/events?object_id=${location}&event_type=price.update&limit=1`, undefined, earlier),
  )
  const data = { direction: 'EXPORT', location_id: location, live_mode: true, account_id: live.accountId }
  expect(event?.['data']).toEqual(data)
})
