import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isImplausible, overlappingRecords, overlapSearch } from '../../../../services/domain/record/warnings.ts'

const hourMs = 3_600_000
const megawattHour = 1_000_000_000_000n

describe('a mean power', () => {
  const tenMegawatts = { start: 0, end: hourMs, energy: 10n * megawattHour }

  it('is plausible up to 10 MW exactly', () => {
    expect(isImplausible(null, tenMegawatts)).toBe(false)
    expect(isImplausible(null, { ...tenMegawatts, energy: tenMegawatts.energy + 1n })).toBe(true)
    // An error code of a meter: 2^24 - 1 Wh in half an hour are 33.6 kW; as kWh they are 33.6 MW.
    expect(isImplausible(null, { start: 0, end: hourMs / 2, energy: 16_777_215_000_000n })).toBe(true)
    expect(isImplausible(null, { start: 0, end: hourMs / 2, energy: 16_777_215_000n })).toBe(false)
  })

  it('is allowed by a higher maximum power of the object alone', () => {
    const twice = { ...tenMegawatts, energy: 20n * megawattHour }
    expect(isImplausible({ maxPower: 20n * megawattHour }, twice)).toBe(false)
    expect(isImplausible({ maxPower: 20n * megawattHour - 1n }, twice)).toBe(true)
    expect(isImplausible({ maxPower: 1n }, tenMegawatts)).toBe(false)
    expect(isImplausible({ maxPower: null }, twice)).toBe(true)
  })

  it('does not exist for an impulse', () => {
    expect(isImplausible(null, { start: 5, end: 5, energy: 10n ** 17n })).toBe(false)
  })

  it('is compared exactly, for energies as integers of both types', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 366 * 24 * hourMs }), fc.integer({ min: -2, max: 2 }), (ms, offset) => {
        const limit = (10_000_000_000_000n * BigInt(ms)) / BigInt(hourMs) + BigInt(offset)
        fc.pre(limit >= 0n)
        const expected = limit * BigInt(hourMs) > 10_000_000_000_000n * BigInt(ms)
        expect(isImplausible(null, { start: 0, end: ms, energy: limit })).toBe(expected)
        if (limit <= Number.MAX_SAFE_INTEGER)
          expect(isImplausible(null, { start: 0, end: ms, energy: Number(limit) })).toBe(expected)
      }),
    )
  })
})

/** A day in hours, and the day as one record. */
const hours = Array.from({ length: 24 }, (_, hour) => ({ start: hour, end: hour + 1 }))
const day = { start: 0, end: 24 }

const intervals = fc.array(
  fc.tuple(fc.nat(30), fc.constantFrom(1, 1, 1, 2, 8)).map(([start, length]) => ({ start, end: start + length })),
  { maxLength: 9 },
)

type Interval = { readonly start: number; readonly end: number }

/** Compare each pair: the definition of an overlap. */
const pairsOf = (all: readonly Interval[]): readonly Interval[] =>
  all.filter(a => all.some(b => a.end - a.start !== b.end - b.start && a.start < b.end && b.start < a.end))

describe('records of one series', () => {
  it('overlap if a day and its hours are among them', () => {
    expect(overlappingRecords(hours)).toEqual([])
    expect(new Set(overlappingRecords([...hours, day]))).toEqual(new Set([...hours, day]))
    // Two registers of one length add up.
    expect(overlappingRecords([...hours, ...hours.map(hour => ({ ...hour }))])).toEqual([])
    expect(overlappingRecords([day, { start: 24, end: 25 }])).toEqual([])
  })

  it('are named if and only if two of them share time and differ in length, in any order', () => {
    fc.assert(
      fc.property(intervals, fc.infiniteStream(fc.nat(1_000)), (all, ranks) => {
        const shuffled = all
          .map(one => ({ one, rank: ranks.next().value }))
          .sort((a, b) => a.rank - b.rank)
          .map(({ one }) => one)
        const named = overlappingRecords(shuffled)
        const expected = pairsOf(all)
        expect(named.length > 0).toBe(expected.length > 0)
        for (const one of named) expect(expected).toContain(one)
      }),
      { numRuns: 2_000 },
    )
  })

  const meter = { locationId: 'loc_1', deviceId: null, sessionReferenceId: null, confidence: 1_000_000, energy: 1n }
  const bought = { ...meter, energyFlowDirection: 'INBOUND', tariffDirection: 'IMPORT' } as const

  it('are found by their ascending starts too', () => {
    fc.assert(
      fc.property(intervals, all => {
        const search = overlapSearch()
        for (const one of all.toSorted((a, b) => a.start - b.start)) search.add({ ...bought, ...one })
        const starts = pairsOf(all).map(({ start }) => start)
        expect(search.first() === null).toBe(starts.length === 0)
        if (starts.length > 0) expect(starts).toContain(search.first()?.start)
      }),
      { numRuns: 2_000 },
    )
  })

  it.each([
    ['another device', { deviceId: 'dev_1' }],
    ['another session', { sessionReferenceId: '' }],
    ['another flow', { energyFlowDirection: 'OUTBOUND' }],
    ['another tariff direction', { tariffDirection: 'LOCAL' }],
    ['an estimate', { confidence: 999_999 }],
    ['a cancelled record', { energy: 0n }],
    ['an impulse', { start: 12, end: 12 }],
  ] as const)('do not overlap with %s', (_, change) => {
    const search = overlapSearch()
    search.add({ ...bought, ...day })
    search.add({ ...bought, start: 3, end: 4, ...change })
    expect(search.first()).toBeNull()
    search.add({ ...bought, start: 13, end: 14 })
    expect(search.first()).toEqual({ locationId: 'loc_1', deviceId: null, start: 13 })
  })
})
