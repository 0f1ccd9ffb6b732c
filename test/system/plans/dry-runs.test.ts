import { beforeAll, expect, it } from 'vitest'
import { operations } from '../../../services/operations.ts'
import { planTariff } from '../../support/plans/plan-fixture.ts'
import { seededRandom } from '../../support/random.ts'
import type { Client, Reply } from '../../support/system/client.ts'
import { bought, makeHome, makeOne, priceSchedule } from '../../support/system/home.ts'
import { until } from '../../support/system/until.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'

const system = useSharedSystem()
let client: Client
beforeAll(async () => {
  client = await system.login()
})

type Call = { readonly method: string; readonly path: string; readonly body?: object }
type DryRunError = { readonly code: string; readonly number: number | null }

const day = (number: number): string => `2025-06-${String(number).padStart(2, '0')}`
const unknown = 'loc_000000000000000000000000'

/** Refusals of a dry run or of the change: code and number in the list; number null for the whole request. */
const refusalsOf = ({ status, json }: Reply, isDryRun: boolean): readonly string[] => {
  const body = json as { errors?: DryRunError[]; failed?: DryRunError[]; code?: string }
  if (status >= 400) return [`null ${body.code}`]
  return ((isDryRun ? body.errors : body.failed) ?? []).map(({ number, code }) => `${number} ${code}`)
}

const idsOf = async (path: string): Promise<readonly string[]> =>
  ((await client.ask('GET', path)) as { data: { id: string }[] }).data.map(({ id }) => id)

/** Everything that the changes of the test can change, as text. */
const stateOf = async (homes: readonly string[], plan: string): Promise<string> => {
  const reads = [
    ...homes.flatMap(home => [`/locations/${home}`, `/tariffs?location_id=${home}`, `/charges?location_id=${home}`]),
    ...[`/plans/${plan}`, `/plans/${plan}/assignments`, '/calendars?limit=100'],
  ]
  return (await Promise.all(reads.map(async path => (await client.send('GET', path)).text))).join('\n')
}

const settled = (plan: string) => async (): Promise<boolean> => {
  const { status, json } = await client.send('GET', `/plans/${plan}`)
  const { sites, applied, failed } = json as { sites: number; applied: number; failed: readonly unknown[] }
  return status === 404 || sites === applied + failed.length
}

type Fixture = { readonly homes: readonly string[]; readonly plan: string; readonly calendar: string }

/** Random change. About half of them are refused. */
const randomCall = async (
  { below, pick, oneIn }: ReturnType<typeof seededRandom>,
  { homes, plan, calendar }: Fixture,
): Promise<Call> => {
  const home = pick(homes)
  const pickOne = (ids: readonly string[]) => (oneIn(6) ? undefined : ids[below(ids.length)])
  const tariff = pickOne(await idsOf(`/tariffs?location_id=${home}`)) ?? 'trf_000000000000000000000000'
  const assignment = pickOne(await idsOf(`/plans/${plan}/assignments`)) ?? 'pla_000000000000000000000000'
  const [start, end] = [day(1 + below(28)), oneIn(3) ? null : day(1 + below(28))]
  const instants = {
    contract_start_date: `${start}T00:00:00Z`,
    contract_end_date: end === null ? null : `${end}T00:00:00Z`,
  }
  const schedule = oneIn(6) ? [{ months: ['Jan'], days_and_hours: [] }] : priceSchedule(below(9))
  const calls: readonly Call[] = [
    {
      method: 'POST',
      path: '/tariffs',
      body: {
        location_id: oneIn(6) ? unknown : home,
        direction: 'IMPORT',
        type: 'COMMODITY',
        schedule,
        ...instants,
        ...(oneIn(6) ? { provider_id: 'prv_unknown' } : {}),
      },
    },
    { method: 'PATCH', path: `/tariffs/${tariff}`, body: { contract_end_date: instants.contract_end_date } },
    { method: 'PATCH', path: `/tariffs/${tariff}`, body: { schedule, effective_from: `${start}T00:00:00Z` } },
    { method: 'DELETE', path: `/tariffs/${tariff}` },
    { method: 'DELETE', path: `/tariffs/${tariff}?void=true` },
    {
      method: 'POST',
      path: `/plans/${plan}/assignments`,
      body: [...homes, unknown, home]
        .filter(() => !oneIn(2))
        .map(location_id => ({ location_id, start_date: start, end_date: end })),
    },
    { method: 'PATCH', path: `/plans/${plan}/assignments/${assignment}`, body: { end_date: end } },
    { method: 'DELETE', path: `/plans/${plan}/assignments/${assignment}` },
    { method: 'POST', path: `/plans/${plan}/versions`, body: { from: start, tariffs: [planTariff(below(9))] } },
    { method: 'DELETE', path: `/plans/${plan}` },
    {
      method: 'PATCH',
      path: `/calendars/${calendar}`,
      body: { add: [{ date: oneIn(2) ? start : 'soon', name: 'Fair' }] },
    },
    { method: 'DELETE', path: `/calendars/${calendar}` },
  ]
  return pick(calls)
}

