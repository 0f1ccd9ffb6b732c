import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { tariffCoverage } from '../../../services/domain/tariff/coverage.ts'
import type { Tariff } from '../../../services/domain/tariff/tariff.ts'
import { changedSpan, overlappingTariff } from '../../../services/domain/tariff/tariff-change.ts'
import { scenarios } from '../../support/oracle/generate.ts'
import { tariffAt } from '../../support/oracle/price-at.ts'
import { allDay, tariff } from '../../support/oracle/tables.ts'

const day = 86_400_000
const on = (number: number): number => Date.UTC(2026, 0, 1) + number * day
const contract = (id: string, from: number | null, to: number | null, closed: number | null = null): Tariff =>
  tariff(allDay(1), {
    id,
    contractStart: from === null ? null : on(from),
    contractEnd: to === null ? null : on(to),
    closedAt: closed === null ? null : on(closed),
  })
const shown = (tariffs: readonly Tariff[]) =>
  tariffCoverage(tariffs, 'IMPORT', 'COMMODITY').map(({ from, to, tariff: of, confidence }) => [
    Number.isFinite(from) ? (from - on(0)) / day : null,
    Number.isFinite(to) ? (to - on(0)) / day : null,
    of?.id ?? null,
    confidence,
  ])

describe('which tariff is in force', () => {
  it('goes on after the contract, 0.2 less certain every 90 days and never below 0.2', () => {
    expect(shown([contract('a', 0, 100)])).toEqual([
      [null, 0, null, 10_000],
      [0, 100, 'a', 10_000],
      [100, 190, 'a', 8000],
      [190, 280, 'a', 6000],
      [280, 370, 'a', 4000],
      [370, null, 'a', 2000],
    ])
  })

  it('goes on only until the next one begins, and not at all when it is closed', () => {
    expect(shown([contract('b', 150, 160, 155), contract('a', null, 100, 170)])).toEqual([
      [null, 100, 'a', 10_000],
      [100, 150, 'a', 8000],
      [150, 155, 'b', 10_000],
      [155, null, null, 10_000],
    ])
    expect(shown([contract('a', null, 100, 170)])).toEqual([
      [null, 100, 'a', 10_000],
      [100, 170, 'a', 8000],
      [170, null, null, 10_000],
    ])
  })

  it('is still the closed one for the time it has priced, whatever comes after', () => {
    expect(shown([contract('new', null, null), contract('old', 10, null, 20), contract('never', 30, 40, 25)])).toEqual([
      [null, 10, 'new', 10_000],
      [10, 20, 'old', 10_000],
      [20, null, 'new', 10_000],
    ])
  })

  it('covers all time without gap or overlap, and is what an oracle finds at any instant', () => {
    fc.assert(
      fc.property(scenarios(), ({ input, records }) => {
        for (const [direction, type] of [
          ['IMPORT', 'COMMODITY'],
          ['IMPORT', 'NON_COMMODITY'],
          ['EXPORT', 'COMMODITY'],
          ['LOCAL', 'COMMODITY'],
        ] as const) {
          const coverage = tariffCoverage(input.tariffs, direction, type)
          expect([coverage[0]?.from, coverage.at(-1)?.to]).toEqual([Number.NEGATIVE_INFINITY, Number.POSITIVE_INFINITY])
          for (const [index, part] of coverage.entries()) {
            expect(part.from).toBeLessThan(part.to)
            if (index > 0) expect(part.from).toBe(coverage[index - 1]?.to)
          }
          for (const { record } of records) {
            const part = coverage.find(one => one.from <= record.start && record.start < one.to)
            expect(part?.tariff).toBe(tariffAt(input, direction, type, record.start))
          }
        }
      }),
      { numRuns: 200 },
    )
  })
})

describe('two tariffs', () => {
  it('overlap when they live and share an instant of one direction and type', () => {
    const a = contract('a', 0, 10)
    expect(overlappingTariff(contract('b', 10, null), [a])).toBeUndefined()
    expect(overlappingTariff(contract('b', 9, null), [a])?.id).toBe('a')
    expect(overlappingTariff(contract('b', null, 0), [a])).toBeUndefined()
    expect(overlappingTariff(contract('b', null, null), [a])?.id).toBe('a')
    expect(overlappingTariff(contract('a', null, null), [a])).toBeUndefined()
    expect(overlappingTariff({ ...contract('b', 5, 6), type: 'NON_COMMODITY' }, [a])).toBeUndefined()
    expect(overlappingTariff(contract('b', 5, 6), [{ ...a, closedAt: on(20) }])).toBeUndefined()
  })

  it('change prices from the earlier start to the next tariff', () => {
    const others = [contract('a', 0, 10), contract('c', 50, null), contract('x', 30, 40, 35)]
    const span = (before: Tariff | null, after: Tariff | null) => changedSpan(before, after, others)
    expect(span(null, contract('b', 20, 40))).toEqual({ from: on(20), to: on(50) })
    expect(span(contract('b', 20, 40), contract('b', 20, null))).toEqual({ from: on(20), to: on(50) })
    expect(span(contract('b', 25, 40), contract('b', 20, 40))).toEqual({ from: on(20), to: on(50) })
    expect(span(contract('c', 50, null), null)).toEqual({ from: on(50), to: null })
    expect(span(null, contract('z', null, 0))).toEqual({ from: null, to: on(0) })
  })
})
