import { describe, expect, it } from 'vitest'
import { costRecord, type RecordCost } from '../../../../services/domain/cost/cost-record.ts'
import { coveredIntervals } from '../../../../services/domain/cost/covered-intervals.ts'
import { accumulatorKey, compareSortKeys } from '../../../../services/domain/tariff/accumulator.ts'
import { createPricingPool } from '../../../../services/domain/tariff/pricing-pool.ts'
import { compileSnapshot, hasTieredPrices, type PricingSnapshot } from '../../../../services/domain/tariff/snapshot.ts'
import type { Tariff } from '../../../../services/domain/tariff/tariff.ts'
import { allDay, at, band, kwh, nano, pricing, rate, record, tariff } from '../../../support/oracle/tables.ts'
import { countChanges } from '../../../support/tariffs/count-changes.ts'

const snapshotOf = (zone: string, ...tariffs: Tariff[]): PricingSnapshot =>
  compileSnapshot(pricing(zone, tariffs), createPricingPool())
const cost = (snapshot: PricingSnapshot, ...of: Parameters<typeof record>): RecordCost =>
  costRecord(snapshot, record(...of).record)
const shown = ({ pieces }: RecordCost) =>
  pieces.map(({ start, end, energy, price, tier, cost: own }) => [
    new Date(start).toISOString().slice(5, 16),
    (end - start) / 60_000,
    Number(energy) / 1e9,
    Number(price) / 1e9,
    Number(tier) / 1e9,
    Number(own) / 1e9,
  ])

