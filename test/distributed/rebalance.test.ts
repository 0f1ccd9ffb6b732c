import { randomUUID } from 'node:crypto'
import { afterAll, expect, it } from 'vitest'
import type { Role } from '../../services/platform/config/config.ts'
import { openProcesses, openProxy } from '../support/kafka/processes.ts'
import { roleInstance } from '../support/kafka/role-instance.ts'
import { sharedBrokers, skippedWithout } from '../support/kafka/shared-broker.ts'
import { login } from '../support/system/client.ts'
import { bought, makeHome, makeOne, priceSchedule } from '../support/system/home.ts'
import { recordsOf } from '../support/system/stored-costs.ts'
import { until } from '../support/system/until.ts'

const stack = new AsyncDisposableStack()
afterAll(() => stack.disposeAsync())

const hour = (index: number) => [`2025-06-02T${10 + index}:00:00Z`, `2025-06-02T${11 + index}:00:00Z`] as const

/** Start one process per role, and prepare a second worker. */
const openFixture = async () => {
  const processes = stack.use(await openProcesses(await sharedBrokers(), `test-${randomUUID()}.`))
  const post = (...roles: readonly Role[]) => roleInstance(roles, of => processes.start(...of))
  const [query, gateway, first, second] = [
    post('query-service'),
    post('ingest-gateway'),
    post('cost-worker', 'webhook-worker'),
    post('cost-worker', 'webhook-worker'),
  ]
  await query.start()
  await Promise.all([gateway.start(), first.start()])
  const ways = openProxy(
    () => [gateway.process()],
    () => query.process(),
  )
  const { url } = stack.use(await ways)
  return { client: await login({ ...processes.sandbox(), base_url: url }), first, second }
}

/** List the lines of a running service that are no entries of the log, and entries of level error. */
const errorsIn = (output: string): readonly string[] => {
  const lines = output.slice(output.indexOf('"msg":"Service ready"')).split('\n').slice(1)
  return lines.filter(line => line !== '' && !/^\{"level":"(?:debug|info|warn)",.*\}$/.test(line))
}

it.skipIf(skippedWithout('any broker') !== null)(
  'a worker that regains partitions uses the current prices, even if another worker received the notice',
  {
    timeout: 240_000,
  },
  async () => {
    const { client, first, second } = await openFixture()
    const homes = await Promise.all(Array.from({ length: 16 }, () => makeHome(client, { import: 0.2 })))
    const submit = (index: number) => client.submit(homes.map(home => bought(home, 1, ...hour(index))))
    const costs = async (): Promise<readonly (number | null)[]> =>
      (await Promise.all(homes.map(home => recordsOf(client, home)))).flat().map(({ data }) => data.tariff.cost.value)
    await submit(0)
    expect(await costs()).toEqual(homes.map(() => 0.2))

    await second.start()
    const workers = [first.process(), second.process()].filter(one => one !== null)
    const metrics = /metrics\s+(http\S+)/.exec(second.process()?.output() ?? '')?.[1] ?? ''
    const takesPart = async (): Promise<boolean> => {
      await submit(0)
      return /^wattledger_records_(stored|superseded)_total\{\S+ [1-9]/m.test(await (await fetch(metrics)).text())
    }
    await until(takesPart, isPart => isPart)
    const change = '2025-01-01T00:00:00Z'
    const dearer = { direction: 'IMPORT', type: 'COMMODITY', schedule: priceSchedule(0.5), contract_start_date: change }
    for (const home of homes) {
      const { data } = (await client.ask('GET', `/tariffs?location_id=${home}`)) as {
        data: readonly { readonly id: string }[]
      }
      await client.ask('PATCH', `/tariffs/${data[0]?.id}`, { contract_end_date: change })
      await makeOne(client, '/tariffs', { location_id: home, ...dearer })
    }
    await until(costs, all => all.every(cost => cost === 0.5))

    expect((await second.stop()).code).toBe(0)
    await submit(1)
    expect(await costs()).toEqual([...homes, ...homes].map(() => 0.5))
    expect(workers.flatMap(({ output }) => errorsIn(output()))).toEqual([])
  },
)
