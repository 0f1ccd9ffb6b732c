import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { planCharge, planTariff } from '../../support/plans/plan-fixture.ts'
import { linesOf, postStatement } from '../../support/statements/statement-answer.ts'
import type { Client } from '../../support/system/client.ts'
import { bought, makeHome, makeOne, priceSchedule } from '../../support/system/home.ts'
import { inParallel } from '../../support/system/in-parallel.ts'
import { recordsOf } from '../../support/system/stored-costs.ts'
import { until } from '../../support/system/until.ts'
import { useSystem } from '../../support/system/use-system.ts'

const system = useSystem()
const rounds = Number(process.env['KILL_ROUNDS'] ?? 1)
const siteCount = 40
const june = { start_date: '2025-06-01', end_date: '2025-07-01', expect: 'NOTHING' }
const days = ['05', '15', '25', '28']

const prices = (fixed: number, charges: readonly object[]) => ({ tariffs: [planTariff(fixed)], charges })
/** Ten charges of 0.01 to 0.10 for a day: 0.55 for each day together. */
const fees = Array.from({ length: 10 }, (_, index) => planCharge((index + 1) / 100, { name: `fee ${index}` }))
/** Charges that ended before the plan make its pages small: 16 locations at about 600 charges. */
const ended = Array.from({ length: 190 }, (_, index) => planCharge(1, { name: `old ${index}`, end_date: '2020-01-01' }))

const submitRecords = (client: Client, homes: readonly string[]) =>
  client.submit(
    homes.flatMap(home =>
      days.map(day =>
        bought(home, 1, `2025-06-${day}T10:00:00Z`, `2025-06-${day}T11:00:00Z`, { record_reference_id: day }),
      ),
    ),
  )

/** Terms of the tariffs of a location without a plan: price, start, end. */
type Terms = readonly (readonly [number, string, string?])[]

/** Create a location with tariffs of its own, and return its costs: value and confidence by day. */
const directCosts = async (client: Client, terms: Terms) => {
  const home = await makeHome(client, {})
  for (const [fixed, start, end] of terms)
    await makeOne(client, '/tariffs', {
      location_id: home,
      direction: 'IMPORT',
      type: 'COMMODITY',
      schedule: priceSchedule(fixed),
      contract_start_date: `2025-${start}T00:00:00+02:00`,
      ...(end === undefined ? {} : { contract_end_date: `2025-${end}T00:00:00+02:00` }),
    })
  await submitRecords(client, [home])
  return storedCosts(client, home)
}

const storedCosts = async (client: Client, home: string) =>
  (await recordsOf(client, home))
    .map(({ data }) => [data.record_reference_id, data.tariff.cost.value, data.tariff.cost.confidence])
    .sort()

const tariffsOf = async (client: Client, home: string): Promise<readonly unknown[]> =>
  ((await client.ask('GET', `/tariffs?location_id=${home}`)) as { data: { plan_version: number }[] }).data
    .map(one => one.plan_version)
    .sort()

/** Number and sum of the lines of charges. */
const chargesOf = async (client: Client, home: string) => {
  const fixed = linesOf(await postStatement(client, home, june)).filter(({ kind }) => kind === 'FIXED')
  return [fixed.length, Math.round(fixed.reduce((sum, { amount }) => sum + amount, 0) * 100) / 100]
}

type Expected = { readonly costs: unknown; readonly versions: readonly number[]; readonly charges: readonly number[] }

const verify = async (client: Client, homes: readonly string[], expected: Expected): Promise<void> => {
  await inParallel(homes, 4, async home => {
    await until(
      () => storedCosts(client, home),
      costs => JSON.stringify(costs) === JSON.stringify(expected.costs),
    )
    expect([await tariffsOf(client, home), await chargesOf(client, home)]).toEqual([
      expected.versions,
      expected.charges,
    ])
  })
}

type Progress = { readonly sites: number; readonly applied: number; readonly failed: readonly object[] }

