import { beforeAll, describe, expect, it } from 'vitest'
import { costOfInterval, type ExactElement, type ExactEnergyCost } from '../../support/exact/exact-answers.ts'
import { askExactly } from '../../support/exact/exact-json.ts'
import { postStatement } from '../../support/statements/statement-answer.ts'
import type { Client } from '../../support/system/client.ts'
import { bought, makeHome, makeOne, priceSchedule } from '../../support/system/home.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'

const system = useSharedSystem()
let client: Client
let home: string
let device: string
let customer: string

/** The contract of the import tariff ends in the middle of this day, in Berlin. Its prices go on, provisional. */
const contractEnd = '2025-06-10T12:00:00+02:00'
const days: readonly [string, string] = ['2025-06-09T00:00:00+02:00', '2025-06-12T00:00:00+02:00']

beforeAll(async () => {
  client = await system.login()
  customer = await makeOne(client, '/customers', {})
  home = await makeHome(client, { export: 0.05 }, { customer_id: customer })
  device = await makeOne(client, '/devices', { reference_id: 'meter' })
  await makeOne(client, '/tariffs', {
    location_id: home,
    direction: 'IMPORT',
    type: 'COMMODITY',
    schedule: priceSchedule(0.3),
    contract_end_date: contractEnd,
  })
  const session = { session_reference_id: 'night' }
  await client.submit([
    bought(home, 2, '2025-06-09T08:00:00+02:00', '2025-06-09T10:00:00+02:00'),
    // 3 kWh an hour before, and 3 kWh after the end of the contract.
    bought(home, 6, '2025-06-10T11:00:00+02:00', '2025-06-10T13:00:00+02:00'),
    // An estimate of 7 h with a provisional price, over midnight: 1/7 kWh an hour, so that each cut is rounded.
    bought(home, 1, '2025-06-10T21:00:00+02:00', '2025-06-11T04:00:00+02:00', { confidence: 0.9, ...session }),
    bought(home, 5, '2025-06-09T20:00:00+02:00', '2025-06-09T21:00:00+02:00', { confidence: 0.999_999 }),
    bought(home, 4, '2025-06-09T12:00:00+02:00', '2025-06-09T13:00:00+02:00', { energy_flow_direction: 'OUTBOUND' }),
    bought(home, 3, '2025-06-09T14:00:00+02:00', '2025-06-09T15:00:00+02:00', { device_id: device, confidence: 0.5 }),
  ])
})

const wattHours = (elements: readonly ExactElement[], name: 'energy' | 'estimated_energy' | 'provisional_energy') =>
  elements.reduce((sum, element) => sum + BigInt(Math.round(Number(element[name].value) * 1e6)), 0n)

const sumsOf = ({ data }: ExactEnergyCost) => ({
  energy: wattHours(data, 'energy'),
  estimated: wattHours(data, 'estimated_energy'),
  provisional: wattHours(data, 'provisional_energy'),
})

describe('estimated and provisional energy of costs', () => {
  it('is a part of the energy of each element, cut as the energy is', async () => {
    const { data } = await costOfInterval(client, home, days, 'aggregation=DAY')
    // 9 June: 2 and an estimate of 5. 10 June: 6 and 3/7 of an estimate, of it 3 and 3/7 provisional. 11 June: 4/7.
    expect(
      data.map(element => [
        ...[element.energy.value, element.estimated_energy.value, element.provisional_energy.value],
      ]),
    ).toEqual([
      ['7000', '5000', '0'],
      ['6428.571429', '428.571429', '3428.571429'],
      ['571.428571', '571.428571', '571.428571'],
    ])
  })

  it('adds up to the same sums by hour, day and month, and without elements', async () => {
    const whole = sumsOf(await costOfInterval(client, home, days))
    expect(whole).toEqual({ energy: 14_000_000_000n, estimated: 6_000_000_000n, provisional: 4_000_000_000n })
    for (const unit of ['HOUR', 'DAY', 'MONTH'])
      expect([unit, sumsOf(await costOfInterval(client, home, days, `aggregation=${unit}`))]).toEqual([unit, whole])
  })

  it('is in the sums of customers and accounts, also repeated and after a correction', async () => {
    const own = () => costOfInterval(client, home, days, 'aggregation=DAY')
    const account = ((await client.ask('GET', `/locations/${home}`)) as { account_id: string }).account_id
    const expectSums = async () => {
      const expected = sumsOf(await own())
      for (const id of [customer, account, account])
        expect([id, sumsOf(await costOfInterval(client, id, days, 'aggregation=DAY'))]).toEqual([id, expected])
      return expected
    }
    const before = await expectSums()
    const estimate = bought(home, 1, '2025-06-11T10:00:00+02:00', '2025-06-11T11:00:00+02:00', { confidence: 0.4 })
    await client.submit([estimate])
    const wh = 1_000_000_000n
    expect(await expectSums()).toEqual({
      energy: before.energy + wh,
      estimated: before.estimated + wh,
      provisional: before.provisional + wh,
    })
    await client.submit([{ ...estimate, value: 0 }])
    expect(await expectSums()).toEqual(before)
  })

  it('is that of the statement of the same days', async () => {
    const { totals } = (await postStatement(client, home, {
      start_date: '2025-06-09',
      end_date: '2025-06-12',
      expect: 'NOTHING',
      rounding: { profile: 'LARGEST_REMAINDER' },
    })) as unknown as { totals: { estimated_energy: number; provisional_energy: number } }
    const [bill, sold] = [
      sumsOf(await costOfInterval(client, home, days)),
      sumsOf(await costOfInterval(client, home, days, 'tariff_direction=EXPORT')),
    ]
    expect([totals.estimated_energy * 1e9, totals.provisional_energy * 1e9]).toEqual([
      ...[Number(bill.estimated + sold.estimated), Number(bill.provisional + sold.provisional)],
    ])
  })

  it('is in the costs of a device, of a session and of its records', async () => {
    expect(sumsOf(await costOfInterval(client, device, days))).toEqual({
      energy: 3_000_000_000n,
      estimated: 3_000_000_000n,
      provisional: 0n,
    })
    for (const query of ['', '?include_records=true']) {
      const cost = await askExactly<ExactEnergyCost>(client, 'POST', `/costs/session/night${query}`, {})
      expect(sumsOf(cost)).toEqual({ energy: 1_000_000_000n, estimated: 1_000_000_000n, provisional: 1_000_000_000n })
    }
  })

  it('has the same names in the earlier API version, in CSV and in tables', async () => {
    const body = { start_time: days[0], end_time: days[1] }
    const path = `/costs/interval/${home}`
    const ask = (headers: Record<string, string>) => client.send('POST', path, body, headers)
    const earlier = JSON.parse((await ask({ 'Api-Version': '2024-08-24' })).text) as { data: ExactElement[] }
    expect(earlier.data.map(one => [one.estimated_energy.value, one.provisional_energy.value])).toEqual([[6000, 4000]])
    const [names, row] = (await ask({ Accept: 'text/csv' })).text.split('\r\n').map(line => line.split(','))
    expect(names?.slice(-2)).toEqual(['estimated_energy_wh', 'provisional_energy_wh'])
    expect(row?.slice(-2)).toEqual(['6000', '4000'])
    const lines = (await ask({ Accept: 'application/x-ndjson' })).text
    expect(JSON.parse(lines)).toMatchObject({ estimated_energy_wh: 6000, provisional_energy_wh: 4000 })
  })
})
