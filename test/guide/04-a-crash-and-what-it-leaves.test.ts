import { describe, expect, it } from 'vitest'
import type { Client } from '../support/system/client.ts'
import { bought, makeHome } from '../support/system/home.ts'
import { costsUntil } from '../support/system/stored-costs.ts'
import { until } from '../support/system/until.ts'
import { useSystem } from '../support/system/use-system.ts'

/**
 * The gateway answers after the records are durable in the log. A worker commits its offset after the costs are
 * durable in ClickHouse. A process may therefore end between any two lines: after the next start, the worker reads
 * the uncommitted messages again and writes the same rows.
 */
const system = useSystem()

type Batch = { readonly id: string; readonly records_processed: number }

const records = (home: string, count: number) =>
  Array.from({ length: count }, (_, index) => {
    const start = Date.UTC(2025, 5, 1) + index * 900_000
    const [from, to] = [new Date(start).toISOString(), new Date(start + 900_000).toISOString()]
    return bought(home, 1, from, to, { record_reference_id: `r${index}` })
  })

/** Return the costs that the records must have: 1 kWh × 0.30 each. */
const wantedCosts = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`r${index}`, 0.3]))

describe('A process that ends without warning', () => {
  it('keeps each record that it has answered for', async () => {
    const before = await system.login()
    const home = await makeHome(before, { import: 0.3 })
    const batch = (await before.ask('PUT', '/meters/interval', records(home, 200))) as Batch
    // The answer has been received. The costs are not stored yet.
    await system.killAndStart()
    const after = await system.login()
    const receipt = await until(
      () => after.ask('GET', `/meters/batch?batch_id=${batch.id}`) as Promise<Batch>,
      ({ records_processed: processed }) => processed === 200,
    )
    expect(receipt.records_processed).toBe(200)
    expect(await costsUntil(after, home, wantedCosts(200))).toEqual(wantedCosts(200))
  })

  it('counts no record twice, even if the caller sends it again', async () => {
    const before = await system.login()
    const home = await makeHome(before, { import: 0.3 })
    // The caller gets no answer, so it does not know whether the records are durable.
    const lost = before.send('PUT', '/meters/interval', records(home, 200)).catch(() => undefined)
    await system.killAndStart()
    await lost
    const after = await system.login()
    await after.submit(records(home, 200))
    await costsUntil(after, home, wantedCosts(200))
    const span = { start_time: '2025-06-01T00:00:00Z', end_time: '2025-07-01T00:00:00Z' }
    const { data } = (await after.ask('POST', `/costs/interval/${home}`, span)) as {
      readonly data: readonly { energy: { value: number }; tariff: { cost: { value: number } } }[]
    }
    // 200 × 1 kWh, 200 × 0.30 = 60
    expect(data.map(({ energy, tariff }) => [energy.value, tariff.cost.value])).toEqual([[200_000, 60]])
  })

  it('finishes the repricing that a tariff change had started', async () => {
    const before: Client = await system.login()
    const home = await makeHome(before, { import: 0.3 })
    await before.submit(records(home, 50))
    const { data } = (await before.ask('GET', `/tariffs?location_id=${home}`)) as { data: readonly { id: string }[] }
    const hours = [{ valid_from: '00:00:00', valid_to: '00:00:00', rate: [{ fixed: 0.4 }] }]
    const schedule = [{ months: ['All'], days_and_hours: [{ days: ['All'], hours }] }]
    await before.ask('PATCH', `/tariffs/${data[0]?.id}`, { schedule, effective_from: '2025-06-01T00:00:00Z' })
    await system.killAndStart()
    const after = await system.login()
    const wanted = Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`r${index}`, 0.4]))
    expect(await costsUntil(after, home, wanted)).toEqual(wanted)
  })
})
