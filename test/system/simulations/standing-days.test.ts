import { expect, it } from 'vitest'
import { type BillAnswer, simulate } from '../../support/simulations/simulation-answer.ts'
import { makeHome, makeOne } from '../../support/system/home.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'

const system = useSharedSystem()

const base = { kind: 'FIXED', name: 'base', price: 5, per: 'MONTH' }

it('a simulation says on how many days each bill has a standing charge', async () => {
  const client = await system.login()
  const moved = await makeHome(client, { import: 0.1 })
  await makeOne(client, '/charges', { ...base, location_id: moved, start_date: '2025-03-28' })
  const march = { object_ids: [moved], start_date: '2025-03-01', end_date: '2025-04-01' }
  const candidates = [{ name: 'own' }, { name: 'whole month', charges: [base] }]
  const { baseline, data } = await simulate(client, { ...march, candidates })
  expect([baseline?.standing_days, ...data.map(one => one.standing_days)]).toEqual([4, 4, 31])
  expect(data.map(one => one.standing_days_difference)).toEqual([0, 27])
})

it('a simulation says which line and month lacks days, and compares two standing charges with one', async () => {
  const client = await system.login()
  const both = await makeHome(client, { import: 0.1 })
  const meter = { ...base, name: 'meter' }
  await makeOne(client, '/charges', { ...base, location_id: both })
  await makeOne(client, '/charges', { ...meter, location_id: both, start_date: '2025-03-28' })
  const candidates = [
    { name: 'one', charges: [base] },
    { name: 'two', charges: [base, meter] },
  ]
  const body = { object_ids: [both], start_date: '2025-03-01', end_date: '2025-05-01', lines: true }
  const { baseline, data } = await simulate(client, { ...body, candidates })
  const daysOf = ({ months, lines = [] }: BillAnswer) => ({
    months: months.map(one => one.standing_days),
    lines: Object.fromEntries(lines.map(one => [one.name, one.standing_days])),
  })
  expect([baseline, ...data].map(bill => (bill === null ? null : daysOf(bill)))).toEqual([
    { months: [4, 30], lines: { base: 61, meter: 34 } },
    { months: [31, 30], lines: { base: 61 } },
    { months: [31, 30], lines: { base: 61, meter: 61 } },
  ])
  expect(data.map(one => one.standing_days_difference)).toEqual([27, 27])
  expect(data.map(one => one.standing_days)).toEqual([61, 61])
})
