import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { type SimulationAnswer, simulate } from '../../support/simulations/simulation-answer.ts'
import { bought, makeHome } from '../../support/system/home.ts'
import { inParallel } from '../../support/system/in-parallel.ts'
import { killAtWork } from '../../support/system/kill-at-work.ts'
import { until } from '../../support/system/until.ts'
import { useSystem } from '../../support/system/use-system.ts'

const system = useSystem()
const rounds = Number(process.env['KILL_ROUNDS'] ?? 2)
/** 40 charges: 4 locations × 50 candidates × 40 charges × 366 days are more than an immediate answer calculates. */
const charges = Array.from({ length: 40 }, (_, index) => ({
  kind: 'FIXED',
  name: `base ${index}`,
  price: (100 + index) / 100,
  per: 'MONTH',
}))
const year = { start_date: '2024-01-01', end_date: '2025-01-01' }

it('a large simulation is calculated once after its process was killed', {
  timeout: 120_000 + rounds * 60_000,
}, async () => {
  let client = await system.login()
  const homes = await inParallel(Array.from({ length: 4 }), 4, () => makeHome(client, { import: 0.1 }))
  await client.submit(
    homes.flatMap((home, index) =>
      ['2024-02-29', '2024-07-01', '2024-12-31'].map(day =>
        bought(home, 1 + index, `${day}T10:00:00Z`, `${day}T11:00:00Z`),
      ),
    ),
  )
  const candidates = Array.from({ length: 50 }, (_, index) => ({ name: `c${index}`, charges }))
  const body = { object_ids: homes, ...year, group_by: 'LOCATION' }
  const { status, json } = await client.send('POST', '/simulations', { ...body, candidates })
  const { id } = json as SimulationAnswer
  expect([status, typeof id]).toEqual([202, 'string'])
  const get = async () => (await client.ask('GET', `/simulations/${id}`)) as SimulationAnswer
  let pending = 0
  for (let round = 0; round < rounds; round += 1) {
    await sleep(200 + 500 * round)
    await system.killAndStart()
    client = await system.login()
    if ((await get()).status === 'PENDING') pending += 1
  }
  expect(pending).toBeGreaterThan(0)
  const done = await until(get, one => one.status !== 'PENDING', 120_000)
  expect([done.status, done.error, done.progress]).toEqual(['DONE', null, { locations: 4, done: 4 }])
  const one = await simulate(client, { ...body, candidates: candidates.slice(0, 1) })
  // 1 + 2 + 3 + 4 kWh × 0.10 on three days.
  expect(done.baseline).toMatchObject({ energy: 3, total: 3 })
  const bills = ({ name: _, ...bill }: SimulationAnswer['data'][number]) => bill
  const [first] = one.data
  if (first === undefined) throw new Error('The simulation has no candidate.')
  expect(done.data.map(bills)).toEqual(candidates.map(() => bills(first)))
  expect(done.locations?.map(({ location_id, baseline }) => [location_id, baseline])).toEqual(
    one.locations?.map(({ location_id, baseline }) => [location_id, baseline]),
  )
})

const turns = {
  lock: null,
  attempts: 'select attempts from simulations order by id desc limit 1',
  expire: 'update simulations set due_at = clock_timestamp()',
}

it('a simulation that ends its process five times has failed, and the next one is calculated', {
  timeout: 300_000,
}, async () => {
  let client = await system.login()
  const home = await makeHome(client, { import: 0.1 })
  await client.submit([bought(home, 1, '2024-02-29T10:00:00Z', '2024-02-29T11:00:00Z')])
  const peak = { kind: 'DEMAND', interval_minutes: 15, price: 1, per: 'MONTH' }
  const peaks = Array.from({ length: 100 }, (_, index) => ({ ...peak, name: `peak ${index}` }))
  const candidates = Array.from({ length: 50 }, (_, index) => ({ name: `c${index}`, charges: peaks }))
  const body = { object_ids: [home], start_date: '2022-01-01', end_date: '2025-01-01' }
  let id = ''
  const seen = await killAtWork(system, turns, 5, async () => {
    id = ((await client.ask('POST', '/simulations', { ...body, candidates })) as SimulationAnswer).id ?? ''
  })
  expect(seen).toEqual([1, 2, 3, 4, 5])
  client = await system.login()
  const get = async (of: string) => (await client.ask('GET', `/simulations/${of}`)) as SimulationAnswer
  const failed = await until(
    () => get(id),
    ({ status }) => status !== 'PENDING',
    60_000,
  )
  const message = `The calculation ended early 5 times at the location ${home}. Simulate it with fewer days, candidates or charges, or report it.`
  expect([failed.status, failed.error]).toEqual(['FAILED', { code: 'internal_error', message }])
  const { id: next } = (await client.ask('POST', '/simulations', {
    ...body,
    candidates: Array.from({ length: 50 }, (_, index) => ({ name: `c${index}`, charges: [...charges, ...charges] })),
  })) as SimulationAnswer
  const done = await until(
    () => get(next ?? ''),
    ({ status }) => status !== 'PENDING',
    60_000,
  )
  expect([done.status, done.error]).toEqual(['DONE', null])
})
