import { describe, expect, it } from 'vitest'
import { costRecords, type IdentifiedRecord, type OracleCost } from './cost.ts'
import { isRounded } from './exact.ts'
import { allDay, at, band, kwh, nano, pricing, rate, record, tariff } from './tables.ts'

const piecesOf = (cost: OracleCost | undefined) =>
  cost?.priced?.pieces.map(({ start, end, energy, price, cost }) => [
    new Date(start).toISOString().slice(5, 19),
    end - start,
    energy,
    price,
    cost,
  ])
const totals = (costs: readonly OracleCost[]) => costs.map(({ priced }) => priced?.cost ?? null)
const hourMs = 3_600_000

describe('clock changes', () => {
  // 0.1 from 02:00 to 03:00, 0.3 at all other times; 1 kW from local midnight to 06:00.
  const night = [band('02:00-03:00', 0.1), band('03:00-02:00', 0.3)]
  it.each([
    // 2 h × 0.3 + 2 h × 0.1 (02:00 occurs twice) + 3 h × 0.3 = 0.6 + 0.2 + 0.9
    ['2024-10-26T22:00:00Z', '2024-10-27T05:00:00Z', 7, 1.7, 3],
    // 02:00 does not occur: 5 h × 0.3
    ['2024-03-30T23:00:00Z', '2024-03-31T04:00:00Z', 5, 1.5, 1],
    // a plain day: 2 h × 0.3 + 1 h × 0.1 + 3 h × 0.3
    ['2024-06-30T22:00:00Z', '2024-07-01T04:00:00Z', 6, 1.6, 3],
  ])('from %s to %s are %d hours for %d in %d pieces', (start, end, hours, cost, pieces) => {
    const [found] = costRecords(pricing('Europe/Berlin', [tariff(night)]), [record('a', start, end, kwh(hours))])
    expect(found?.priced?.cost).toBe(nano(cost))
    expect(found?.priced?.pieces.length).toBe(pieces)
  })

  it('follow the half hour of Lord Howe', () => {
    // 01:30 to 02:00 occurs twice on 7 April 2024. 1 kW from 01:00 to 03:00 local is 2.5 kWh.
    // 1.5 kWh are before 02:00: 1.5 × 0.3 + 1 × 0.1
    const input = pricing('Australia/Lord_Howe', [tariff([band('02:00-03:00', 0.1), band('03:00-02:00', 0.3)])])
    const costs = costRecords(input, [record('a', '2024-04-06T14:00:00Z', '2024-04-06T16:30:00Z', kwh(2.5))])
    expect(totals(costs)).toEqual([nano(0.55)])
  })
})

