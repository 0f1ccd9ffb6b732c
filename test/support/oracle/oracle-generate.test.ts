import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { bucketsOf } from './buckets.ts'
import { costRecords } from './cost.ts'
import { divideHalfEven } from './exact.ts'
import { type Scenario, scenarios } from './generate.ts'
import { localClock, monthStart } from './local-clock.ts'
import { bandAt, priceAt } from './price-at.ts'
import { at } from './tables.ts'

describe('generated scenarios', () => {
  it('have schedules that cover every instant of the calendar', () => {
    const instant = fc.integer({ min: at('2000-01-01T00:00:00Z') / 1000, max: at('2034-12-31T00:00:00Z') / 1000 })
    fc.assert(
      fc.property(
        fc.oneof(scenarios(), scenarios({ hasCalendar: true })),
        fc.array(instant, { minLength: 50, maxLength: 50 }),
        ({ input }, seconds) => {
          for (const { schedule } of input.tariffs)
            for (const second of seconds) bandAt(schedule, localClock('UTC', second * 1000), input.calendar)
        },
      ),
      { numRuns: 50 },
    )
  })

  it('have prices of holidays and day types where they have a calendar', () => {
    const daysOf = ({ calendar }: Scenario['input']) => [
      ...(calendar?.holidays ?? []),
      ...(calendar?.dayTypes.flatMap(({ days }) => [...days]) ?? []),
    ]
    const isSpecial = ({ input }: Scenario) =>
      daysOf(input).some(day => {
        const noon = day * 86_400_000 + 43_200_000
        return priceAt(input, 'IMPORT', noon)?.price !== priceAt({ ...input, calendar: null }, 'IMPORT', noon)?.price
      })
    const found = fc.sample(scenarios({ hasCalendar: true, maxRecords: 1 }), { seed: 1, numRuns: 60 }).filter(isSpecial)
    expect(found.length).toBeGreaterThan(15)
  })

  it('include every situation that affects a price', () => {
    const seen = new Map<string, number>()
    const mark = (situation: string, occurs: boolean) =>
      seen.set(situation, (seen.get(situation) ?? 0) + (occurs ? 1 : 0))
    for (const { input, records } of fc.sample(scenarios({ maxRecords: 5 }), { seed: 1, numRuns: 120 })) {
      const costs = costRecords(input, records)
      mark('several contracts', input.tariffs.length > 3)
      mark(
        'an overlay of dates',
        input.tariffs.some(({ schedule }) => schedule.some(({ dates }) => dates.length > 0)),
      )
      for (const { record, priced } of costs) {
        const pieces = priced?.pieces ?? []
        mark('unpriced', priced === null)
        mark(
          'a month passed',
          monthStart(input.timeZone.name, record.start) !== monthStart(input.timeZone.name, record.end),
        )
        mark(
          'a clock change passed',
          input.timeZone.changes.some(change => record.start < change && change < record.end),
        )
        mark('a tariff passed', new Set(pieces.map(({ tariffs }) => tariffs[0])).size > 1)
        mark(
          'a tier passed',
          pieces.some(({ tiers }, index) => (pieces[index + 1]?.tiers[0] ?? 0n) > tiers[0]),
        )
        mark(
          'a grid tier passed',
          pieces.some(({ tiers }, index) => (pieces[index + 1]?.tiers[1] ?? 0n) > tiers[1]),
        )
        mark('an impulse cut', pieces.length > 1 && record.start === record.end)
        mark(
          'confidence below 1',
          pieces.some(({ confidence }) => confidence < 1),
        )
        mark(
          'the lowest confidence',
          pieces.some(({ confidence }) => confidence === 0.2),
        )
        mark(
          'a price below zero',
          pieces.some(({ price }) => price < 0n),
        )
        for (const direction of ['EXPORT', 'LOCAL'])
          mark(direction, record.tariffDirection === direction && priced !== null)
        mark(
          'covered',
          costs.some(({ energy }) => energy < record.energy),
        )
        mark(
          'storage',
          record.tariffDirection === 'IMPORT' && record.energyFlowDirection === 'OUTBOUND' && priced !== null,
        )
      }
    }
    expect([...seen].filter(([, times]) => times < 2)).toEqual([])
  })

  it('have pieces that cover the record, exact costs and bucket sums, independent of the order of arrival', () => {
    fc.assert(
      fc.property(scenarios({ maxRecords: 4 }), ({ input, records }) => {
        const costs = costRecords(input, records)
        expect(costRecords(input, records.toReversed())).toEqual(costs.toReversed())
        for (const { record, energy, priced } of costs) {
          if (priced === null) continue
          expect(priced.pieces[0]?.start).toBe(record.start)
          expect(priced.pieces.at(-1)?.end).toBe(record.end)
          expect(priced.pieces.slice(1).map(({ start }) => start)).toEqual(
            priced.pieces.slice(0, -1).map(({ end }) => end),
          )
          expect(priced.pieces.reduce((sum, piece) => sum + piece.energy, 0n)).toBe(energy)
          for (const piece of priced.pieces)
            expect(piece.cost).toBe(divideHalfEven(piece.price * piece.energy, 10n ** 9n))
        }
        const from = Math.min(...records.map(({ record }) => record.start)) - 1000
        const to = Math.max(...records.map(({ record }) => record.end)) + 1000
        const days = bucketsOf(input.timeZone.name, costs, from, to, 'DAY')
        const months = bucketsOf(input.timeZone.name, costs, from, to, 'MONTH')
        const whole = costs.reduce((sum, { priced }) => sum + (priced?.cost ?? 0n), 0n)
        for (const buckets of [days, months]) expect(buckets.reduce((sum, { cost }) => sum + cost, 0n)).toBe(whole)
      }),
      { numRuns: 60 },
    )
  })
})