const rounds = Number(process.env['DRY_RUNS'] ?? 120)

it('a dry run of a random change changes nothing, and refuses what the change refuses', {
  timeout: 120_000,
}, async () => {
  const random = seededRandom(Number(process.env['DRY_RUN_SEED'] ?? 19))
  const homes = await Promise.all([1, 2, 3].map(() => makeHome(client, {})))
  const newPlan = () => makeOne(client, '/plans', { name: 'Dry', currency_code: 'EUR', tariffs: [planTariff(0.3)] })
  const newCalendar = async (): Promise<string> => {
    const id = await makeOne(client, '/calendars', { name: 'Dry', country_code: 'DE' })
    await client.ask('PATCH', `/locations/${homes[0]}`, { calendar_id: id })
    return id
  }
  let [plan, calendar] = [await newPlan(), await newCalendar()]
  await client.submit(homes.map(home => bought(home, 1, '2025-06-15T10:00:00Z', '2025-06-15T11:00:00Z')))
  const seen = new Set<string>()
  for (let round = 0; round < rounds; round += 1) {
    const call = await randomCall(random, { homes, plan, calendar })
    const before = await stateOf(homes, plan)
    const path = `${call.path}${call.path.includes('?') ? '&' : '?'}dry_run=true`
    const dryRun = await client.send(call.method, path, call.body)
    expect(await stateOf(homes, plan), JSON.stringify(call)).toBe(before)
    const act = await client.send(call.method, call.path, call.body)
    const refused = refusalsOf(act, false)
    expect(refusalsOf(dryRun, true), JSON.stringify(call)).toEqual(refused)
    for (const code of refused) seen.add(code)
    if (refused.length > 0) continue
    seen.add(`${call.method} ${call.path.split('/')[1]}`)
    // The background work applies a version to the locations.
    await until(settled(plan), isSettled => isSettled)
    if (call.method === 'DELETE' && call.path === `/plans/${plan}`) plan = await newPlan()
    if (call.method === 'DELETE' && call.path === `/calendars/${calendar}`) calendar = await newCalendar()
  }
  // The random changes reach both outcomes.
  const reached = [...seen].map(one => one.replace(/^(null|\d+) /, ''))
  expect(reached).toEqual(expect.arrayContaining(['POST tariffs', 'DELETE tariffs', 'tariff_overlap', 'plan_in_use']))
})

it('leaves out null texts of a dry run in the earlier version', async () => {
  const home = await makeHome(client, { import: 0.3 })
  const tariff = { location_id: home, direction: 'IMPORT', type: 'COMMODITY', schedule: priceSchedule(0.1) }
  const earlier = { 'Api-Version': '2024-08-24' }
  const { json } = await client.send('POST', '/tariffs/elements?dry_run=true', tariff, earlier)
  const [error] = (json as { errors: object[] }).errors
  const message = expect.stringContaining('overlaps')
  expect(error).toEqual({ number: null, code: 'tariff_overlap', message, field: 'contract_start_date' })
})

it('covers all operations with a dry run', () => {
  const tags = operations.filter(({ dryRun }) => dryRun === true).map(({ id }) => id.split('_')[0])
  expect([...new Set(tags)].sort()).toEqual(['calendar', 'device', 'location', 'plan', 'tariff'])
})

it('counts the stored rows that a change of a tariff prices again', async () => {
  const home = await makeHome(client, { import: 0.3 })
  const [tariff] = await idsOf(`/tariffs?location_id=${home}`)
  const records = [10, 11, 12].map(hour =>
    bought(home, 1, `2025-06-15T${hour}:00:00Z`, `2025-06-15T${hour + 1}:00:00Z`),
  )
  await client.submit(records)
  const dry = (method: string, path: string, body?: object) => client.ask(method, path, body)
  const effect = (stored_rows: number) => ({ object: 'dry_run', locations: 1, stored_rows, errors: [] })
  const version = { schedule: priceSchedule(0.4), effective_from: '2025-06-15T11:00:00Z' }
  expect(await dry('PATCH', `/tariffs/${tariff}?dry_run=true`, version)).toEqual(effect(2))
  expect(await dry('PATCH', `/tariffs/${tariff}`, { ...version, dry_run: true })).toEqual(effect(2))
  expect(await dry('DELETE', `/tariffs/${tariff}?void=true&dry_run=true`)).toEqual(effect(3))
  expect(await dry('PATCH', `/tariffs/${tariff}`, { display_name: 'New', dry_run: true })).toEqual({
    ...effect(0),
    locations: 0,
  })
})
