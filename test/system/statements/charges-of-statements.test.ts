import { beforeAll, describe, expect, it } from 'vitest'
import { linesOf, postStatement } from '../../support/statements/statement-answer.ts'
import type { Client } from '../../support/system/client.ts'
import { bought, makeHome, makeOne } from '../../support/system/home.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'

const system = useSharedSystem()
let client: Client

beforeAll(async () => {
  client = await system.login()
})

const charge = (home: string, kind: string, more: object) =>
  makeOne(client, '/charges', { location_id: home, kind, name: kind, ...more })

const rounding = { profile: 'LARGEST_REMAINDER' }

/** Create the 15 minutes of a month with one kW, and `peaks`: kW by index. */
const quarters = (home: string, from: string, count: number, peaks: Readonly<Record<number, number>> = {}) =>
  Array.from({ length: count }, (_, index) => {
    const [start, end] = [0, 1].map(step => new Date(Date.parse(from) + (index + step) * 900_000).toISOString())
    return bought(home, peaks[index] ?? 1, start ?? '', end ?? '', { units: 'KW' })
  })

describe('a statement with charges', () => {
  it('is the bill of the United Kingdom in March', async () => {
    const london = { timezone: 'Europe/London', currency_code: 'GBP' }
    const home = await makeHome(client, { import: 0.2472 }, london)
    await charge(home, 'FIXED', { price: 0.4785, per: 'DAY' })
    await charge(home, 'PERCENTAGE', { rate: 0.05, base: {} })
    await client.submit([bought(home, 300, '2025-03-10T12:00:00Z', '2025-03-10T13:00:00Z')])
    const days = { start_date: '2025-03-01', end_date: '2025-04-01', expect: 'NOTHING' }
    const { periods, totals } = await postStatement(client, home, { ...days, rounding })
    // 31 x 0.4785 = 14.8335; 300 x 0.2472 = 74.16; 5 % = 4.449675.
    expect(totals).toMatchObject({ gross: 93.443175, gross_rounded: 93.44, net_rounded: 88.99, tax_rounded: 4.45 })
    expect(periods[0]?.lines.map(line => [line.kind, line.amount_rounded])).toEqual([
      ['ENERGY', 74.16],
      ['FIXED', 14.83],
      ['PERCENTAGE', 4.45],
    ])
  })

  it('reads the months before it for a rolling mean, late records included', async () => {
    const home = await makeHome(client, { import: 0.1 })
    const terms = { over: 'ROLLING', rolling_months: 2, interval_minutes: 15, price: 10, prorate: 'NONE' }
    await charge(home, 'DEMAND', terms)
    await client.submit(quarters(home, '2025-05-31T22:00:00Z', 96, { 40: 4 }))
    const june = { start_date: '2025-06-01', end_date: '2025-07-01', expect: 'NOTHING' }
    const demandOf = async () => linesOf(await postStatement(client, home, june)).find(({ kind }) => kind === 'DEMAND')
    expect(await demandOf()).toMatchObject({ quantity: 4, amount: 40, reason: { bound_by: 'ROLLING', history: [] } })
    // May 2 kW: the mean of 4 and 2 is 3.
    await client.submit(quarters(home, '2025-05-09T22:00:00Z', 4, { 2: 2 }))
    expect(await demandOf()).toMatchObject({
      quantity: 3,
      amount: 30,
      reason: { bound_by: 'ROLLING', history: [{ month: '2025-05', kw: 2, source: 'RECORDS' }] },
    })
  })

  it('bills a session once, in the period of its end, with its records before and after', async () => {
    const home = await makeHome(client, { import: 0.1 })
    await charge(home, 'SESSION', { price: 0.1, per: 'MINUTE' })
    const session = { session_reference_id: 'over-midnight', expect: 'NOTHING' }
    const of = (start: string, end: string) =>
      bought(home, 1, start, end, { session_reference_id: session.session_reference_id })
    await client.submit([
      of('2025-05-30T10:00:00Z', '2025-05-30T11:00:00Z'),
      of('2025-05-31T21:00:00Z', '2025-05-31T22:00:00Z'),
    ])
    const minutes = async (start_date: string, end_date: string) =>
      linesOf(await postStatement(client, home, { start_date, end_date }))
        .filter(({ kind }) => kind === 'SESSION')
        .map(({ quantity }) => quantity)
    // Its end is the midnight of 1 June in Berlin: it belongs to June.
    expect([await minutes('2025-05-01', '2025-06-01'), await minutes('2025-06-01', '2025-07-01')]).toEqual([
      [0],
      [2160],
    ])
    await client.submit([of('2025-07-01T10:00:00Z', '2025-07-01T11:00:00Z')])
    expect([await minutes('2025-06-01', '2025-07-01'), await minutes('2025-07-01', '2025-08-01')]).toEqual([
      [0],
      [46_140],
    ])
  })

  it('names the devices and sessions of a peak', async () => {
    const home = await makeHome(client, { import: 0.1 })
    await charge(home, 'DEMAND', { price: 10, interval_minutes: 60 })
    const devices = await Promise.all(
      ['car', 'van'].map(name => makeOne(client, '/devices', { reference_id: `${name} of ${home}` })),
    )
    const [start, end] = ['2025-06-03T10:00:00Z', '2025-06-03T11:00:00Z']
    await client.submit([
      bought(home, 3, start, end, { device_id: devices[0], session_reference_id: 's' }),
      bought(home, 1, start, end, { device_id: devices[1] }),
    ])
    const days = { start_date: '2025-06-01', end_date: '2025-07-01' }
    const demand = linesOf(await postStatement(client, home, days)).find(({ kind }) => kind === 'DEMAND')
    expect(demand?.reason).toMatchObject({
      measured_kw: 4,
      peaks: [
        {
          start_time: '2025-06-03T12:00:00+02:00',
          end_time: '2025-06-03T13:00:00+02:00',
          kw: 4,
          coarse: false,
          users: [
            { device_id: devices[0], session_reference_id: 's', energy: 3, share: 0.75 },
            { device_id: devices[1], session_reference_id: null, energy: 1, share: 0.25 },
          ],
        },
      ],
    })
  })
})
