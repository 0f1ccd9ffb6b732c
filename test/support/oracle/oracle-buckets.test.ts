import { describe, expect, it } from 'vitest'
import { bucketsOf } from './buckets.ts'
import { costRecords } from './cost.ts'
import { allDay, at, kwh, nano, pricing, rate, record, tariff } from './tables.ts'

const hourMs = 3_600_000

describe('buckets', () => {
  it('divide a piece cumulatively over local days and keep its sum', () => {
    // 10 units over three days of 24 h: 3, 4, 3; cost 10 × 1 = 10 alike
    const input = pricing('UTC', [tariff(allDay(1))])
    const costs = costRecords(input, [record('a', '2024-01-01T00:00:00Z', '2024-01-04T00:00:00Z', 10n)])
    const days = bucketsOf('UTC', costs, at('2024-01-01T00:00:00Z'), at('2024-01-05T00:00:00Z'), 'DAY')
    expect(days.map(({ energy, cost }) => [energy, cost])).toEqual([
      [3n, 3n],
      [4n, 4n],
      [3n, 3n],
      [0n, 0n],
    ])
  })

  it('count a piece without length at the end of its record in the day before', () => {
    // 4000 units in the last second of the day:
    // 3999 are reached after 999.75 ms → at midnight; the last unit belongs to that day
    const input = pricing('UTC', [tariff(allDay([rate(1, 3999e-9), rate(5)]))])
    const costs = costRecords(input, [record('a', '2024-01-01T23:59:59Z', '2024-01-02T00:00:00Z', 4000n)])
    const days = bucketsOf('UTC', costs, at('2024-01-01T00:00:00Z'), at('2024-01-03T00:00:00Z'), 'DAY')
    expect(days.map(({ energy, cost }) => [energy, cost])).toEqual([
      [4000n, 4004n],
      [0n, 0n],
    ])
  })

  it('have the length of the local day and start once', () => {
    const hours = (zone: string, from: string, to: string) =>
      bucketsOf(zone, [], at(from), at(to), 'DAY').map(({ start, end }) => (end - start) / hourMs)
    expect(hours('Europe/Berlin', '2024-03-29T23:00:00Z', '2024-04-01T22:00:00Z')).toEqual([24, 23, 24])
    expect(hours('Australia/Lord_Howe', '2024-04-05T13:00:00Z', '2024-04-07T13:30:00Z')).toEqual([24, 24.5])
    expect(hours('America/St_Johns', '2009-10-31T02:30:00Z', '2009-11-02T03:30:00Z')).toEqual([24, 25])
    expect(hours('Pacific/Apia', '2011-12-29T10:00:00Z', '2011-12-31T10:00:00Z')).toEqual([24, 24])
  })

  it('contain an impulse at their start and exclude energy without a price', () => {
    const input = pricing('UTC', [tariff(allDay(2), { contractStart: at('2024-01-02T00:00:00Z') })])
    const first = record('a', '2024-01-01T12:00:00Z', '2024-01-02T12:00:00Z', kwh(24))
    const impulse = record('b', '2024-01-02T00:00:00Z', '2024-01-02T00:00:00Z', kwh(1))
    const days = bucketsOf(
      'UTC',
      costRecords(input, [first, impulse]),
      at('2024-01-01T00:00:00Z'),
      at('2024-01-03T00:00:00Z'),
      'DAY',
    )
    const shown = days.map(day => [day.energy, day.cost, day.unpricedRecords, day.unpricedEnergy])
    expect(shown).toEqual([
      [0n, 0n, 1, kwh(12)],
      [kwh(1), nano(2), 1, kwh(12)],
    ])
  })
})
