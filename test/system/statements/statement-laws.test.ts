import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../support/random.ts'
import { simulate } from '../../support/simulations/simulation-answer.ts'
import { amountsOf, linesOf, postStatement, type StatementAnswer } from '../../support/statements/statement-answer.ts'
import type { Client } from '../../support/system/client.ts'
import { bought, makeHome, makeOne, priceSchedule } from '../../support/system/home.ts'
import { useSystem } from '../../support/system/use-system.ts'

const system = useSystem()
const { below } = seededRandom(20)
const dayMs = 86_400_000
const from = Date.parse('2025-03-28T00:00:00Z')
const iso = (at: number): string => new Date(at).toISOString()

/** Prices with uneven digits, so that each piece is rounded. */
const tariffs = [
  { direction: 'IMPORT', type: 'COMMODITY', schedule: priceSchedule(0.287654321) },
  { direction: 'EXPORT', type: 'COMMODITY', schedule: priceSchedule(0.043210987) },
  { direction: 'IMPORT', type: 'NON_COMMODITY', schedule: priceSchedule(0.033333333) },
]
const charges = [
  { kind: 'FIXED', name: 'FIXED', price: 0.4785, per: 'DAY' },
  { kind: 'USAGE', name: 'USAGE', price: 0.012345678 },
  { kind: 'DEMAND', name: 'DEMAND', price: 7.77, interval_minutes: 15 },
  { kind: 'PERCENTAGE', name: 'PERCENTAGE', rate: 0.19, base: { kinds: ['ENERGY', 'FIXED', 'USAGE'] } },
]

const createHome = async (client: Client): Promise<string> => {
  const location_id = await makeHome(client, {})
  for (const tariff of tariffs) await makeOne(client, '/tariffs', { location_id, ...tariff })
  for (const charge of charges) await makeOne(client, '/charges', { location_id, ...charge })
  return location_id
}

/** Create a location that has the same tariffs and charges by a plan. */
const createPlanHome = async (client: Client): Promise<string> => {
  const location_id = await makeHome(client, {})
  const plan = await makeOne(client, '/plans', { name: 'Laws', currency_code: 'EUR', tariffs, charges })
  await client.ask('POST', `/plans/${plan}/assignments`, [{ location_id, start_date: '2025-01-01' }])
  return location_id
}

type Submission = ReturnType<typeof bought>

/** Generate records over some days that cross midnights and overlap, with sold energy and estimates between. */
const generateRecords = (home: string, count: number): readonly Submission[] =>
  Array.from({ length: count }, (_, index) => {
    const start = from + below(8 * 96) * 900_000
    const end = start + (1 + below(60)) * 900_000
    const flow = below(4) === 0 ? { energy_flow_direction: 'OUTBOUND', tariff_direction: 'EXPORT' } : {}
    const confidence = below(5) === 0 ? { confidence: 0.5 } : {}
    const kwh = below(20_000_000) / 1e6
    return bought(home, kwh, iso(start), iso(end), { ...flow, ...confidence, record_reference_id: `r-${index}` })
  })

const shuffled = <T>(list: readonly T[]): readonly T[] =>
  list
    .map(one => ({ one, key: below(1_000_000) }))
    .sort((a, b) => a.key - b.key)
    .map(({ one }) => one)

const whole = { start_date: '2025-03-29', end_date: '2025-04-05', expect: 'NOTHING', periods: 'ONE' }

/** Decimal of an answer in 1e-9. */
const nano = (value: number): bigint => BigInt(Math.round(value * 1e9))
const sum = (values: readonly bigint[]): bigint => values.reduce((total, value) => total + value, 0n)

/** Amounts by component and kind, in 1e-9. */
const sumsOf = (...statements: readonly StatementAnswer[]): ReadonlyMap<string, bigint> => {
  const sums = new Map<string, bigint>()
  for (const { kind, component, amount } of statements.flatMap(linesOf)) {
    if (kind === 'DEMAND' || kind === 'PERCENTAGE') continue
    sums.set(`${kind} ${component}`, (sums.get(`${kind} ${component}`) ?? 0n) + nano(amount))
  }
  return sums
}

/** Cost of the bought energy less that of the sold energy, in the days of the statement. */
const costsOf = async (client: Client, home: string): Promise<bigint> => {
  const span = { start_time: '2025-03-29T00:00:00+01:00', end_time: '2025-04-05T00:00:00+02:00' }
  const cost = async (direction: string): Promise<bigint> => {
    const path = `/costs/interval/${home}?tariff_direction=${direction}`
    const { data } = (await client.ask('POST', path, span)) as { data: { tariff: { cost: { value: number } } }[] }
    return nano(data[0]?.tariff.cost.value ?? 0)
  }
  return (await cost('IMPORT')) - (await cost('EXPORT'))
}

