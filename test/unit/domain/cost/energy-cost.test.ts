import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  type CostRow,
  type EnergyCostElement,
  energyCost,
  sessionCost,
} from '../../../../services/domain/cost/energy-cost.ts'
import { zoneNames, zoneOf } from '../../../support/oracle/zone.ts'

const at = (text: string): number => Date.parse(text)
const berlin = zoneOf('Europe/Berlin')
const hourMs = 3_600_000

const row = (
  start: number,
  end: number,
  energy: bigint,
  cost: bigint | null,
  confidence = 1_000_000,
  recordConfidence = 1_000_000,
): CostRow => ({
  start,
  end,
  energy,
  cost,
  recordConfidence,
  pieces: cost === null ? [] : [{ start, end, energy, cost, confidence }],
})
const total = (elements: readonly EnergyCostElement[]) => ({
  energy: elements.reduce((sum, element) => sum + element.energy, 0n),
  cost: elements.reduce((sum, element) => sum + element.cost, 0n),
  unpricedEnergy: elements.reduce((sum, element) => sum + element.unpricedEnergy, 0n),
  estimatedEnergy: elements.reduce((sum, element) => sum + element.estimatedEnergy, 0n),
  provisionalEnergy: elements.reduce((sum, element) => sum + element.provisionalEnergy, 0n),
})