describe('a record', () => {
  const night = [band('02:00-03:00', 0.1), band('03:00-02:00', 0.3)]

  it('is cut where its price changes, by the wall clock of every offset', () => {
    // 02:00 to 03:00 comes twice in Berlin on 25 October: 00:00Z to 02:00Z
    expect(
      shown(
        cost(snapshotOf('Europe/Berlin', tariff(night)), 'a', '2026-10-24T23:00:00Z', '2026-10-25T03:00:00Z', kwh(4)),
      ),
    ).toEqual([
      ['10-24T23:00', 60, 1, 0.3, 0, 0.3],
      ['10-25T00:00', 120, 2, 0.1, 0, 0.2],
      ['10-25T02:00', 60, 1, 0.3, 0, 0.3],
    ])
    // and not at all on 29 March
    expect(
      shown(
        cost(snapshotOf('Europe/Berlin', tariff(night)), 'a', '2026-03-29T00:00:00Z', '2026-03-29T03:00:00Z', kwh(3)),
      ),
    ).toEqual([['03-29T00:00', 180, 3, 0.3, 0, 0.9]])
  })

  it.each([
    // The clock returns from 00:01 to 23:01, so 23:00 to 01:00 are 3 hours of 1 kWh each.
    // 23:00–24:00 at 2 lasts 61 + 59 minutes, the rest at 1 lasts 1 + 60
    [
      'America/St_Johns',
      '2009-11-01T01:30:00Z',
      '2009-11-01T04:31:00Z',
      [band('23:00-00:00', 2), band('00:00-23:00', 1)],
      2 * 119 + 62,
    ],
    // Two change a year more for Ramadan: 03:00 to 02:00 on 15 February; 1 kW from 01:00 to 04:00 are 4 hours, the cheap hour twice
    [
      'Africa/Casablanca',
      '2026-02-15T00:00:00Z',
      '2026-02-15T04:00:00Z',
      [band('02:00-03:00', 1), band('03:00-02:00', 2)],
      2 * 120 + 120,
    ],
    // A quarter hour off: 00:00 local is 18:15Z
    [
      'Asia/Kathmandu',
      '2026-06-01T18:00:00Z',
      '2026-06-01T18:30:00Z',
      [band('00:00-12:00', 1), band('12:00-00:00', 2)],
      2 * 15 + 15,
    ],
  ] as const)('in %s from %s to %s is priced by the minutes of its bands', (zone, start, end, bands, priceMinutes) => {
    const minutes = (at(end) - at(start)) / 60_000
    const found = cost(snapshotOf(zone, tariff([...bands])), 'a', start, end, kwh(minutes))
    expect(Number(found.cost) / 1e9).toBe(priceMinutes)
  })

  it('without length is priced whole at its instant', () => {
    const snapshot = snapshotOf('Europe/Berlin', tariff(night))
    expect(shown(cost(snapshot, 'a', '2026-01-01T01:00:00Z', '2026-01-01T01:00:00Z', kwh(5)))).toEqual([
      ['01-01T01:00', 0, 5, 0.1, 0, 0.5],
    ])
    // Over a tier bound it has two pieces of no length: 2 at 1 and 3 at 4
    const tiered = snapshotOf('UTC', tariff(allDay([rate(1, 2), rate(4)])))
    expect(shown(cost(tiered, 'a', '2026-01-01T01:00:00Z', '2026-01-01T01:00:00Z', kwh(5)))).toEqual([
      ['01-01T01:00', 0, 2, 1, 0, 2],
      ['01-01T01:00', 0, 3, 4, 2, 12],
    ])
  })

  it('adds grid fees to the commodity price and names both tariffs', () => {
    const fee = tariff(allDay(0.05), { id: 'trf_fee', type: 'NON_COMMODITY' })
    const found = cost(
      snapshotOf('UTC', tariff(allDay(0.2)), fee),
      'a',
      '2026-01-01T00:00:00Z',
      '2026-01-01T01:00:00Z',
      kwh(2),
    )
    expect([found.cost, found.tariffIds]).toEqual([nano(0.5), ['trf_a', 'trf_fee']])
    const without = cost(snapshotOf('UTC', fee), 'a', '2026-01-01T00:00:00Z', '2026-01-01T01:00:00Z', kwh(2))
    expect([without.status, without.cost, without.confidence, without.pieces]).toEqual(['UNPRICED', null, 0, []])
  })

  it('without a price keeps the cuts of actuals, in cumulative shares from its start', () => {
    const { record: estimate } = record('a', '2026-01-01T00:00:00Z', '2026-01-01T07:00:00Z', 100n)
    const hours = (from: number, to: number) => ({
      start: estimate.start + from * 3_600_000,
      end: estimate.start + to * 3_600_000,
    })
    const { pieces, energy } = costRecord(snapshotOf('UTC'), estimate, undefined, [hours(1, 2), hours(4, 7)])
    // Shares of 100 over 7 hours: 14.29 → 14, 28.57 → 29, 57.14 → 57
    expect(pieces).toEqual(
      [
        { ...hours(0, 1), energy: 14n },
        { ...hours(1, 2), energy: 0n },
        { ...hours(2, 4), energy: 28n },
        { ...hours(4, 7), energy: 0n },
      ].map(cut => ({ ...cut, price: 0n, tier: 0n, cost: 0n, confidence: 0 })),
    )
    expect(energy).toBe(42n)
    // The actual covers all or nothing, so no cut is stored.
    expect(costRecord(snapshotOf('UTC'), estimate, undefined, [hours(0, 7)]).pieces).toEqual([])
    expect(costRecord(snapshotOf('UTC'), estimate).pieces).toEqual([])
  })

  it('is unpriced if any of its time has no price, and still counts for tiers', () => {
    const snapshot = snapshotOf(
      'UTC',
      tariff(allDay([rate(1, 5), rate(2)]), { contractStart: at('2026-01-01T12:00:00Z') }),
    )
    const found = cost(snapshot, 'a', '2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z', kwh(24))
    expect([found.status, found.energy]).toEqual(['UNPRICED', kwh(24)])
    expect(found.pieces).toEqual([])
    // Half of it lies after the contract's start, from which its tiers count
    expect(found.accumulatorChanges).toEqual([
      { type: 'COMMODITY', direction: 'IMPORT', countingStart: at('2026-01-01T12:00:00Z'), before: 0n, after: kwh(12) },
    ])
  })

  it('of own generation without a tariff is free and certain', () => {
    const local = { tariffDirection: 'LOCAL' } as const
    const found = cost(
      snapshotOf('UTC', tariff(allDay(1))),
      'a',
      '2026-01-01T00:00:00Z',
      '2026-01-01T01:00:00Z',
      kwh(2),
      local,
    )
    expect([found.status, found.cost, found.confidence, found.tariffIds]).toEqual(['PRICED', 0n, 10_000, []])
  })

  it('weighs its confidence by the energy of its pieces', () => {
    // 0.9 × (1 h at 1 + 3 h at 0.8) / 4 = 0.765
    const snapshot = snapshotOf('UTC', tariff(allDay(1), { contractEnd: at('2026-01-01T01:00:00Z') }))
    const found = cost(snapshot, 'a', '2026-01-01T00:00:00Z', '2026-01-01T04:00:00Z', kwh(4), { confidence: 900_000 })
    expect([found.confidence, found.pieces.map(piece => piece.confidence)]).toEqual([7650, [1_000_000, 800_000]])
  })
})

