import { beforeAll, describe, expect, it } from 'vitest'
import type { ExactEnergyCost } from '../../support/exact/exact-answers.ts'
import { askExactly } from '../../support/exact/exact-json.ts'
import type { Client } from '../../support/system/client.ts'
import { bought, makeHome, makeOne } from '../../support/system/home.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'

const system = useSharedSystem()
let client: Client
let home: string
let car: string

beforeAll(async () => {
  client = await system.login()
  home = await makeHome(client, { import: 0.1, export: 0.05 })
  car = await makeOne(client, '/devices', { reference_id: 'car' })
})

const session = (id: string, query = ''): Promise<ExactEnergyCost> =>
  askExactly(client, 'POST', `/costs/session/${encodeURIComponent(id)}?${query}`)
const refusal = async (id: string, query = '') => {
  const { status, json } = await client.send('POST', `/costs/session/${id}?${query}`)
  return [status, (json as { code: string }).code]
}
const shown = ({ data }: ExactEnergyCost) =>
  data.map(({ start_time, end_time, energy, tariff }) => [
    start_time.slice(11, 16),
    end_time.slice(11, 16),
    energy.value,
    tariff.cost.value,
  ])

const ten = '2025-06-01T10:00:00Z'
const quarterPast = '2025-06-01T10:15:00Z'
const half = '2025-06-01T10:30:00Z'

describe('the cost of a session', () => {
  it('is one element from its first start to its last end, and includes an impulse at that end', async () => {
    const charge = { session_reference_id: 'charge 1/ü', device_id: car }
    await client.submit([
      bought(home, 1, quarterPast, half, charge),
      bought(home, 0.5, half, half, charge),
      bought(home, 2, ten, quarterPast, charge),
    ])
    const found = await session('charge 1/ü')
    expect(shown(found)).toEqual([['10:00', '10:30', '3500', '0.35']])
    expect([found.object_id, found.location_timezone, found.currency_code]).toEqual([car, 'Europe/Berlin', 'EUR'])
    expect([found.data[0]?.session_reference_id, found.data[0]?.record_reference_id]).toEqual(['charge 1/ü', null])
  })

  it('is one element per record if requested, and names the record', async () => {
    const charge = (reference: string) => ({ session_reference_id: 'charge-2', record_reference_id: reference })
    await client.submit([
      bought(home, 1, quarterPast, half, charge('b')),
      bought(home, 2, ten, quarterPast, charge('a')),
    ])
    const found = await session('charge-2', 'include_records=true')
    expect(shown(found)).toEqual([
      ['10:00', '10:15', '2000', '0.2'],
      ['10:15', '10:30', '1000', '0.1'],
    ])
    expect(found.data.map(element => element.record_reference_id)).toEqual(['a', 'b'])
    expect(found.object_id).toBe(home)
  })

  it('has one flow: a known session without records in the flow has no element', async () => {
    const charge = { session_reference_id: 'charge-3' }
    await client.submit([
      bought(home, 1, ten, quarterPast, charge),
      bought(home, 3, quarterPast, half, { ...charge, energy_flow_direction: 'OUTBOUND', tariff_direction: 'IMPORT' }),
    ])
    expect(shown(await session('charge-3'))).toEqual([['10:00', '10:15', '1000', '0.1']])
    expect(shown(await session('charge-3', 'energy_flow_direction=OUTBOUND'))).toEqual([
      ['10:15', '10:30', '3000', '0.3'],
    ])
    expect(await session('charge-3', 'tariff_direction=EXPORT')).toMatchObject({ object_id: home, data: [] })
    await client.submit([bought(home, 1, ten, half, { session_reference_id: 'charge-5', device_id: car })])
    expect(await session('charge-5', 'tariff_direction=EXPORT')).toMatchObject({ object_id: car, data: [] })
  })

  it('counts a corrected record once, and a cancelled record as 0', async () => {
    const charge = { session_reference_id: 'charge-4' }
    await client.submit([bought(home, 1, ten, quarterPast, charge), bought(home, 7, quarterPast, half, charge)])
    await client.submit([bought(home, 2, ten, quarterPast, charge), bought(home, 0, quarterPast, half, charge)])
    expect(shown(await session('charge-4'))).toEqual([['10:00', '10:30', '2000', '0.2']])
  })

  it('must name one of several locations', async () => {
    const away = await makeHome(client, { import: 0.4 })
    const tour = { session_reference_id: 'tour' }
    await client.submit([bought(home, 1, ten, quarterPast, tour), bought(away, 1, quarterPast, half, tour)])
    expect(await refusal('tour')).toEqual([400, 'location_ambiguous'])
    expect(await refusal('tour', 'location_id=loc_0123456789abcdef01234567')).toEqual([400, 'location_not_found'])
    expect(shown(await session('tour', `location_id=${away}`))).toEqual([['10:15', '10:30', '1000', '0.4']])
  })

  it('is not found for an unknown session', async () => {
    expect(await refusal('never')).toEqual([404, 'not_found'])
    const { status, json } = await client.send('GET', '/meters/records/mre_0123456789abcdef01234567')
    expect([status, (json as { code: string }).code]).toEqual([404, 'not_found'])
  })

  it('returns the energy without a price if there is no tariff', async () => {
    const bare = await makeHome(client, {})
    await client.submit([bought(bare, 1, ten, quarterPast, { session_reference_id: 'bare' })])
    const [element] = (await session('bare')).data
    expect([element?.energy.value, element?.unpriced_records, element?.unpriced_energy?.value]).toEqual([
      '0',
      '1',
      '1000',
    ])
  })
})