describe('energy cost', () => {
  it('has every day of the local calendar, clipped, empty ones with confidence 1', () => {
    const [start, end] = [at('2026-03-28T10:00:00Z'), at('2026-03-30T10:00:00Z')]
    const elements = energyCost({ start, end, timeZone: berlin, aggregation: 'DAY' }, [
      row(at('2026-03-28T12:00:00Z'), at('2026-03-28T13:00:00Z'), 1000n, 500n),
    ])
    // The 29th has 23 hours: 23:00Z to 22:00Z
    expect(
      elements.map(element => [new Date(element.start).toISOString().slice(8, 16), element.energy, element.confidence]),
    ).toEqual([
      ['28T10:00', 1000n, 10_000],
      ['28T23:00', 0n, 10_000],
      ['29T22:00', 0n, 10_000],
    ])
    expect(elements.at(-1)?.end).toBe(end)
  })

  it('takes cumulative shares of a piece, so that parts add up', () => {
    // 10 over 3 hours: 3.33 → 3, 6.67 → 7, 10; 5 of cost: 1.67 → 2, 3.33 → 3, 5
    const start = at('2026-01-01T00:00:00Z')
    const elements = energyCost({ start, end: start + 3 * hourMs, timeZone: berlin, aggregation: 'HOUR' }, [
      row(start, start + 3 * hourMs, 10n, 5n),
    ])
    expect(elements.map(({ energy, cost }) => [energy, cost])).toEqual([
      [3n, 2n],
      [4n, 1n],
      [3n, 2n],
    ])
  })

  it('assigns an impulse to the bucket of its instant, and a last piece without length to the last ms of its record', () => {
    const start = at('2026-01-01T00:00:00Z')
    const span = { start, end: start + 2 * hourMs, timeZone: berlin, aggregation: 'HOUR' } as const
    const impulse = row(start + hourMs, start + hourMs, 7n, 7n)
    const cut: CostRow = {
      start,
      end: start + hourMs,
      energy: 5n,
      cost: 5n,
      recordConfidence: 1_000_000,
      pieces: [
        { start, end: start + hourMs, energy: 4n, cost: 4n, confidence: 1_000_000 },
        { start: start + hourMs, end: start + hourMs, energy: 1n, cost: 1n, confidence: 1_000_000 },
      ],
    }
    expect(energyCost(span, [impulse]).map(({ energy }) => energy)).toEqual([0n, 7n])
    expect(energyCost(span, [cut]).map(({ energy }) => energy)).toEqual([5n, 0n])
    expect(energyCost(span, [row(start + 2 * hourMs, start + 2 * hourMs, 7n, 7n)]).map(({ energy }) => energy)).toEqual(
      [0n, 0n],
    )
  })

  it('counts unpriced energy separately', () => {
    const start = at('2026-01-01T00:00:00Z')
    const elements = energyCost({ start, end: start + 2 * hourMs, timeZone: berlin, aggregation: 'HOUR' }, [
      row(start, start + 2 * hourMs, 10n, null),
      row(start + hourMs, start + 2 * hourMs, 3n, 3n),
    ])
    expect(
      elements.map(({ energy, unpricedRecords, unpricedEnergy }) => [energy, unpricedRecords, unpricedEnergy]),
    ).toEqual([
      [0n, 1, 5n],
      [3n, 1, 5n],
    ])
  })

  it('keeps unpriced energy where actuals leave it, cut as priced pieces are', () => {
    const start = at('2026-01-01T00:00:00Z')
    // Actuals cover the second of four hours with 100 in total; the last two hours keep 50, each 25.
    const cuts = [
      { start, end: start + hourMs, energy: 25n, cost: 0n, confidence: 0 },
      { start: start + hourMs, end: start + 2 * hourMs, energy: 0n, cost: 0n, confidence: 0 },
      { start: start + 2 * hourMs, end: start + 4 * hourMs, energy: 50n, cost: 0n, confidence: 0 },
    ]
    const span = { start, end: start + 4 * hourMs, timeZone: berlin, aggregation: 'HOUR' } as const
    const unpriced: CostRow = {
      start,
      end: start + 4 * hourMs,
      energy: 75n,
      cost: null,
      recordConfidence: 500_000,
      pieces: cuts,
    }
    const priced: CostRow = { ...unpriced, cost: 0n }
    expect(energyCost(span, [unpriced]).map(({ unpricedEnergy }) => unpricedEnergy)).toEqual([25n, 0n, 25n, 25n])
    expect(energyCost(span, [priced]).map(({ energy }) => energy)).toEqual([25n, 0n, 25n, 25n])
    // A row that was stored without its cuts is spread evenly: 18.75 → 19, 37.5 → 38, 56.25 → 56, 75
    expect(energyCost(span, [{ ...unpriced, pieces: [] }]).map(({ unpricedEnergy }) => unpricedEnergy)).toEqual([
      19n,
      19n,
      18n,
      19n,
    ])
  })

  it('counts the records that share time with a span, and unpriced energy in the mean with confidence 0', () => {
    const start = at('2026-01-01T00:00:00Z')
    const elements = energyCost({ start, end: start + 4 * hourMs, timeZone: berlin, aggregation: 'HOUR' }, [
      row(start, start + hourMs, 3n, 3n),
      row(start, start + 2 * hourMs, 2n, null),
      row(start + 2 * hourMs, start + 2 * hourMs, 0n, null),
    ])
    // 3 of 4 are priced; nothing is; no energy, no price; no record
    expect(elements.map(({ records, unpricedRecords, confidence }) => [records, unpricedRecords, confidence])).toEqual([
      [2, 1, 7500],
      [1, 1, 0],
      [1, 1, 0],
      [0, 0, 10_000],
    ])
  })

  it('weighs confidence by the energy of parts, by time without energy, alike without either', () => {
    const start = at('2026-01-01T00:00:00Z')
    const of = (...rows: CostRow[]) =>
      energyCost({ start, end: start + hourMs, timeZone: berlin, aggregation: null }, rows)[0]?.confidence
    // (1 × 1 + 3 × 0.6) / 4 = 0.7; the second hour of the second row lies outside
    expect(of(row(start, start + hourMs, 1n, 1n), row(start, start + 2 * hourMs, 6n, 1n, 600_000))).toBe(7000)
    // 0.5 × 0.8 = 0.4
    expect(of(row(start, start + hourMs, 1n, 1n, 800_000, 500_000))).toBe(4000)
    // (60 min × 1 + 30 min × 0.4) / 90 min = 0.8
    expect(of(row(start, start + hourMs, 0n, 0n), row(start, start + hourMs / 2, 0n, 0n, 400_000))).toBe(8000)
    expect(of(row(start, start, 0n, 0n), row(start, start, 0n, 0n, 400_000))).toBe(7000)
    expect(of()).toBe(10_000)
  })

  it('has the energy of estimates and of provisional prices, cut as the energy is', () => {
    const start = at('2026-01-01T00:00:00Z')
    const span = { start, end: start + 3 * hourMs, timeZone: berlin, aggregation: 'HOUR' } as const
    // 10 over the first two hours: 5, 5; then 7 over half of the last hour, after the end of a contract.
    const estimate: CostRow = {
      start,
      end: start + 2.5 * hourMs,
      energy: 17n,
      cost: 17n,
      recordConfidence: 999_999,
      pieces: [
        { start, end: start + 2 * hourMs, energy: 10n, cost: 10n, confidence: 1_000_000 },
        { start: start + 2 * hourMs, end: start + 2.5 * hourMs, energy: 7n, cost: 7n, confidence: 800_000 },
      ],
    }
    const forecast = row(start + hourMs, start + 2 * hourMs, 3n, 3n, 999_900)
    const unpriced = row(start, start + 3 * hourMs, 30n, null, 0, 500_000)
    expect(
      energyCost(span, [estimate, forecast, unpriced]).map(element => [
        ...[element.energy, element.estimatedEnergy, element.provisionalEnergy],
      ]),
    ).toEqual([
      [5n, 5n, 0n],
      [8n, 5n, 3n],
      [7n, 7n, 7n],
    ])
  })

  it('of a session reaches from its first start to its last end, an impulse there included', () => {
    const start = at('2026-01-01T00:00:00Z')
    const rows = [
      row(start + hourMs, start + 2 * hourMs, 3n, 3n),
      row(start, start + hourMs, 1n, 2n),
      row(start + 2 * hourMs, start + 2 * hourMs, 5n, 5n),
    ]
    expect(sessionCost(rows)).toMatchObject({
      start,
      end: start + 2 * hourMs,
      energy: 9n,
      cost: 10n,
      unpricedRecords: 0,
    })
    expect(sessionCost([row(start, start, 5n, null)])).toMatchObject({
      start,
      end: start,
      energy: 0n,
      unpricedRecords: 1,
      unpricedEnergy: 5n,
    })
    expect(sessionCost([])).toBeUndefined()
  })
})