describe('pieces', () => {
  it('end at odd seconds and share energy cumulatively', () => {
    // 10 units over 3 s, cut after each: 3.33 → 3, 6.67 → 7, 10: shares 3, 4, 3
    const second = [band('00:00:01-00:00:02', 1e6), band('00:00:02-00:00:01', 2e5)]
    const costs = costRecords(pricing('UTC', [tariff(second)]), [
      record('a', '2024-01-01T00:00:00Z', '2024-01-01T00:00:03Z', 10n),
    ])
    expect(piecesOf(costs[0])).toEqual([
      // 3 × 2e5 and 4 × 1e6 and 3 × 2e5, in 1e-9
      ['01-01T00:00:00', 1000, 3n, nano(2e5), 600_000n],
      ['01-01T00:00:01', 1000, 4n, nano(1e6), 4_000_000n],
      ['01-01T00:00:02', 1000, 3n, nano(2e5), 600_000n],
    ])
  })

  it('are joined if price, tariff, tier and confidence are equal, even if the time bands differ', () => {
    const same = [
      band('00:00-10:00', 0.3),
      band('10:00-11:00', [rate(0.2, null, { surchargeFixed: nano(0.1) })]),
      band('11:00-24:00', 0.3),
    ]
    const day = record('a', '2024-01-01T00:00:00Z', '2024-01-02T00:00:00Z', kwh(24))
    expect(costRecords(pricing('UTC', [tariff(same)]), [day])[0]?.priced?.pieces.length).toBe(1)
    const noon = at('2024-01-01T12:00:00Z')
    const two = [tariff(same, { contractEnd: noon }), tariff(same, { id: 'trf_b', contractStart: noon })]
    expect(costRecords(pricing('UTC', two), [day])[0]?.priced?.pieces.length).toBe(2)
    const tiers = tariff(allDay([rate(0.3, 6), rate(0.3)]))
    expect(costRecords(pricing('UTC', [tiers]), [day])[0]?.priced?.pieces.map(({ energy }) => energy)).toEqual([
      kwh(6),
      kwh(18),
    ])
  })

  it('end at a contract that ends between two seconds', () => {
    // 1000 units in 1 s, cut after 250 ms
    const edge = at('2024-01-01T00:00:00.250Z')
    const two = [tariff(allDay(1), { contractEnd: edge }), tariff(allDay(2), { id: 'trf_b', contractStart: edge })]
    const [found] = costRecords(pricing('UTC', two), [
      record('a', '2024-01-01T00:00:00Z', '2024-01-01T00:00:01Z', 1000n),
    ])
    expect(found?.priced?.pieces.map(({ energy, cost }) => [energy, cost])).toEqual([
      [250n, 250n],
      [750n, 1500n],
    ])
  })

  it('lose the energy that actuals cover and count the remaining energy', () => {
    // 12 kWh from 00:00 to 12:00, covered from 02:00 to 06:00: 8 kWh remain.
    // Up to 5 kWh at 1, then at 3: 2 × 1, none, 3 × 1 until 09:00, 3 × 3
    const estimate = record('a', '2024-01-01T00:00:00Z', '2024-01-01T12:00:00Z', kwh(12), { confidence: 500_000 })
    const covered = [{ start: at('2024-01-01T02:00:00Z'), end: at('2024-01-01T06:00:00Z') }]
    const input = pricing('UTC', [tariff(allDay([rate(1, 5), rate(3)]))])
    const costs = costRecords(input, [
      { ...estimate, covered },
      record('b', '2024-01-02T00:00:00Z', '2024-01-02T01:00:00Z', kwh(1)),
    ])
    expect(piecesOf(costs[0])).toEqual([
      ['01-01T00:00:00', 2 * hourMs, kwh(2), nano(1), nano(2)],
      ['01-01T02:00:00', 4 * hourMs, 0n, nano(1), 0n],
      ['01-01T06:00:00', 3 * hourMs, kwh(3), nano(1), nano(3)],
      ['01-01T09:00:00', 3 * hourMs, kwh(3), nano(3), nano(9)],
    ])
    expect(totals(costs)).toEqual([nano(14), nano(3)])
  })

  it('weight the confidence by energy', () => {
    // 6 h with 1, 18 h with 0.8, the record with 0.5: 0.5 × (6 + 14.4) / 24 = 0.425
    const ended = tariff(allDay(1), { contractEnd: at('2024-01-01T06:00:00Z') })
    const day = record('a', '2024-01-01T00:00:00Z', '2024-01-02T00:00:00Z', kwh(24), { confidence: 500_000 })
    const [found] = costRecords(pricing('UTC', [ended]), [day])
    expect(found?.priced?.pieces.map(piece => piece.confidence)).toEqual([1, 0.8])
    const confidence = found?.priced?.confidence ?? { numerator: 0n, denominator: 1n }
    expect([0.425, 0.4251].map(value => isRounded(value, confidence, 4))).toEqual([true, false])
  })
})