it('a plan is at each location once, after kills while it is assigned, changed and ended', {
  timeout: 120_000 + rounds * 300_000,
}, async () => {
  let client = await system.login()
  const progressOf = async (plan: string) => (await client.ask('GET', `/plans/${plan}`)) as Progress
  const killAndLogin = async () => {
    await system.killAndStart()
    client = await system.login()
  }
  let unfinished = 0
  let keys = 0
  /** Send a request, kill the process some ms later, and repeat the request with its key until it is answered. */
  const askWithKill = async (afterMs: number, method: string, path: string, body?: unknown) => {
    keys += 1
    const headers = { 'Idempotency-Key': `plan-kill-${keys}` }
    const first = client.send(method, path, body, headers).catch(() => null)
    await sleep(afterMs)
    await killAndLogin()
    await first
    const { status, text } = await client.send(method, path, body, method === 'POST' ? headers : {})
    // A change without a key may be done already.
    expect([200, 202, ...(method === 'DELETE' ? [404] : [])], text).toContain(status)
  }
  for (let round = 0; round < rounds; round += 1) {
    const homes = await inParallel(Array.from({ length: siteCount }), 4, () => makeHome(client, {}))
    await submitRecords(client, homes)
    const plan = await makeOne(client, '/plans', {
      name: 'Home',
      currency_code: 'EUR',
      ...prices(0.1, [planCharge(1), ...ended]),
    })
    const elements = homes.map(location_id => ({ location_id, start_date: '2025-06-01' }))
    await askWithKill(40 + 30 * round, 'POST', `/plans/${plan}/assignments`, elements)
    await askWithKill(100 + 50 * round, 'POST', `/plans/${plan}/versions`, {
      from: '2025-06-11',
      ...prices(0.2, [...fees, ...ended]),
    })
    await client.ask('POST', `/plans/${plan}/versions`, { from: '2025-06-27', ...prices(0.3, [...fees, ...ended]) })
    for (const minApplied of [0, 1]) {
      const { sites, applied } = await until(
        () => progressOf(plan),
        one => one.applied >= minApplied,
      )
      await killAndLogin()
      if (applied < sites) unfinished += 1
    }
    const applied = ({ sites, applied: done, failed }: Progress) =>
      sites === siteCount && done === sites && failed.length === 0
    await until(() => progressOf(plan), applied, 120_000)
    const three: Terms = [
      [0.1, '06-01', '06-11'],
      [0.2, '06-11', '06-27'],
      [0.3, '06-27'],
    ]
    await verify(client, homes, {
      costs: await directCosts(client, three),
      versions: [1, 2, 3],
      // 10 days of 1; 16 and 4 days of 0.55.
      charges: [21, 10 + 20 * 0.55],
    })
    const { data } = (await client.ask('GET', `/plans/${plan}/assignments?limit=100`)) as {
      data: { id: string; location_id: string }[]
    }
    expect(data.map(one => one.location_id).toSorted()).toEqual(homes.toSorted())
    const left = data.slice(0, 10)
    for (const { id } of left.slice(1))
      await client.ask('PATCH', `/plans/${plan}/assignments/${id}`, { end_date: '2025-06-21' })
    await askWithKill(15, 'PATCH', `/plans/${plan}/assignments/${left[0]?.id}`, { end_date: '2025-06-21' })
    await askWithKill(100, 'DELETE', `/plans/${plan}/versions/3`)
    await until(() => progressOf(plan), applied, 120_000)
    const leftHomes = left.map(one => one.location_id)
    await verify(client, leftHomes, {
      costs: await directCosts(client, [three[0] ?? [0, ''], [0.2, '06-11', '06-21']]),
      versions: [1, 2],
      charges: [11, 10 + 10 * 0.55],
    })
    await verify(
      client,
      homes.filter(home => !leftHomes.includes(home)),
      {
        costs: await directCosts(client, [three[0] ?? [0, ''], [0.2, '06-11']]),
        versions: [1, 2],
        charges: [11, 10 + 20 * 0.55],
      },
    )
  }
  expect(unfinished).toBeGreaterThan(0)
})