describe('tiers', () => {
  const tiers = tariff(allDay([rate(1, 10), rate(2, 15), rate(3)]))

  it('are cut at the exact energy, and restart with the local month', () => {
    // 48 kWh in 48 h around the month's start in Berlin (23:00Z), 1 kWh an hour: 10 at 1, 5 at 2, 9 at 3, and the same again
    expect(
      shown(cost(snapshotOf('Europe/Berlin', tiers), 'a', '2026-01-30T23:00:00Z', '2026-02-01T23:00:00Z', kwh(48))),
    ).toEqual([
      ['01-30T23:00', 600, 10, 1, 0, 10],
      ['01-31T09:00', 300, 5, 2, 10, 10],
      ['01-31T14:00', 540, 9, 3, 15, 27],
      ['01-31T23:00', 600, 10, 1, 0, 10],
      ['02-01T09:00', 300, 5, 2, 10, 10],
      ['02-01T14:00', 540, 9, 3, 15, 27],
    ])
  })

  it('begin where what was counted before ends, and tell what is counted after', () => {
    const january = at('2026-01-01T00:00:00Z')
    const counts = new Map([[accumulatorKey('COMMODITY', 'IMPORT', january), kwh(9)]])
    const { record: of } = record('a', '2026-01-05T00:00:00Z', '2026-01-05T01:00:00Z', kwh(2))
    const found = costRecord(snapshotOf('UTC', tiers), of, counts)
    expect([found.cost, found.accumulatorChanges]).toEqual([
      nano(1 + 2),
      [{ type: 'COMMODITY', direction: 'IMPORT', countingStart: january, before: kwh(9), after: kwh(11) }],
    ])
    expect(counts.get(accumulatorKey('COMMODITY', 'IMPORT', january))).toBe(kwh(9))
    countChanges(counts, found.accumulatorChanges)
    expect(counts.get(accumulatorKey('COMMODITY', 'IMPORT', january))).toBe(kwh(11))
  })

  it('price what storage supplies at the tier in force and count none of it', () => {
    const supplied = { energyFlowDirection: 'OUTBOUND' } as const
    const found = cost(snapshotOf('UTC', tiers), 'a', '2026-01-05T00:00:00Z', '2026-01-05T01:00:00Z', kwh(50), supplied)
    expect([found.cost, found.accumulatorChanges[0]?.after]).toEqual([nano(50), 0n])
  })

  it('count only where a tariff of the direction has them', () => {
    const snapshot = snapshotOf('UTC', tiers, tariff(allDay(1), { id: 'trf_x', direction: 'EXPORT' }))
    expect([
      hasTieredPrices(snapshot, 'IMPORT'),
      hasTieredPrices(snapshot, 'EXPORT'),
      hasTieredPrices(snapshot, 'LOCAL'),
    ]).toEqual([true, false, false])
  })

  it('order records by start or counting start, then end, then id', () => {
    const sortKey = (start: number, end: number, recordId: string) => ({ start, end, recordId })
    const sorted = [sortKey(5, 9, 'b'), sortKey(5, 9, 'a'), sortKey(1, 8, 'z'), sortKey(7, 7, 'a'), sortKey(2, 30, 'a')]
    expect(
      [...sorted].sort((a, b) => compareSortKeys(a, b, 4)).map(({ end, recordId }) => `${end}${recordId}`),
    ).toEqual(['8z', '30a', '9a', '9b', '7a'])
  })

  it('leave at the end of a record a piece without length when the bound is met in its last half millisecond', () => {
    // 3000 units in 1 ms: the bound of 2999 lies at 0.99967 ms, which rounds to the end
    const snapshot = snapshotOf('UTC', tariff(allDay([rate(1, 0.000002999), rate(2)])))
    const found = cost(snapshot, 'a', '2026-01-05T00:00:00.000Z', '2026-01-05T00:00:00.001Z', 3000n)
    expect(found.pieces.map(({ start, end, energy }) => [end - start, energy])).toEqual([
      [1, 2999n],
      [0, 1n],
    ])
  })
})

describe('an estimate', () => {
  it('loses the share of its energy that actuals cover, for every kind of overlap', () => {
    const estimate = record('a', '2026-01-01T00:00:00Z', '2026-01-01T12:00:00Z', kwh(12), {
      confidence: 500_000,
    }).record
    const hours = (from: number, to: number) => ({
      start: estimate.start + from * 3_600_000,
      end: estimate.start + to * 3_600_000,
    })
    const covered = coveredIntervals(estimate, [
      hours(4, 6),
      hours(-3, 1),
      hours(5, 5),
      hours(5, 7),
      hours(11, 20),
      hours(12, 13),
    ])
    expect(covered).toEqual([hours(0, 1), hours(4, 7), hours(11, 12)])
    const found = costRecord(snapshotOf('UTC', tariff(allDay(1))), estimate, undefined, covered)
    expect([found.energy, found.cost, found.confidence]).toEqual([kwh(7), nano(7), 5000])
    expect(shown(found).map(([, minutes, energy]) => [minutes, energy])).toEqual([
      [60, 0],
      [180, 3],
      [180, 0],
      [240, 4],
      [60, 0],
    ])
  })
})