describe('any cut of a span', () => {
  const first = Date.UTC(2026, 2, 20)
  const days = 20 * 24 * hourMs
  const instants = fc.integer({ min: first, max: first + days })
  const amounts = fc.bigInt({ min: 0n, max: 10n ** 12n })
  const rows = fc
    .tuple(
      instants,
      fc.integer({ min: 0, max: days }),
      amounts,
      fc.option(fc.bigInt({ min: -(10n ** 12n), max: 10n ** 12n })),
      fc.constantFrom(1_000_000, 999_900, 200_000),
      fc.constantFrom(1_000_000, 999_999, 500_000),
    )
    .map(([start, length, energy, cost, ...confidences]) =>
      row(start, start + (length % 3 === 0 ? 0 : length), energy, cost, ...confidences),
    )

  it('adds up to the whole, for every unit and every further cut', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...zoneNames),
        fc.array(rows, { maxLength: 6 }),
        fc.array(instants, { maxLength: 5 }),
        (name, of, cuts) => {
          const timeZone = zoneOf(name)
          const [start, end] = [first - hourMs, first + 2 * days + hourMs]
          const whole = total(energyCost({ start, end, timeZone, aggregation: null }, of))
          expect(whole.energy + whole.unpricedEnergy).toBe(of.reduce((sum, one) => sum + one.energy, 0n))
          expect(whole.cost).toBe(of.reduce((sum, one) => sum + (one.cost ?? 0n), 0n))
          const priced = of.filter(({ cost }) => cost !== null)
          const energyOf = (rows: readonly CostRow[]) => rows.reduce((sum, one) => sum + one.energy, 0n)
          expect(whole.estimatedEnergy).toBe(energyOf(priced.filter(one => one.recordConfidence !== 1_000_000)))
          expect(whole.provisionalEnergy).toBe(energyOf(priced.filter(one => one.pieces[0]?.confidence !== 1_000_000)))
          for (const aggregation of ['HOUR', 'DAY', 'MONTH'] as const) {
            const elements = energyCost({ start, end, timeZone, aggregation }, of)
            expect(total(elements)).toEqual(whole)
            for (const [index, element] of elements.entries())
              expect(element.start).toBe(index === 0 ? start : elements[index - 1]?.end)
          }
          const edges = [start, ...[...new Set(cuts)].sort((a, b) => a - b), end]
          const parts = edges
            .slice(1)
            .flatMap((to, index) =>
              energyCost({ start: edges[index] as number, end: to, timeZone, aggregation: null }, of),
            )
          expect(total(parts)).toEqual(whole)
        },
      ),
      { numRuns: 60 },
    )
  })
})
