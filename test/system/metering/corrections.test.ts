import { beforeAll, describe, expect, it } from 'vitest'
import type { Client } from '../../support/system/client.ts'
import { bought, makeHome } from '../../support/system/home.ts'
import { until } from '../../support/system/until.ts'
import { useSystem } from '../../support/system/use-system.ts'

const system = useSystem()
let client: Client

beforeAll(async () => {
  client = await system.login()
})

type Values = {
  readonly energy: { readonly value: number }
  readonly confidence: number
  readonly batch_id: string | null
  readonly time_received: string
}
type Correction = {
  readonly id: string
  readonly record_id: string
  readonly location_id: string
  readonly device_id: string | null
  readonly start_time: string
  readonly before: Values
  readonly after: Values
}
type List = { readonly has_more: boolean; readonly data: readonly Correction[] }

const at = (hour: number): string => new Date(Date.UTC(2025, 5, 10, hour)).toISOString()

/** Send a record and wait until it is stored. Returns its batch. */
const send = async (...records: readonly object[]): Promise<string> => {
  const { id } = (await client.submit(records)) as { readonly id: string }
  await until(
    async () => (await client.ask('GET', `/meters/batch/${id}`)) as { readonly status: string },
    ({ status }) => status === 'COMPLETE',
  )
  return id
}

const list = async (query: string): Promise<List> => (await client.ask('GET', `/meters/corrections?${query}`)) as List
const energies = ({ data }: List): readonly (readonly [number, number])[] =>
  data.map(({ before, after }) => [before.energy.value, after.energy.value])

describe('the corrections of records', () => {
  it('name the values before and after, and the submissions of both', async () => {
    const home = await makeHome(client, { import: 0.1 })
    const record = bought(home, 5, at(1), at(2))
    const first = await send(record)
    const second = await send({ ...record, value: 6 })
    // Equal values are no correction. The next correction names their submission.
    const third = await send({ ...record, value: 6 })
    const fourth = await send({ ...record, value: 0 })
    const corrections = await list(`location_id=${home}`)
    expect(energies(corrections)).toEqual([
      [6000, 0],
      [5000, 6000],
    ])
    expect(corrections.data.map(({ before, after }) => [before.batch_id, after.batch_id])).toEqual([
      [third, fourth],
      [first, second],
    ])
    const [newest] = corrections.data
    expect(newest).toMatchObject({
      object: 'meter_correction',
      location_id: home,
      device_id: null,
      start_time: at(1).replace('.000', ''),
    })
    const records = (await client.ask('GET', `/meters/records?location_id=${home}`)) as List
    expect(records.data.map(({ id }) => id)).toEqual([newest?.record_id])
  })

  it('include a changed confidence, and values that are sent again in one step', async () => {
    const home = await makeHome(client, { import: 0.1 })
    const record = bought(home, 5, at(1), at(2))
    await Promise.all([1, 2, 3].map(() => client.submit([{ ...record, value: 5, confidence: 0.5 }])))
    await send({ ...record, confidence: 1 })
    const { data } = await list(`location_id=${home}`)
    expect(data.map(({ before, after }) => [before.confidence, after.confidence])).toEqual([[0.5, 1]])
  })

  it('have the largest energy of a record exactly', async () => {
    const home = await makeHome(client, { import: 0.1 })
    const record = bought(home, 100_000_000, at(1), at(2))
    await send(record)
    await send({ ...record, value: 99_999_999.5 })
    expect(energies(await list(`location_id=${home}`))).toEqual([[100_000_000_000, 99_999_999_500]])
  })

  it('are found by record, device, arrival and cursor, and by no other account', async () => {
    const home = await makeHome(client, { import: 0.1 })
    const device = (await client.ask('POST', '/devices', { reference_id: `meter of ${home}` })) as {
      readonly id: string
    }
    const records = [1, 2, 3].map(hour => ({ ...bought(home, 1, at(hour), at(hour + 1)), device_id: device.id }))
    await send(...records)
    await send(...records.map(record => ({ ...record, value: 2 })))
    const all = await list(`device_id=${device.id}`)
    expect(all.data).toHaveLength(3)
    const [newest, middle, oldest] = all.data
    expect((await list(`record_id=${middle?.record_id}`)).data).toEqual([middle])
    const page = await list(`location_id=${home}&limit=1`)
    expect([page.has_more, page.data]).toEqual([true, [newest]])
    expect((await list(`location_id=${home}&starting_after=${newest?.id}`)).data).toEqual([middle, oldest])
    expect((await list(`location_id=${home}&ending_before=${oldest?.id}&limit=1`)).data).toEqual([middle])
    const arrived = newest?.after.time_received ?? ''
    expect((await list(`location_id=${home}&end_time=${arrived}`)).data).toEqual([])
    expect((await list(`location_id=${home}&start_time=${arrived}`)).data).toHaveLength(3)
    const { status, json } = await client.send('GET', '/meters/corrections?starting_after=mco_0198c0ffee00112233445566')
    expect([status, (json as { readonly code: string }).code]).toEqual([400, 'cursor_not_found'])
    const live = await system.login('live')
    expect(((await live.ask('GET', '/meters/corrections')) as List).data).toEqual([])
  })

  it('are the same after the process was killed', { timeout: 60_000 }, async () => {
    const home = await makeHome(client, { import: 0.1 })
    const record = bought(home, 5, at(1), at(2))
    await send(record)
    await client.submit([{ ...record, value: 7 }])
    await system.killAndStart()
    client = await system.login()
    await send({ ...record, value: 8 })
    expect(energies(await list(`location_id=${home}`))).toEqual([
      [7000, 8000],
      [5000, 7000],
    ])
  })
})
