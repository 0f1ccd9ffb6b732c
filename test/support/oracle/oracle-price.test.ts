import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { MarketSeries } from '../../../services/domain/tariff/tariff.ts'
import { divideHalfEven } from './exact.ts'
import { localClock, monthStart } from './local-clock.ts'
import { bandAt, priceAt } from './price-at.ts'
import { allDay, at, band, entry, nano, percentage as percentageOf, pricing, rate, tariff } from './tables.ts'
import { zoneNames, zoneOf } from './zone.ts'

const clockText = (zone: string, instant: string): string => {
  const { weekday, year, month, date, hour, minute, second } = localClock(zone, at(instant))
  return `${weekday} ${year}-${month}-${date} ${hour}:${minute}:${second}`
}

describe('the clock of the oracle', () => {
  it.each([
    ['Europe/Berlin', '2024-03-31T00:59:59Z', 'Sun 2024-3-31 1:59:59'],
    ['Europe/Berlin', '2024-03-31T01:00:00Z', 'Sun 2024-3-31 3:0:0'],
    ['Europe/Berlin', '2024-10-27T00:30:00Z', 'Sun 2024-10-27 2:30:0'],
    ['Europe/Berlin', '2024-10-27T01:30:00Z', 'Sun 2024-10-27 2:30:0'],
    ['Asia/Kathmandu', '2024-01-01T18:15:00Z', 'Tue 2024-1-2 0:0:0'],
    ['Australia/Lord_Howe', '2024-04-06T14:59:00Z', 'Sun 2024-4-7 1:59:0'],
    ['Australia/Lord_Howe', '2024-04-06T15:00:00Z', 'Sun 2024-4-7 1:30:0'],
    ['America/Sao_Paulo', '2018-11-04T03:00:00Z', 'Sun 2018-11-4 1:0:0'],
    ['America/St_Johns', '2009-11-01T02:30:59Z', 'Sun 2009-11-1 0:0:59'],
    ['America/St_Johns', '2009-11-01T02:31:00Z', 'Sat 2009-10-31 23:1:0'],
    ['Pacific/Apia', '2011-12-30T10:00:00Z', 'Sat 2011-12-31 0:0:0'],
  ])('%s shows at %s: %s', (zone, instant, shown) => expect(clockText(zone, instant)).toBe(shown))

  it.each([
    ['Europe/Berlin', '2024-10-31T23:00:00Z', '2024-10-31T23:00:00Z'],
    ['Europe/Berlin', '2024-10-31T22:59:00Z', '2024-09-30T22:00:00Z'],
    ['Asia/Kolkata', '2024-02-10T00:00:00Z', '2024-01-31T18:30:00Z'],
    // November starts once, at the first midnight. The clock goes back over midnight, but October does not start again.
    ['America/St_Johns', '2009-11-01T02:30:00Z', '2009-11-01T02:30:00Z'],
    ['America/St_Johns', '2009-11-01T03:00:00Z', '2009-11-01T02:30:00Z'],
  ])('in %s the month of %s began at %s', (zone, instant, start) =>
    expect(monthStart(zone, at(instant))).toBe(at(start)),
  )

  it('agrees with the offsets of the time zone data at any second and around every change', () => {
    const anyZone = fc.constantFrom(...zoneNames).map(zoneOf)
    const instant = fc
      .integer({ min: at('2000-01-01T00:00:00Z') / 1000, max: at('2037-12-31T00:00:00Z') / 1000 })
      .map(seconds => seconds * 1000)
    fc.assert(
      fc.property(
        anyZone,
        instant,
        fc.nat(),
        fc.integer({ min: -7200, max: 7200 }),
        (zone, anywhere, pick, distance) => {
          const change = zone.changes[pick % Math.max(1, zone.changes.length)]
          for (const moment of [anywhere, change === undefined ? anywhere : change + distance * 1000]) {
            const offset = zone.offsets[zone.changes.filter(known => known <= moment).length] ?? Number.NaN
            const { year, month, date, hour, minute, second } = localClock(zone.name, moment)
            expect(Date.UTC(year, month - 1, date, hour, minute, second) - moment).toBe(offset)
          }
        },
      ),
    )
  })
})