describe('tiers', () => {
  const tiered = (more = {}) => tariff(allDay([rate(0.2, 10), rate(0.3, 12), rate(0.5)]), more)
  const january = (id: string, day: number, energy: bigint, more = {}): IdentifiedRecord =>
    record(id, `2024-01-${day}T00:00:00Z`, `2024-01-${day}T01:00:00Z`, energy, more)

  it('change within a record at the exact energy', () => {
    // 8 kWh before. 5 kWh in an hour: 2 × 0.2 until 24 min, 2 × 0.3 until 48 min, 1 × 0.5
    const costs = costRecords(pricing('UTC', [tiered()]), [january('b', 11, kwh(5)), january('a', 10, kwh(8))])
    expect(piecesOf(costs[0])).toEqual([
      ['01-11T00:00:00', 0.4 * hourMs, kwh(2), nano(0.2), nano(0.4)],
      ['01-11T00:24:00', 0.4 * hourMs, kwh(2), nano(0.3), nano(0.6)],
      ['01-11T00:48:00', 0.2 * hourMs, kwh(1), nano(0.5), nano(0.5)],
    ])
    expect(totals(costs)).toEqual([nano(1.5), nano(1.6)])
  })

  it('cut an impulse by energy alone', () => {
    const impulse = record('a', '2024-01-10T00:00:00Z', '2024-01-10T00:00:00Z', kwh(13))
    // 10 × 0.2 + 2 × 0.3 + 1 × 0.5
    const [found] = costRecords(pricing('UTC', [tiered()]), [impulse])
    expect(found?.priced?.pieces.map(piece => [piece.end - piece.start, piece.energy])).toEqual(
      [10, 2, 1].map(energy => [0, kwh(energy)]),
    )
    expect(found?.priced?.cost).toBe(nano(3.1))
  })

  it('round the time of a cut to the millisecond, half to even', () => {
    // 1 s with 2000 units: 1 unit is reached after 0.5 ms → 0, 3 units after 1.5 ms → 2
    const input = pricing('UTC', [tariff(allDay([rate(1, 1e-9), rate(2, 3e-9), rate(3)]))])
    const [found] = costRecords(input, [record('a', '2024-01-01T00:00:00Z', '2024-01-01T00:00:01Z', 2000n)])
    expect(found?.priced?.pieces.map(piece => [piece.end - piece.start, piece.energy])).toEqual([
      [0, 1n],
      [2, 2n],
      [998, 1997n],
    ])
  })

  it('cut at the exact energy, even if a rounded share reaches the bound earlier', () => {
    // 9 units in 24 h: at midnight UTC 4.5 → 4 have passed, but 4 are reached after 24 h × 4 / 9 = 10 h 40 min
    const input = pricing('UTC', [tariff(allDay([rate(1, 4e-9), rate(2)]))])
    const [found] = costRecords(input, [record('a', '2024-01-01T12:00:00Z', '2024-01-02T12:00:00Z', 9n)])
    expect(piecesOf(found)?.map(([start, , energy]) => [start, energy])).toEqual([
      ['01-01T12:00:00', 4n],
      ['01-01T22:40:00', 5n],
    ])
  })

  it('start again with the local month and with the contract', () => {
    // February starts at 23:00Z in Berlin. From noon to noon UTC, 11 kWh are in January and 13 kWh in February.
    // Each month starts with 10 × 0.2: 2.3 and 3.1
    const over = record('a', '2024-01-31T12:00:00Z', '2024-02-01T12:00:00Z', kwh(24))
    expect(totals(costRecords(pricing('Europe/Berlin', [tiered()]), [over]))).toEqual([nano(5.4)])
    // A new contract at 22:00Z: 10 kWh → 2.0; one hour in January → 0.2; 13 in February → 3.1
    const edge = at('2024-01-31T22:00:00Z')
    const two = [tiered({ contractEnd: edge }), tiered({ id: 'trf_b', contractStart: edge })]
    expect(totals(costRecords(pricing('Europe/Berlin', two), [over]))).toEqual([nano(5.3)])
  })

  it('use one count for the bounds of all time bands', () => {
    // 06-18: up to 6 at 1, then 2. Night: up to 4 at 10, then 20.
    // 1 kW from 00:00: 4 × 10, 2 × 20, then 12 × 2 in the day band, 6 × 20
    const bands = [band('06:00-18:00', [rate(1, 6), rate(2)]), band('18:00-06:00', [rate(10, 4), rate(20)])]
    const day = record('a', '2024-01-01T00:00:00Z', '2024-01-02T00:00:00Z', kwh(24))
    expect(totals(costRecords(pricing('UTC', [tariff(bands)]), [day]))).toEqual([nano(40 + 40 + 24 + 120)])
  })

  it('count a whole record before a record that starts later, even if both overlap', () => {
    // a: 9 h with 9 kWh. b starts within a, 3 kWh: 1 × 0.2 + 2 × 0.3, as if a had ended
    const a = record('a', '2024-01-01T00:00:00Z', '2024-01-01T09:00:00Z', kwh(9))
    const b = record('b', '2024-01-01T01:00:00Z', '2024-01-01T02:00:00Z', kwh(3))
    expect(totals(costRecords(pricing('UTC', [tiered()]), [b, a]))).toEqual([nano(0.8), nano(1.8)])
  })

  it('count records in the order of start or counting start, end, id', () => {
    // 10 kWh at 0.2: the first record costs 7 × 0.2 = 1.4, the second one 3 × 0.2 + 2 × 0.3 + 2 × 0.5 = 2.2
    const pair = (a: [string, string, string], b: [string, string, string]) =>
      totals(costRecords(pricing('UTC', [tiered()]), [record(...a, kwh(7)), record(...b, kwh(7))]))
    const [eleven, twelve] = ['2024-01-01T11:00:00Z', '2024-01-01T12:00:00Z']
    expect(pair(['a', eleven, '2024-01-01T14:00:00Z'], ['b', eleven, '2024-01-01T13:00:00Z'])).toEqual([
      nano(2.2),
      nano(1.4),
    ])
    expect(pair(['b', eleven, twelve], ['a', eleven, twelve])).toEqual([nano(2.2), nano(1.4)])
    expect(pair(['b', eleven, twelve], ['a', twelve, twelve])).toEqual([nano(1.4), nano(2.2)])
    // 7 kWh of each record are in a contract from 12:00 on. Before: a 7 × 0.2, b 2.2.
    // After: b ends first, 7 × 0.2, then a 2.2.
    const two = [tiered({ contractEnd: at(twelve) }), tiered({ id: 'trf_b', contractStart: at(twelve) })]
    const over = [
      record('a', '2024-01-01T10:00:00Z', '2024-01-01T14:00:00Z', kwh(14)),
      record('b', eleven, '2024-01-01T13:00:00Z', kwh(14)),
    ]
    expect(totals(costRecords(pricing('UTC', two), over))).toEqual([nano(1.4 + 2.2), nano(2.2 + 1.4)])
  })

  it('do not count energy from storage, which is priced at the current tier', () => {
    const back = january('b', 11, kwh(100), { energyFlowDirection: 'OUTBOUND' })
    const costs = costRecords(pricing('UTC', [tiered()]), [january('a', 10, kwh(11)), back, january('c', 12, kwh(2))])
    // 10 × 0.2 + 0.3; 100 × 0.3; 0.3 + 0.5
    expect(totals(costs)).toEqual([nano(2.3), nano(30), nano(0.8)])
  })

  it('are separate for commodity and non-commodity, and count records without a price', () => {
    const grid = tariff(allDay([rate(0.01, 5), rate(0.02)]), {
      id: 'trf_g',
      type: 'NON_COMMODITY',
      contractStart: at('2024-01-11T00:00:00Z'),
    })
    const series = {
      sourceId: 'm',
      starts: [at('2024-01-11T00:00:00Z')],
      ends: [at('2024-01-12T00:00:00Z')],
      prices: [nano(1)],
      confidences: [1],
    }
    const buy = tariff(allDay([rate(0, 10), rate(0, null, { surchargeFixed: nano(1) })]), { marketRates: true })
    const costs = costRecords(pricing('UTC', [buy, grid], series), [january('a', 10, kwh(9)), january('b', 11, kwh(6))])
    // a has no market price but counts 9. b costs 1 × 1 + 5 × 2.
    // The grid counts from its own start: 5 × 0.01 + 1 × 0.02
    expect(totals(costs)).toEqual([null, nano(11.07)])
  })
})
