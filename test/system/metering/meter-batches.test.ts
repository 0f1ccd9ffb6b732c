import { beforeAll, describe, expect, it } from 'vitest'
import type { Client } from '../../support/system/client.ts'
import { bought, makeHome } from '../../support/system/home.ts'
import { until } from '../../support/system/until.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'

const system = useSharedSystem()
let client: Client

beforeAll(async () => {
  client = await system.login()
})

type Batch = {
  readonly id: string
  readonly status: string
  readonly records_submitted: number
  readonly records_processed: number
  readonly failed_records: readonly { readonly record_num: number; readonly error: string }[]
}
type List = { readonly has_more: boolean; readonly data: readonly { readonly id: string; readonly batch_id: string }[] }

const at = (hour: number): string => new Date(Date.UTC(2025, 5, 10, hour)).toISOString()
const read = async (id: string): Promise<Batch> => (await client.ask('GET', `/meters/batch/${id}`)) as Batch
const complete = (id: string): Promise<Batch> =>
  until(
    () => read(id),
    ({ status }) => status === 'COMPLETE',
  )

describe('a batch', () => {
  it('is PENDING until each of its records is processed or failed, as a query and as a path', async () => {
    const home = await makeHome(client, { import: 0.1 })
    const bad = bought(home, 1, at(3), at(2))
    const sent = (await client.ask('PUT', '/meters/interval', [bought(home, 1, at(1), at(2)), bad])) as Batch
    expect([sent.status, sent.records_processed, sent.failed_records.length]).toEqual(['PENDING', 0, 1])
    const done = await complete(sent.id)
    expect(done).toMatchObject({ records_submitted: 2, records_processed: 1, failed_records: [{ record_num: 2 }] })
    expect(await client.ask('GET', `/meters/batch?batch_id=${sent.id}`)).toEqual(done)
    // All records are processed.
    expect((await client.ask('PUT', '/meters/interval', [bad])) as Batch).toMatchObject({
      status: 'COMPLETE',
      records_processed: 0,
    })
    for (const path of [
      '/meters/batch/bat_0198c0ffee00112233445566',
      '/meters/batch?batch_id=bat_0198c0ffee00112233445566',
    ]) {
      const { status, json } = await client.send('GET', path)
      expect([status, (json as { code: string }).code]).toEqual([404, 'batch_not_found'])
    }
  })

  it('remains COMPLETE if a later reading makes one of its readings fail', async () => {
    const home = await makeHome(client, { import: 0.1 })
    const readings = async (...data: readonly (readonly [hour: number, value: number])[]): Promise<string> => {
      const body = {
        location_id: home,
        energy_flow_direction: 'INBOUND',
        tariff_direction: 'IMPORT',
        units: 'KWH',
        data: data.map(([hour, value]) => ({ time: Date.parse(at(hour)) / 1000, value })),
      }
      return ((await client.ask('PUT', '/meters/cumulative/epoch', body)) as Batch).id
    }
    const first = await readings([1, 100], [3, 110])
    expect(await complete(first)).toMatchObject({ records_processed: 2, failed_records: [] })
    // A reading between them is higher than the second reading.
    await complete(await readings([2, 120]))
    const changed = await until(
      () => read(first),
      ({ failed_records }) => failed_records.length > 0,
    )
    expect(changed).toMatchObject({ status: 'COMPLETE', records_processed: 1, failed_records: [{ record_num: 2 }] })
  })

  it('lists its records until another batch replaces them', async () => {
    const home = await makeHome(client, { import: 0.1 })
    const records = [1, 2, 3].map(hour => bought(home, 1, at(hour), at(hour + 1)))
    const { id: first } = (await client.submit(records)) as Batch
    const { id: second } = (await client.submit([{ ...records[1], value: 2 }])) as Batch
    const list = async (query: string): Promise<List> => (await client.ask('GET', `/meters/records?${query}`)) as List
    const [one, two] = [await list(`batch_id=${first}`), await list(`batch_id=${second}`)]
    expect([one.data.map(({ batch_id }) => batch_id), two.data.map(({ batch_id }) => batch_id)]).toEqual([
      [first, first],
      [second],
    ])
    const page = await list(`batch_id=${first}&limit=1`)
    expect([page.has_more, page.data.length]).toEqual([true, 1])
    const rest = await list(`batch_id=${first}&limit=1&starting_after=${page.data[0]?.id}`)
    expect([rest.has_more, rest.data.map(({ id }) => id)]).toEqual([false, [one.data[1]?.id]])
    expect((await list(`batch_id=${first}&start_time=${at(3)}`)).data).toHaveLength(1)
    const { status, json } = await client.send('GET', '/meters/records?batch_id=bat_0198c0ffee00112233445566')
    expect([status, (json as { code: string }).code]).toEqual([404, 'batch_not_found'])
  })
})
