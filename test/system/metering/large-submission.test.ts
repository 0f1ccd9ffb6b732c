import { beforeAll, expect, it } from 'vitest'
import { createLocation, flatSchedule } from '../../support/registry/object-fixture.ts'
import type { Client } from '../../support/system/client.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'

const locationCount = 5_000
const recordCount = 10_000
const atOnce = 32

const system = useSharedSystem()
let client: Client | undefined
const locations: string[] = []

const caller = (): Client => {
  if (client === undefined) throw new Error('the system is not ready')
  return client
}

beforeAll(async () => {
  client = await system.login()
  const makeSome = async (): Promise<void> => {
    while (locations.length < locationCount) {
      // The index is taken before the answer, so that all requests together create exactly the wanted number.
      const at = locations.push('') - 1
      locations[at] = await createLocation(caller())
    }
  }
  await Promise.all(Array.from({ length: atOnce }, makeSome))
}, 180_000)

/** Every hundredth record has an error: an end before its start, an unknown location, or a value below 0. */
const faults = [
  ['end_time must not be before start_time', { end_time: '2025-09-14T09:00:00Z' }],
  ['location_id must be the id of a location that exists.', { location_id: 'loc_0198c0ffee00112233445566' }],
  ['value must be from 0 to 100 GWh of energy.', { value: -1 }],
  ['units must be W, KW, WH or KWH.', { units: 'MWH' }],
  ['value must be a number.', { value: '1' }],
] as const

const faultOf = (index: number) => (index % 100 === 99 ? faults[Math.floor(index / 100) % faults.length] : undefined)

const recordAt = (index: number) => ({
  location_id: locations[index % locationCount],
  record_reference_id: `record-${index + 1}`,
  units: 'WH',
  value: index + 1,
  start_time: '2025-09-14T10:00:00Z',
  end_time: '2025-09-14T11:00:00Z',
  ...faultOf(index)?.[1],
})

type Receipt = {
  readonly id: string
  readonly records_submitted: number
  readonly records_accepted: number
  readonly records_processed: number
  readonly failed_records: readonly {
    readonly record_num: number
    readonly record_reference_id: string
    readonly error: string
  }[]
}

it('10,000 records over 5,000 locations are answered, stored and readable; errors name the record', async () => {
  const indexes = Array.from({ length: recordCount }, (_, index) => index)
  const good = indexes.filter(index => faultOf(index) === undefined)
  const bad = indexes.filter(index => faultOf(index) !== undefined)
  await caller().ask('POST', '/tariffs', {
    location_id: locations[0],
    direction: 'IMPORT',
    type: 'COMMODITY',
    schedule: flatSchedule,
  })
  const receipt = (await caller().submit(indexes.map(recordAt))) as Receipt
  const counts = { records_submitted: recordCount, records_accepted: good.length, records_processed: good.length }
  expect(receipt).toMatchObject(counts)
  expect(
    receipt.failed_records.map(({ record_num, record_reference_id }) => [record_num, record_reference_id]),
  ).toEqual(bad.map(index => [index + 1, `record-${index + 1}`]))
  expect(receipt.failed_records.map(({ error }) => error)).toEqual(bad.map(index => faultOf(index)?.[0]))

  const account = system.sandbox().account_id
  const span = { start_time: '2025-09-14T00:00:00Z', end_time: '2025-09-15T00:00:00Z' }
  type Cost = {
    readonly data: readonly {
      readonly energy: { readonly value: number }
      readonly unpriced_energy?: { readonly value: number }
      readonly unpriced_records?: number
    }[]
  }
  const { data } = (await caller().ask('POST', `/costs/interval/${account}`, span)) as Cost
  const [total] = data
  const submitted = good.reduce((sum, index) => sum + index + 1, 0)
  expect((total?.energy.value ?? 0) + (total?.unpriced_energy?.value ?? 0)).toBe(submitted)
  // Only the first location has a tariff; it has two of the records.
  expect([total?.energy.value, total?.unpriced_records]).toEqual([1 + 5_001, good.length - 2])
  const ten = { start_time: '2016-01-01T00:00:00Z', end_time: '2025-12-31T00:00:00Z' }
  const days = (await caller().ask('POST', `/costs/interval/${account}?aggregation=DAY`, ten)) as Cost
  expect(days.data.reduce((sum, { energy, unpriced_energy: more }) => sum + energy.value + (more?.value ?? 0), 0)).toBe(
    submitted,
  )

  for (const index of [0, 4_998, 5_000, 9_998]) {
    const { data: stored } = (await caller().ask(
      'GET',
      `/meters/records?location_id=${locations[index % locationCount]}`,
    )) as {
      readonly data: readonly {
        readonly data: { readonly record_reference_id: string; readonly energy: { readonly value: number } }
      }[]
    }
    expect(stored.map(({ data: one }) => [one.record_reference_id, one.energy.value])).toContainEqual([
      `record-${index + 1}`,
      index + 1,
    ])
  }
}, 120_000)

it('counts once if it is sent again', async () => {
  const records = Array.from({ length: recordCount }, (_, index) => recordAt(index)).filter(
    (_, index) => faultOf(index) === undefined,
  )
  await caller().submit(records)
  const span = { start_time: '2025-09-14T00:00:00Z', end_time: '2025-09-15T00:00:00Z' }
  const { data } = (await caller().ask('POST', `/costs/interval/${system.sandbox().account_id}`, span)) as {
    readonly data: readonly { readonly unpriced_records: number }[]
  }
  expect(data[0]?.unpriced_records).toBe(records.length - 2)
}, 60_000)
