import { beforeAll, describe, expect, it } from 'vitest'
import { linesOf, postStatement, type StatementAnswer } from '../support/statements/statement-answer.ts'
import type { Client } from '../support/system/client.ts'
import { bought, makeHome, makeOne } from '../support/system/home.ts'
import { useSharedSystem } from '../support/system/use-system.ts'

/**
 * A tariff prices energy. A charge is another part of a bill: a price per month, a price of the highest power, a limit,
 * a tax. A statement calculates all lines of the bill for some days.
 */
const system = useSharedSystem()
let client: Client

beforeAll(async () => {
  client = await system.login()
})

const month = { start_date: '2025-06-01', end_date: '2025-07-01', expect: 'NOTHING' }

/** Create a location in Berlin that pays 0.30 per kWh. */
const makeSite = () => makeHome(client, { import: 0.3 })

/** Return a record of one hour that begins at a local hour of a day of June. */
const hourOf = (site: string, day: number, hour: number, kwh: number) => {
  const at = Date.UTC(2025, 5, day, hour - 2)
  const [start, end] = [new Date(at).toISOString(), new Date(at + 3_600_000).toISOString()]
  return bought(site, kwh, start, end, { record_reference_id: `${day} ${hour}` })
}

const addCharge = (site: string, kind: string, name: string, terms: object) =>
  makeOne(client, '/charges', { location_id: site, kind, name, ...terms })

/** Return the name and the amount of each line. */
const amounts = (statement: StatementAnswer) =>
  linesOf(statement).map(({ component, amount }) => `${component} ${amount}`)

describe('1 A bill has lines', () => {
  it('A standing charge is paid for each day, and a tax is a share of the lines before it', async () => {
    const site = await makeSite()
    await addCharge(site, 'FIXED', 'Standing charge', { price: 0.5, per: 'DAY' })
    await addCharge(site, 'PERCENTAGE', 'VAT', { rate: 0.2 })
    await client.submit([hourOf(site, 3, 10, 100)])
    const statement = await postStatement(client, site, month)
    // 100 kWh × 0.30 = 30. 30 days × 0.50 = 15. 20 % of 45 = 9.
    expect(amounts(statement)).toEqual(['energy 30', 'fixed 15', 'tax 9'])
    expect(statement.totals).toMatchObject({ net: 45, tax: 9, gross: 54 })
  })

  it('A charge that starts in the month is paid for its days', async () => {
    const site = await makeSite()
    await addCharge(site, 'FIXED', 'Meter', { price: 12, per: 'MONTH', start_date: '2025-06-21' })
    // The last 10 of 30 days: 12 × 10 / 30 = 4.
    expect(amounts(await postStatement(client, site, month))).toEqual(['fixed 4'])
  })

  it('A minimum bill adds what is missing', async () => {
    const site = await makeSite()
    await addCharge(site, 'MINIMUM', 'Minimum bill', { amount: 50 })
    await client.submit([hourOf(site, 3, 10, 100)])
    // 30 for energy, and 20 more.
    expect(amounts(await postStatement(client, site, month))).toEqual(['energy 30', 'limit 20'])
  })
})

describe('2 A demand charge bills the highest power', () => {
  it('The highest hour of the month sets the power, and a correction moves it', async () => {
    const site = await makeSite()
    await addCharge(site, 'DEMAND', 'Peak', { price: 10 })
    await client.submit([hourOf(site, 3, 10, 4), hourOf(site, 4, 18, 7)])
    const peakOf = async () => {
      const line = linesOf(await postStatement(client, site, month)).find(({ kind }) => kind === 'DEMAND')
      const peak = line?.reason?.peaks?.[0]
      return [peak?.start_time, peak?.kw, line?.amount]
    }
    // 7 kWh in one hour are 7 kW: 7 × 10 = 70.
    expect(await peakOf()).toEqual(['2025-06-04T18:00:00+02:00', 7, 70])
    await client.submit([hourOf(site, 4, 18, 1)])
    // The record of 18:00 is corrected to 1 kWh. The hour of 4 kWh is the highest now.
    expect(await peakOf()).toEqual(['2025-06-03T10:00:00+02:00', 4, 40])
  })

  it('The power of a shorter interval is its energy divided by its length', async () => {
    const site = await makeSite()
    await addCharge(site, 'DEMAND', 'Peak', { price: 10, interval_minutes: 15 })
    await client.submit([bought(site, 2, '2025-06-03T10:00:00Z', '2025-06-03T10:15:00Z')])
    // 2 kWh in a quarter of an hour: 2 / 0.25 = 8 kW.
    expect(amounts(await postStatement(client, site, month))).toEqual(['energy 0.6', 'demand 80'])
  })
})

describe('3 Money is rounded once', () => {
  it('The total is rounded; the lines are cut down, and the largest remainder gets the missing cent', async () => {
    const site = await makeSite()
    await addCharge(site, 'FIXED', 'Standing charge', { price: 0.333, per: 'MONTH' })
    await addCharge(site, 'FIXED', 'Meter', { price: 0.336, per: 'MONTH' })
    const statement = await postStatement(client, site, { ...month, rounding: { profile: 'LARGEST_REMAINDER' } })
    // 0.333 + 0.336 = 0.669 is 0.67. Cut down, the lines are 0.33 + 0.33 = 0.66. The second line has the larger remainder.
    expect(linesOf(statement).map(({ amount_rounded }) => amount_rounded)).toEqual([0.33, 0.34])
    expect(statement.totals.gross_rounded).toBe(0.67)
  })
})

describe('4 A final bill stays, and the next bill adjusts it', () => {
  it('A late record changes a draft, but not a final statement', async () => {
    const site = await makeSite()
    await client.submit([hourOf(site, 3, 10, 100)])
    const june = { ...month, rounding: { profile: 'LARGEST_REMAINDER' } }
    const draft = await postStatement(client, site, june)
    const final = (await client.ask('POST', `/statements/${draft.id}/finalise`, {
      hash: draft.hash,
    })) as StatementAnswer
    await client.submit([hourOf(site, 5, 10, 10)])
    expect(await postStatement(client, site, june)).toEqual(final)
    const july = { ...june, start_date: '2025-07-01', end_date: '2025-08-01' }
    // The late 10 kWh × 0.30 = 3 are in the next statement.
    expect(linesOf(await postStatement(client, site, july))).toMatchObject([{ kind: 'ADJUSTMENT', amount: 3 }])
  })
})

describe('5 A simulation answers what another price would have cost', () => {
  it('Records are priced by the candidate, and nothing is stored', async () => {
    const site = await makeSite()
    await client.submit([hourOf(site, 3, 10, 100)])
    const night = { valid_from: '22:00:00', valid_to: '06:00:00', rate: [{ fixed: 0.2 }] }
    const day = { valid_from: '06:00:00', valid_to: '22:00:00', rate: [{ fixed: 0.4 }] }
    const schedule = [{ months: ['All'], days_and_hours: [{ days: ['All'], hours: [night, day] }] }]
    const { start_date, end_date } = month
    const candidates = [{ name: 'Night', tariffs: [{ direction: 'IMPORT', type: 'COMMODITY', schedule }] }]
    const answer = await client.ask('POST', '/simulations', { object_ids: [site], start_date, end_date, candidates })
    // Now 100 × 0.30 = 30. At noon the candidate costs 100 × 0.40 = 40.
    expect(answer).toMatchObject({ baseline: { total: 30 }, data: [{ name: 'Night', total: 40, difference: 10 }] })
  })
})
