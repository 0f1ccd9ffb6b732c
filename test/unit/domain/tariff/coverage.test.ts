import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Tariff } from '../../../../services/domain/tariff/tariff.ts'
import { changedInterval, overlappingTariff } from '../../../../services/domain/tariff/tariff-change.ts'
import { tariffCoverage } from '../../../../services/domain/tariff/tariff-coverage.ts'
import { scenarios } from '../../../support/oracle/generate.ts'
import { tariffAt } from '../../../support/oracle/price-at.ts'
import { allDay, tariff } from '../../../support/oracle/tables.ts'

const dayMs = 86_400_000
const on = (number: number): number => Date.UTC(2026, 0, 1) + number * dayMs
const contract = (id: string, from: number | null, to: number | null, closed: number | null = null): Tariff =>
  tariff(allDay(1), {
    id,
    contractStart: from === null ? null : on(from),
    contractEnd: to === null ? null : on(to),
    closedAt: closed === null ? null : on(closed),
  })
type Step = {
  readonly kind: string
  readonly start?: number | null
  readonly length?: number | null
  readonly which?: number
}

/** The tariff before and after a step; both null if no tariff is active. */
const changeOf = (
  tariffs: readonly Tariff[],
  { kind, start = null, length = null, which = 0 }: Step,
  index: number,
) => {
  const ending = (from: number | null): number | null => (length === null ? null : (from ?? 0) + length)
  if (kind === 'create') return { before: null, after: contract(`t${index}`, start, ending(start)) }
  const activeTariffs = tariffs.filter(({ closedAt }) => closedAt === null)
  const before = activeTariffs[which % Math.max(1, activeTariffs.length)] ?? null
  if (before === null || kind === 'void') return { before, after: null }
  if (kind === 'end') return { before, after: { ...before, closedAt: on(index) } }
  const from = before.contractStart === null ? null : (before.contractStart - on(0)) / dayMs
  const to = ending(from)
  return { before, after: { ...before, contractEnd: to === null ? null : on(to) } }
}

const inForce = (tariffs: readonly Tariff[], at: number) => {
  const part = tariffCoverage(tariffs, 'IMPORT', 'COMMODITY').find(({ start: from, end: to }) => from <= at && at < to)
  return [part?.tariff?.id, part?.confidence]
}

const shown = (tariffs: readonly Tariff[]) =>
  tariffCoverage(tariffs, 'IMPORT', 'COMMODITY').map(({ start: from, end: to, tariff: of, confidence }) => [
    Number.isFinite(from) ? (from - on(0)) / dayMs : null,
    Number.isFinite(to) ? (to - on(0)) / dayMs : null,
    of?.id ?? null,
    confidence,
  ])

describe('which tariff is in force', () => {
  it('continues after the contract, with 0.2 less confidence every 90 days and never below 0.2', () => {
    expect(shown([contract('a', 0, 100)])).toEqual([
      [null, 0, null, 10_000],
      [0, 100, 'a', 10_000],
      [100, 190, 'a', 8000],
      [190, 280, 'a', 6000],
      [280, 370, 'a', 4000],
      [370, null, 'a', 2000],
    ])
  })

  it('continues only until the next one begins, and not at all if it is closed', () => {
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

  it('is still the closed one for the time it has priced', () => {
    expect(shown([contract('new', null, null), contract('old', 10, null, 20), contract('never', 30, 40, 25)])).toEqual([
      [null, 10, 'new', 10_000],
      [10, 20, 'old', 10_000],
      [20, null, 'new', 10_000],
    ])
  })

  it('covers all time without gap or overlap, and equals an oracle at any instant', () => {
    fc.assert(
      fc.property(scenarios(), ({ input, records }) => {
        for (const [direction, type] of [
          ['IMPORT', 'COMMODITY'],
          ['IMPORT', 'NON_COMMODITY'],
          ['EXPORT', 'COMMODITY'],
          ['LOCAL', 'COMMODITY'],
        ] as const) {
          const coverage = tariffCoverage(input.tariffs, direction, type)
          expect([coverage[0]?.start, coverage.at(-1)?.end]).toEqual([
            Number.NEGATIVE_INFINITY,
            Number.POSITIVE_INFINITY,
          ])
          for (const [index, part] of coverage.entries()) {
            expect(part.start).toBeLessThan(part.end)
            if (index > 0) expect(part.start).toBe(coverage[index - 1]?.end)
          }
          for (const { record } of records) {
            const part = coverage.find(one => one.start <= record.start && record.start < one.end)
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

  it('change prices from the earlier start, or the first end that moves, to the next tariff', () => {
    const others = [contract('a', 0, 10), contract('c', 50, null), contract('x', 30, 40, 35)]
    const span = (before: Tariff | null, after: Tariff | null) => changedInterval(before, after, others)
    expect(span(null, contract('b', 20, 40))).toEqual({ from: on(20), to: on(50) })
    expect(span(contract('b', 20, 40), contract('b', 20, null))).toEqual({ from: on(40), to: on(50) })
    expect(span(contract('b', 20, 40), contract('b', 20, 40, 30))).toEqual({ from: on(30), to: on(50) })
    expect(span(contract('b', 20, 40), contract('b', 20, 40, 15))).toEqual({ from: on(20), to: on(50) })
    expect(span(contract('b', 20, 40), contract('b', 20, 40, 60))).toBeNull()
    expect(span(contract('b', 20, 40), contract('b', 20, 40))).toBeNull()
    expect(span(contract('b', 25, 40), contract('b', 20, 40))).toEqual({ from: on(20), to: on(50) })
    expect(span(contract('c', 50, null), null)).toEqual({ from: on(50), to: null })
    expect(span(null, contract('z', null, 0))).toEqual({ from: null, to: on(0) })
  })

  it('never change the coverage outside of the changed interval', () => {
    const number = fc.integer({ min: 0, max: 12 })
    const end = fc.option(fc.integer({ min: 1, max: 12 }))
    const step = fc.oneof(
      fc.record({ kind: fc.constant('create'), start: fc.option(number), length: end }),
      fc.record({ kind: fc.constantFrom('end', 'void'), which: number }),
      fc.record({ kind: fc.constant('move'), which: number, length: end }),
    )
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 12 }), steps => {
        let tariffs: readonly Tariff[] = []
        for (const [index, one] of steps.entries()) {
          // Tariffs are closed now, and each step is later than the one before.
          const { before, after } = changeOf(tariffs, one, index)
          const others = tariffs.filter(({ id }) => id !== (before ?? after)?.id)
          if (after !== null && after.closedAt === null && overlappingTariff(after, others) !== undefined) continue
          if (before === null && after === null) continue
          const span = changedInterval(before, after, others)
          const changed = after === null ? others : [...others, after]
          for (let offset = -10; offset < 1_000; offset += offset < 40 ? 5 : 45) {
            const at = on(0) + (offset * dayMs) / 10
            if (span !== null && at >= (span.from ?? -Infinity) && at < (span.to ?? Infinity)) continue
            expect(inForce(changed, at)).toEqual(inForce(tariffs, at))
          }
          tariffs = changed
        }
      }),
      { numRuns: 500 },
    )
  })
})