describe('the band of the oracle', () => {
  const schedule = [
    entry(allDay(1)),
    entry([band('20:00-06:30', 2)], ['Weekdays']),
    entry([band('05:00-06:00', 3)], ['Wed']),
    entry([band('00:00-12:00', 4)], ['All'], { months: ['Dec', 'Jan'] }),
    entry([band('00:00-01:00', 5)], ['Weekend', 'Wed'], { months: ['Jan'] }),
    entry([band('23:00-00:30', 6)], ['All'], { dates: [31, 2] }),
    entry([band('00:15-00:20', 7)], ['All'], { dates: [2], months: ['Feb'] }),
  ]
  it.each([
    ['2024-05-03T12:00:00Z', 1, 'Friday noon: only the base covers it'],
    ['2024-05-03T20:00:00Z', 2, 'Friday evening'],
    ['2024-05-04T02:00:00Z', 1, 'Saturday after midnight: a band of Friday evening does not continue into the weekend'],
    [
      '2024-05-06T02:00:00Z',
      2,
      'Monday after midnight: the weekday band applies, although it did not apply on Sunday evening',
    ],
    ['2024-05-06T06:30:00Z', 1, 'the end of a band is exclusive'],
    ['2024-05-08T05:30:00Z', 3, 'a single day has a higher rank than Weekdays'],
    ['2024-01-10T05:30:00Z', 4, 'months have a higher rank than a single day'],
    ['2024-01-10T12:00:00Z', 1, 'outside the hours of a higher entry, the lower entry applies'],
    ['2024-01-10T00:59:59Z', 5, 'months and a single day have a higher rank than months'],
    ['2024-01-13T00:30:00Z', 5, 'months and Weekend have a higher rank than months'],
    ['2024-05-31T23:30:00Z', 6, 'a date has a higher rank than All'],
    ['2024-06-01T00:10:00Z', 1, 'after midnight it is the 1st, which is not listed'],
    ['2024-06-02T00:10:00Z', 6, 'the band continues over midnight into the 2nd, which is listed'],
    ['2024-02-02T00:15:00Z', 7, 'dates with months have a higher rank than dates'],
    ['2024-02-02T00:20:00Z', 6, 'after the end of a higher band, the lower band applies'],
  ])('%s has price %d: %s', (instant, price) => {
    expect(bandAt(schedule, localClock('UTC', at(instant))).rate[0]?.fixed).toBe(nano(price))
  })

  it('throws if two bands of equal rank or no band cover an instant', () => {
    const noon = localClock('UTC', at('2024-05-03T12:00:00Z'))
    expect(() => bandAt([entry(allDay(1)), entry([band('11:00-13:00', 2)])], noon)).toThrow('Two time bands')
    expect(() => bandAt([entry([band('13:00-11:00', 2)])], noon)).toThrow('No time band')
  })
})

const market = (price: number, confidence = 1): MarketSeries => ({
  sourceId: 'mrs_1',
  starts: [at('2024-01-01T00:00:00Z')],
  ends: [at('2024-01-01T01:00:00Z')],
  prices: [nano(price)],
  confidences: [confidence],
})

