import { setTimeout as sleep } from 'node:timers/promises'
import { type Client, login } from '../support/system/client.ts'
import { inParallel } from '../support/system/in-parallel.ts'
import { dataFolder, startSystem } from '../support/system/running-system.ts'
import { allHours } from '../support/tariffs/all-hours.ts'
import { removeAfterRun } from './data-folders.ts'
import { bodiesOf, createFleet, type Fleet } from './fleet/fleet.ts'
import { endMark, startMark } from './load.ts'

/**
 * `oneLocationSeconds`: time until 10,000 stored records of a location have the costs of a new tariff. Promise D5.
 * `marketRowsPerSecond`: rows that are recosted after a change of a market price.
 */
export type RecostFigures = {
  readonly oneLocationSeconds: number
  readonly marketRowsPerSecond: number
  readonly marketRows: number
}

const from = Date.parse('2025-03-01T00:00:00Z')
const slotMs = 900_000
const time = (slot: number): string => new Date(from + slot * slotMs).toISOString()

type Cost = {
  readonly data: readonly {
    readonly energy: { readonly value: number }
    readonly tariff: { readonly cost: { readonly value: number } }
  }[]
}

/** Wait until the cost of an object is its energy times a price per kWh. */
const untilPriced = async (client: Client, object: string, to: number, price: number, query = ''): Promise<void> => {
  const body = { start_time: time(0), end_time: time(to) }
  for (;;) {
    const { data } = (await client.ask('POST', `/costs/interval/${object}${query}`, body)) as Cost
    const [sum] = data
    if (
      sum !== undefined &&
      sum.energy.value > 0 &&
      Math.abs((sum.energy.value / 1000) * price - sum.tariff.cost.value) < 1e-6
    )
      return
    await sleep(20)
  }
}

const seconds = async (work: () => Promise<void>): Promise<number> => {
  const startedAt = performance.now()
  await work()
  return (performance.now() - startedAt) / 1000
}

const recostLocation = async (client: Client): Promise<number> => {
  const { id } = (await client.ask('POST', '/locations', { timezone: 'Europe/Berlin', currency_code: 'EUR' })) as {
    id: string
  }
  const records = Array.from({ length: 10_000 }, (_, slot) => ({
    location_id: id,
    units: 'WH',
    value: 1000,
    start_time: time(slot),
    end_time: time(slot + 1),
  }))
  await client.submit(records)
  return seconds(async () => {
    await client.ask('POST', '/tariffs', {
      location_id: id,
      direction: 'IMPORT',
      type: 'COMMODITY',
      schedule: allHours([{ fixed: 0.5 }]),
    })
    await untilPriced(client, id, 10_000, 0.5)
  })
}

const slots = 50

const fill = async (client: Client, fleet: Fleet): Promise<number> => {
  const bodies = bodiesOf(fleet, 500)
  await inParallel(Array.from({ length: slots }), 2, async (_, slot) => {
    for (const body of bodies)
      await client.submit(body.replaceAll(startMark, time(slot)).replaceAll(endMark, time(slot + 1)))
  })
  return slots * bodies.length * 500
}

const recostMarketSource = async (
  client: Client,
  account: string,
): Promise<{ readonly rows: number; readonly recostSeconds: number }> => {
  const { id } = (await client.ask('POST', '/markets', { display_name: 'Exchange', currency_code: 'EUR' })) as {
    id: string
  }
  const put = (value: number) =>
    client.ask('PUT', `/markets/${id}/prices`, [{ start_time: time(0), end_time: time(slots), value }])
  await put(0.2)
  const rows = await fill(client, await createFleet(client, 1_000, 2_000, { market: id }))
  const query = '?currency_code=EUR'
  await untilPriced(client, account, slots, 0.3, query)
  const recostSeconds = await seconds(async () => {
    await put(0.4)
    await untilPriced(client, account, slots, 0.5, query)
  })
  return { rows, recostSeconds }
}

/** Measure the time until stored costs follow a changed tariff and a changed market price. */
export const recostFigures = async (): Promise<RecostFigures> => {
  const folder = dataFolder()
  const system = await startSystem(folder)
  try {
    const market = await recostMarketSource(await login(system.sandbox), system.sandbox.account_id)
    const oneLocationSeconds = await recostLocation(await login(system.sandbox, 'live'))
    return { oneLocationSeconds, marketRowsPerSecond: market.rows / market.recostSeconds, marketRows: market.rows }
  } finally {
    await system.stop()
    removeAfterRun(folder)
  }
}

if (import.meta.main) process.stdout.write(`${JSON.stringify(await recostFigures())}\n`)