const verifyLaws = async (client: Client, home: string): Promise<StatementAnswer> => {
  const statement = await postStatement(client, home, whole)
  const [period] = statement.periods
  const energy = linesOf(statement).filter(({ kind }) => kind === 'ENERGY')
  expect(sum(energy.map(({ amount }) => nano(amount)))).toBe(await costsOf(client, home))
  const amounts = (tax: boolean) => sum(linesOf(statement).flatMap(line => (line.tax === tax ? nano(line.amount) : [])))
  expect([amounts(false), amounts(true)]).toEqual([nano(period?.totals.net ?? 0), nano(period?.totals.tax ?? 0)])
  const days = Array.from({ length: 7 }, (_, index) => Date.parse('2025-03-29T12:00:00Z') + index * dayMs)
  const parts = await Promise.all(
    days.map(day =>
      postStatement(client, home, {
        ...whole,
        start_date: iso(day).slice(0, 10),
        end_date: iso(day + dayMs).slice(0, 10),
      }),
    ),
  )
  expect(sumsOf(...parts)).toEqual(sumsOf(statement))
  const { start_date, end_date } = whole
  const simulated = await simulate(client, {
    object_ids: [home],
    start_date,
    end_date,
    candidates: [{ name: 'own', tariffs, charges }],
  })
  expect(simulated.data[0]?.difference).toBe(0)
  return statement
}

describe('the laws of statements', { timeout: 240_000 }, () => {
  it('are valid with late records, corrections and a kill between, in any order of arrival', async () => {
    let client = await system.login()
    const homes = [await createHome(client), await createPlanHome(client)] as const
    const [first, second] = homes
    const records = generateRecords(first, 60)
    const corrections = records.slice(0, 12).map(record => ({ ...record, value: below(9_000_000) / 1e6 }))
    await client.submit(records.slice(0, 40))
    await verifyLaws(client, first)
    // The process is killed while it calculates the rest.
    await client.ask('PUT', '/meters/interval', records.slice(40))
    await system.killAndStart()
    client = await system.login()
    await client.submit(corrections)
    const statement = await verifyLaws(client, first)
    // The other location has a plan, and gets the last values in one order of arrival, without corrections.
    const corrected = [...corrections, ...records.slice(12)]
    await client.submit(shuffled(corrected).map(record => ({ ...record, location_id: second })))
    const other = await verifyLaws(client, second)
    const shown = ({ totals, gaps, memo }: StatementAnswer) => ({ totals, gaps, memo })
    expect(shown(other)).toEqual(shown(statement))
  })

  it('add FINAL amounts and adjustments up to the present amounts, after late data and a kill', async () => {
    let client = await system.login()
    const home = await createHome(client)
    const rounding = { profile: 'LARGEST_REMAINDER' }
    const month = (index: number) => ({
      start_date: `2025-0${index}-01`,
      end_date: `2025-0${index + 1}-01`,
      expect: 'NOTHING',
      rounding,
    })
    const records = generateRecords(home, 45)
    const batches = [records.slice(0, 15), records.slice(15, 30), records.slice(30)]
    const finals: StatementAnswer[] = []
    for (const [index, batch] of batches.entries()) {
      await client.submit(batch)
      const { id, hash } = await postStatement(client, home, month(3 + index))
      const { status, text, json } = await client.send('POST', `/statements/${id}/finalise`, { hash })
      expect(status, text).toBe(200)
      finals.push(json as StatementAnswer)
      await system.killAndStart()
      client = await system.login()
    }
    await client.submit(records.slice(0, 9).map(record => ({ ...record, value: 1.234567 })))
    const draft = await postStatement(client, home, month(6))
    const total = (statements: readonly StatementAnswer[]) => {
      const sums: Record<string, bigint> = {}
      for (const [component, amount] of statements.flatMap(one => Object.entries(amountsOf(one))))
        sums[component] = (sums[component] ?? 0n) + nano(amount)
      return sums
    }
    // The same days in another request are calculated now, and the draft has its own charges of June.
    const now = await Promise.all(
      [3, 4, 5].map(index => postStatement(client, home, { ...month(index), detail: 'PRICE' })),
    )
    const adjustedAmounts = ({ periods }: StatementAnswer, isAdjustment: boolean): StatementAnswer => ({
      ...draft,
      periods: periods.map(one => ({
        ...one,
        lines: one.lines.filter(({ kind }) => (kind === 'ADJUSTMENT') === isAdjustment),
      })),
    })
    const present = now.map(one => adjustedAmounts(one, false))
    expect(linesOf(draft).some(({ kind }) => kind === 'ADJUSTMENT')).toBe(true)
    expect(total([...finals, adjustedAmounts(draft, true)])).toEqual(total(present))
  })
})
