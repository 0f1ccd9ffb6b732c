import { expect, it } from 'vitest'
import { type LineAnswer, linesOf, postStatement } from '../../support/statements/statement-answer.ts'
import type { Client } from '../../support/system/client.ts'
import { bought, makeHome, makeOne, priceSchedule } from '../../support/system/home.ts'
import { recordsOf } from '../../support/system/stored-costs.ts'
import { until } from '../../support/system/until.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'

const system = useSharedSystem()

const tariff = (direction: string, type: string, price: number, component: string) => ({
  direction,
  type,
  component,
  schedule: priceSchedule(price),
})
/** Tariffs and charges of a version, whose prices are multiples of one price in tenths. */
const tariffsOf = (tenths: number) => [
  tariff('IMPORT', 'COMMODITY', tenths / 10, 'supply'),
  tariff('IMPORT', 'NON_COMMODITY', tenths / 100, 'network'),
  tariff('EXPORT', 'COMMODITY', tenths / 20, 'feed-in'),
]
const chargesOf = (tenths: number) => [
  { kind: 'FIXED', name: 'Standing', price: tenths / 2, per: 'DAY' },
  { kind: 'DEMAND', name: 'Power', price: (tenths * 7) / 10 },
  { kind: 'PERCENTAGE', name: 'VAT', rate: 0.2 },
]

const sold = { energy_flow_direction: 'OUTBOUND', tariff_direction: 'EXPORT' }
const record = (home: string, kwh: number, day: string, more: object = {}) =>
  bought(home, kwh, `2025-06-${day}T21:30:00Z`, `2025-06-${day}T22:30:00Z`, {
    record_reference_id: `${day} ${JSON.stringify(more)}`,
    ...more,
  })

/** Prices of a location from a local day on, until the next ones. */
type Period = { readonly tenths: number; readonly from: string; readonly to?: string }

/** Create a location whose own tariffs and charges are those that a plan gives. */
const createDirect = async (client: Client, periods: readonly Period[]): Promise<string> => {
  const location_id = await makeHome(client, {})
  const midnight = (day: string) => `2025-06-${day}T00:00:00+02:00`
  for (const { tenths, from, to } of periods) {
    const contract = {
      contract_start_date: midnight(from),
      ...(to === undefined ? {} : { contract_end_date: midnight(to) }),
    }
    const days = { start_date: `2025-06-${from}`, ...(to === undefined ? {} : { end_date: `2025-06-${to}` }) }
    for (const one of tariffsOf(tenths)) await makeOne(client, '/tariffs', { location_id, ...one, ...contract })
    for (const one of chargesOf(tenths)) await makeOne(client, '/charges', { location_id, ...one, ...days })
  }
  return location_id
}

const costsOf = async (client: Client, home: string) =>
  (await recordsOf(client, home))
    .map(({ data }) => [
      data.record_reference_id,
      data.energy.value,
      data.tariff.cost.value,
      data.tariff.cost.confidence,
    ])
    .sort()

const june = { start_date: '2025-06-01', end_date: '2025-07-01', expect: 'NOTHING' }
const withoutIds = ({ charge_id: _, tariff_id: __, ...line }: LineAnswer) => ({ ...line, plan_id: null })

it('costs and statements follow a plan, its new version and its end, as those of direct tariffs and charges', {
  timeout: 120_000,
}, async () => {
  const client = await system.login()
  const home = await makeHome(client, {})
  const plan = await makeOne(client, '/plans', {
    name: 'Home',
    currency_code: 'EUR',
    tariffs: tariffsOf(1),
    charges: chargesOf(1),
  })
  /** Submissions in their order: also late records, and a correction. */
  const sent: object[][] = []
  const submit = async (...records: readonly ((location: string) => object)[]) => {
    sent.push(records.map(one => one(home)))
    await client.submit(records.map(one => one(home)))
    submitted.push(...records)
  }
  const submitted: ((location: string) => object)[] = []
  /** Compare the location with a new one that has direct tariffs and charges, and the same records. */
  const compare = async (periods: readonly Period[]) => {
    const direct = await createDirect(client, periods)
    for (const one of submitted) await client.submit([one(direct)])
    const expected = await costsOf(client, direct)
    await until(
      () => costsOf(client, home),
      costs => JSON.stringify(costs) === JSON.stringify(expected),
    )
    const [lines, own] = [await postStatement(client, direct, june), await postStatement(client, home, june)].map(
      linesOf,
    )
    expect(own?.map(withoutIds)).toEqual(lines?.map(withoutIds))
    return own ?? []
  }

  await submit(
    location => record(location, 3, '05'),
    location => record(location, 2, '10', sold),
    location => record(location, 4, '10'),
    location => record(location, 5, '20'),
  )
  const assigned = (await client.ask('POST', `/plans/${plan}/assignments`, [
    { location_id: home, start_date: '2025-06-01' },
  ])) as { readonly data: readonly { readonly id: string }[] }
  const energy = (await compare([{ tenths: 1, from: '01' }])).filter(({ kind }) => kind === 'ENERGY')
  expect(energy.map(one => [one.component, one.amount, one.plan_id, one.tariff_id === null])).toEqual([
    ['supply', 1.2, plan, false],
    ['network', 0.12, plan, false],
    ['feed-in', -0.1, plan, false],
  ])

  await client.ask('POST', `/plans/${plan}/versions`, {
    from: '2025-06-11',
    tariffs: tariffsOf(3),
    charges: chargesOf(3),
  })
  await submit(
    location => record(location, 7, '25'),
    location => record(location, 1, '10', { session_reference_id: 'late' }),
  )
  const versions = [
    { tenths: 1, from: '01', to: '11' },
    { tenths: 3, from: '11' },
  ]
  // The record of 10 June passes midnight: half of it has the price of the new version.
  const both = (await compare(versions)).filter(({ component }) => component === 'supply')
  // 3 × 0.1 + (4 + 1) × (0.1 + 0.3) / 2 + (5 + 7) × 0.3
  expect(both.map(one => [one.amount, one.tariff_id, one.plan_id])).toEqual([[4.9, null, null]])

  await client.ask('PATCH', `/plans/${plan}/assignments/${assigned.data[0]?.id}`, { end_date: '2025-06-21' })
  await submit(location => record(location, 6, '20'))
  await compare([versions[0] ?? { tenths: 0, from: '' }, { tenths: 3, from: '11', to: '21' }])
})