describe('the price of the oracle', () => {
  it.each([
    // (0.20 + 0.10) × 1.19 = 0.357
    [0.2, 0.1, 0.19, 357_000_000n],
    // (−0.05 + 0.01) × 1.19 = −0.0476: the percentage keeps the sign of the price
    [-0.05, 0.01, 0.19, -47_600_000n],
    // (0.10 + 0.02) × (1 − 0.5) = 0.06
    [0.1, 0.02, -0.5, 60_000_000n],
    // 1, 3 and 5 units × 1.5 or 0.5 = 1.5, 1.5 and 2.5 units, rounded to even: 2, 2 and 2. The same below zero.
    [1e-9, 0, 0.5, 2n],
    [3e-9, 0, -0.5, 2n],
    [5e-9, 0, -0.5, 2n],
    [-5e-9, 0, -0.5, -2n],
    [-3e-9, 0, -0.5, -2n],
  ])('of market %d, surcharge %d and percentage %d is %d', (base, fixed, percentage, price) => {
    const rates = [rate(0, null, { surchargeFixed: nano(fixed), surchargePercentage: percentageOf(percentage) })]
    const input = pricing('UTC', [tariff(allDay(rates), { marketRates: true })], market(base))
    expect(priceAt(input, 'IMPORT', at('2024-01-01T00:30:00Z'))?.price).toBe(price)
    expect(priceAt(input, 'IMPORT', at('2024-01-01T01:00:00Z'))).toBeNull()
    const sameFixed = tariff(
      allDay([rate(base, null, { surchargeFixed: nano(fixed), surchargePercentage: percentageOf(percentage) })]),
    )
    expect(priceAt(pricing('UTC', [sameFixed]), 'IMPORT', 0)?.price).toBe(price)
  })

  it('adds both rounded parts and takes the lower confidence', () => {
    // Half a unit twice: each part is rounded to 0, but their sum would be 1.
    const half = { surchargePercentage: percentageOf(-0.5) }
    const grid = tariff(allDay([rate(1e-9, null, half)]), { id: 'trf_grid', type: 'NON_COMMODITY' })
    const buy = tariff(allDay([rate(0, null, half)]), { marketRates: true })
    const found = priceAt(pricing('UTC', [grid, buy], market(1e-9, 0.7)), 'IMPORT', at('2024-01-01T00:00:00Z'))
    expect(found).toMatchObject({
      price: 0n,
      confidence: 0.7,
      nonCommodity: { tariffId: 'trf_grid' },
      commodity: { tariffId: 'trf_a' },
    })
  })

  it('has the confidence of a grid fee that continues after its contract', () => {
    const grid = tariff(allDay(1), { id: 'trf_grid', type: 'NON_COMMODITY', contractEnd: 0 })
    expect(priceAt(pricing('UTC', [grid, tariff(allDay(2))]), 'IMPORT', 0)).toMatchObject({
      price: nano(3),
      confidence: 0.8,
    })
  })

  it.each([
    ['2024-01-01T09:59:59.999Z', null],
    ['2024-01-01T10:00:00.000Z', [1, 1]],
    ['2024-02-01T00:00:00.000Z', [1, 0.8]],
    ['2024-04-30T23:59:59.999Z', [1, 0.8]],
    // 2024-02-01 + 90 days: 29 in February, 31 in March, 30 in April
    ['2024-05-01T00:00:00.000Z', [1, 0.6]],
    ['2024-07-30T00:00:00.000Z', [1, 0.4]],
    ['2024-10-28T00:00:00.000Z', [1, 0.2]],
    ['2025-01-26T00:00:00.000Z', [1, 0.2]],
    ['2026-01-01T00:00:00.000Z', [2, 1]],
    ['2026-02-01T00:00:00.000Z', [2, 0.8]],
    ['2026-03-01T00:00:00.000Z', null],
    ['2030-01-01T00:00:00.000Z', null],
  ])('at %s is [price, confidence] %j', (instant, expected) => {
    const first = { contractStart: at('2024-01-01T10:00:00Z'), contractEnd: at('2024-02-01T00:00:00Z') }
    const second = {
      contractStart: at('2026-01-01T00:00:00Z'),
      contractEnd: at('2026-02-01T00:00:00Z'),
      closedAt: at('2026-03-01T00:00:00Z'),
    }
    const never = { contractStart: at('2025-01-01T00:00:00Z'), closedAt: at('2024-06-01T00:00:00Z') }
    const tariffs = [
      tariff(allDay(2), { id: 'trf_b', ...second }),
      tariff(allDay(1), first),
      tariff(allDay(9), { id: 'trf_c', ...never }),
    ]
    const found = priceAt(pricing('UTC', tariffs), 'IMPORT', at(instant))
    expect(found === null ? null : [found.price, found.confidence]).toEqual(
      expected === null ? null : [nano(expected[0] ?? 0), expected[1]],
    )
  })

  it('is 0 with confidence 1 for own generation without a tariff, and null for export without a tariff', () => {
    const input = pricing('UTC', [tariff(allDay(1)), tariff(allDay(0.5), { type: 'NON_COMMODITY' })])
    expect(priceAt(input, 'LOCAL', 0)).toMatchObject({ price: 0n, confidence: 1 })
    expect(priceAt(input, 'EXPORT', 0)).toBeNull()
  })

  it('uses the next tier after the counted energy has reached the bound', () => {
    const input = pricing('UTC', [tariff(allDay([rate(1, 10), rate(2, 20), rate(3)]))])
    const prices = [0n, nano(10) - 1n, nano(10), nano(20) - 1n, nano(20)].map(
      counted => priceAt(input, 'IMPORT', 0, [counted, 0n])?.commodity,
    )
    expect(prices.map(part => part?.price)).toEqual([1, 1, 2, 2, 3].map(nano))
    expect(prices.map(part => part?.tier)).toEqual([0, 0, 10, 10, 20].map(nano))
  })
})

it('rounds divisions half to even on both sides of zero', () => {
  const halves = [-5n, -3n, -1n, 1n, 3n, 5n, 7n]
  expect(halves.map(numerator => divideHalfEven(numerator, 2n))).toEqual([-2n, -2n, 0n, 0n, 2n, 2n, 4n])
  expect([-4n, -2n, 2n, 4n].map(numerator => divideHalfEven(numerator, 3n))).toEqual([-1n, -1n, 1n, 1n])
})
