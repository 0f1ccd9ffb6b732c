import { describe, expect, it } from 'vitest'
import { readTariffTerms } from '../../services/contract/tariffs/read-tariff-terms.ts'
import { energyCost } from '../../services/domain/cost/energy-cost.ts'
import { costOf, readEnergy } from '../../services/domain/quantity.ts'
import type { MarketSeries } from '../../services/domain/tariff/tariff.ts'
import { decimal } from '../support/ledger/exact-decimal.ts'
import { allDay, at, band, entry, kwh, nano, percentage, pricing, rate, tariff } from '../support/oracle/tables.ts'
import { zoneOf } from '../support/oracle/zone.ts'
import { lines, priced, totals } from '../support/tariffs/guide.ts'

/**
 * A record has an amount of energy and an interval. Its cost is energy × price.
 * Energy is an integer of 1e-6 Wh. Prices and amounts of money are integers of 1e-9 major units. No value is a binary fraction.
 */
describe('1 Energy of a record', () => {
  const energy = (text: string, units: 'W' | 'KW' | 'WH' | 'KWH', from: string, to: string) => {
    const read = readEnergy(text, units, at(to) - at(from))
    return read.ok ? `${decimal(read.value, 6)} Wh` : read.refusal.message
  }

  it('The energy is given in Wh or kWh', () => {
    expect(energy('1234.5', 'WH', '2025-06-01T10:00:00Z', '2025-06-01T10:15:00Z')).toBe('1234.5 Wh')
    expect(energy('1.2345', 'KWH', '2025-06-01T10:00:00Z', '2025-06-01T10:15:00Z')).toBe('1234.5 Wh')
  })

  it('Constant power over the interval also gives the energy', () => {
    // 7.2 kW for a quarter of an hour: 7.2 / 4 = 1.8 kWh
    expect(energy('7.2', 'KW', '2025-06-01T10:00:00Z', '2025-06-01T10:15:00Z')).toBe('1800 Wh')
    // In the night when clocks go back, local 02:00 to 03:00 takes two hours.
    expect(energy('1', 'KW', '2025-10-26T02:00:00+02:00', '2025-10-26T03:00:00+01:00')).toBe('2000 Wh')
  })
})

describe('2 Cost of a record', () => {
  const flat = pricing('Europe/Berlin', [tariff(allDay(0.3))])

  it('The cost is energy × price', () => {
    expect(lines(priced(flat, ['2025-06-01T10:00:00Z', '2025-06-01T10:15:00Z', 1.8]))).toEqual(['1.8 kWh × 0.3 = 0.54'])
  })

  it('A price change within the interval splits the record: each piece gets energy in proportion to its time', () => {
    const evening = pricing('Europe/Berlin', [tariff([band('06:00-22:00', 0.3), band('22:00-06:00', 0.2)])])
    // 20:30 to 22:30 in Berlin: 90 minutes before 22:00, 30 minutes after
    const costs = priced(evening, ['2025-06-01T18:30:00Z', '2025-06-01T20:30:00Z', 4])
    expect(lines(costs)).toEqual(['3 kWh × 0.3 = 0.9', '1 kWh × 0.2 = 0.2'])
    expect(totals(costs)).toEqual(['1.1'])
  })

  it('A price below zero gives a cost below zero', () => {
    const surplus = pricing('Europe/Berlin', [tariff(allDay(-0.05))])
    expect(totals(priced(surplus, ['2025-06-01T10:00:00Z', '2025-06-01T11:00:00Z', 2]))).toEqual(['-0.1'])
  })

  it('A record without duration has the price of its instant', () => {
    const evening = pricing('Europe/Berlin', [tariff([band('06:00-22:00', 0.3), band('22:00-06:00', 0.2)])])
    // 22:00:00 in Berlin: the first instant of a band is part of the band.
    expect(lines(priced(evening, ['2025-06-01T20:00:00Z', '2025-06-01T20:00:00Z', 5]))).toEqual(['5 kWh × 0.2 = 1'])
  })

  it('The prices of energy and of the grid are added', () => {
    const grid = tariff(allDay(0.08), { id: 'trf_grid', type: 'NON_COMMODITY' })
    const both = pricing('Europe/Berlin', [tariff(allDay(0.22)), grid])
    expect(lines(priced(both, ['2025-06-01T10:00:00Z', '2025-06-01T11:00:00Z', 2]))).toEqual(['2 kWh × 0.3 = 0.6'])
  })

  it('A record without a tariff is UNPRICED', () => {
    const [cost] = priced(pricing('Europe/Berlin', []), ['2025-06-01T10:00:00Z', '2025-06-01T11:00:00Z', 2])
    expect([cost?.status, cost?.cost]).toEqual(['UNPRICED', null])
  })
})

describe('3 Rounding: once, half to even', () => {
  it('A cost is rounded to 1e-9', () => {
    // 0.333333333 × 0.3 = 0.0999999999
    expect(decimal(costOf(kwh(0.333333333), nano(0.3)), 9)).toBe('0.1')
    // A half goes to the even neighbour, so that both directions are equally frequent: 0.5 → 0, 1.5 → 2, 2.5 → 2, 3.5 → 4
    const halves = [0.5, 1.5, 2.5, 3.5].map(energy => costOf(kwh(energy), 1n))
    expect(halves).toEqual([0n, 2n, 2n, 4n])
  })

  it('The price is rounded before the cost', () => {
    // 0.123456789 × 1.19 = 0.14691357891, rounded 0.146913579; × 1000 kWh = 146.913579
    const taxed = tariff(allDay([rate(0.123456789, null, { surchargePercentage: percentage(0.19) })]))
    expect(
      lines(priced(pricing('Europe/Berlin', [taxed]), ['2025-06-01T10:00:00Z', '2025-06-01T11:00:00Z', 1000])),
    ).toEqual(['1000 kWh × 0.146913579 = 146.913579'])
  })
})

describe('4 Parts of a record', () => {
  const [start, end] = [at('2025-06-01T10:00:00Z'), at('2025-06-01T13:00:00Z')]
  const [cost] = priced(pricing('Europe/Berlin', [tariff(allDay(0.1))]), [
    '2025-06-01T10:00:00Z',
    '2025-06-01T13:00:00Z',
    1,
  ])
  const row = { start, end, energy: kwh(1), cost: nano(0.1), recordConfidence: 1_000_000, pieces: cost?.pieces ?? [] }
  const elements = energyCost({ start, end, timeZone: zoneOf('Europe/Berlin'), aggregation: 'HOUR' }, [row])

  it('Three equal hours can have different energies', () => {
    // The sum is 333.333333 Wh after one hour, 666.666667 after two, 1000 after three. The parts are the differences.
    expect(elements.map(({ energy }) => decimal(energy, 6))).toEqual(['333.333333', '333.333334', '333.333333'])
    expect(elements.map(part => decimal(part.cost, 9))).toEqual(['0.033333333', '0.033333334', '0.033333333'])
  })

  it('The parts add up to the record', () => {
    expect(elements.reduce((sum, { energy }) => sum + energy, 0n)).toBe(kwh(1))
    expect(elements.reduce((sum, part) => sum + part.cost, 0n)).toBe(nano(0.1))
  })
})

/** Times of a tariff are local times of its location. Berlin is two hours ahead of UTC in summer. */
const berlin = 'Europe/Berlin'

describe('5 Schedules', () => {
  it('A band has a price for some hours of the day, also across midnight', () => {
    const home = pricing(berlin, [tariff([band('06:00-22:00', 0.3), band('22:00-06:00', 0.2)])])
    // 1 kW from 21:00 to 07:00: 1 h by day, 8 h by night, 1 h by day
    expect(lines(priced(home, ['2025-06-01T19:00:00Z', '2025-06-02T05:00:00Z', 10]))).toEqual([
      '1 kWh × 0.3 = 0.3',
      '8 kWh × 0.2 = 1.6',
      '1 kWh × 0.3 = 0.3',
    ])
  })

  it('A band can be limited to days of the week', () => {
    const week = {
      ...entry([]),
      daysAndHours: [...entry(allDay(0.3), ['Weekdays']).daysAndHours, ...entry(allDay(0.1), ['Weekend']).daysAndHours],
    }
    const home = pricing(berlin, [tariff([], { schedule: [week] })])
    // Friday 22:00 to Saturday 02:00
    expect(lines(priced(home, ['2025-06-06T20:00:00Z', '2025-06-07T00:00:00Z', 4]))).toEqual([
      '2 kWh × 0.3 = 0.6',
      '2 kWh × 0.1 = 0.2',
    ])
  })

  it('An entry can be limited to months', () => {
    const winter = entry(allDay(0.4), ['All'], { months: ['Oct', 'Nov', 'Dec', 'Jan', 'Feb', 'Mar'] })
    const summer = entry(allDay(0.2), ['All'], { months: ['Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep'] })
    const home = pricing(berlin, [tariff([], { schedule: [winter, summer] })])
    // 31 March 23:00 to 1 April 01:00: one hour of winter, one hour of summer
    expect(lines(priced(home, ['2025-03-31T21:00:00Z', '2025-03-31T23:00:00Z', 2]))).toEqual([
      '1 kWh × 0.4 = 0.4',
      '1 kWh × 0.2 = 0.2',
    ])
  })

  it('The most specific entry wins: dates with months, dates, months, none; then a day, a group of days, all days', () => {
    const usual = entry(allDay(0.3))
    const sundays = entry(allDay(0.2), ['Sun'])
    const christmas = entry([band('18:00-24:00', 0.1)], ['All'], { months: ['Dec'], dates: [24] })
    const home = pricing(berlin, [tariff([], { schedule: [usual, sundays, christmas] })])
    const prices = priced(
      home,
      ['2025-12-20T12:00:00Z', '2025-12-20T12:00:00Z', 1], // a Saturday
      ['2025-12-21T12:00:00Z', '2025-12-21T12:00:00Z', 1], // a Sunday
      ['2025-12-24T12:00:00Z', '2025-12-24T12:00:00Z', 1], // 24 December at 13:00: the entry of this date has no band for this hour
      ['2025-12-24T18:00:00Z', '2025-12-24T18:00:00Z', 1], // 24 December at 19:00
    )
    expect(totals(prices)).toEqual(['0.3', '0.2', '0.3', '0.1'])
  })

  it('A schedule with a gap or an overlap is refused', () => {
    const terms = {
      direction: 'IMPORT',
      type: 'COMMODITY',
      marketRates: false,
      contractStart: null,
      contractEnd: null,
    } as const
    const of = (...spans: readonly [string, string][]) => {
      const hours = spans.map(([valid_from, valid_to]) => ({ valid_from, valid_to, rate: [{ fixed: '0.3' }] }))
      const read = readTariffTerms({ ...terms, schedule: [{ days_and_hours: [{ hours }] }] })
      return read.ok ? 'accepted' : read.refusal.code
    }
    expect(of(['06:00:00', '22:00:00'], ['22:00:00', '06:00:00'])).toBe('accepted')
    expect(of(['06:00:00', '22:00:00'])).toBe('schedule_gap')
    expect(of(['06:00:00', '22:00:00'], ['21:00:00', '06:00:00'])).toBe('schedule_overlap')
  })
})

describe('6 Rates', () => {
  it('A rate can have a fixed and a percentage surcharge: (0.20 + 0.05) × 1.19 = 0.2975', () => {
    const taxed = rate(0.2, null, { surchargeFixed: nano(0.05), surchargePercentage: percentage(0.19) })
    const home = pricing(berlin, [tariff(allDay([taxed]))])
    expect(lines(priced(home, ['2025-06-01T10:00:00Z', '2025-06-01T11:00:00Z', 2]))).toEqual(['2 kWh × 0.2975 = 0.595'])
  })

  it('A market rate adds the surcharges to the market price', () => {
    const hours = ['2025-06-01T10:00:00Z', '2025-06-01T11:00:00Z', '2025-06-01T12:00:00Z'].map(at)
    const market: MarketSeries = {
      sourceId: 'mrs_1',
      starts: hours.slice(0, 2),
      ends: hours.slice(1),
      prices: [nano(0.08), nano(-0.02)],
      confidences: [1, 1],
    }
    const surcharged = rate(0, null, { surchargeFixed: nano(0.03), surchargePercentage: percentage(0.2) })
    const home = pricing(berlin, [tariff(allDay([surcharged]), { marketRates: true })], market)
    // 10:00: (0.08 + 0.03) × 1.2 = 0.132. 11:00: (-0.02 + 0.03) × 1.2 = 0.012
    expect(lines(priced(home, ['2025-06-01T10:00:00Z', '2025-06-01T12:00:00Z', 2]))).toEqual([
      '1 kWh × 0.132 = 0.132',
      '1 kWh × 0.012 = 0.012',
    ])
    // No price is known after 12:00Z.
    expect(totals(priced(home, ['2025-06-01T11:30:00Z', '2025-06-01T12:30:00Z', 1]))).toEqual([null])
  })
})

describe('7 Contract dates', () => {
  const old = tariff(allDay(0.3), {
    id: 'trf_old',
    contractStart: at('2025-01-01T00:00:00Z'),
    contractEnd: at('2025-06-01T10:00:00Z'),
  })
  const next = tariff(allDay(0.2), { id: 'trf_next', contractStart: at('2025-06-01T10:00:00Z') })

  it('The first instant is included, the last one is not', () => {
    const home = pricing(berlin, [old, next])
    expect(lines(priced(home, ['2025-06-01T09:00:00Z', '2025-06-01T11:00:00Z', 2]))).toEqual([
      '1 kWh × 0.3 = 0.3',
      '1 kWh × 0.2 = 0.2',
    ])
    expect(totals(priced(home, ['2025-06-01T10:00:00Z', '2025-06-01T10:00:00Z', 1]))).toEqual(['0.2'])
  })

  it('A record that begins before the contract is UNPRICED', () => {
    const home = pricing(berlin, [old])
    expect(totals(priced(home, ['2024-12-31T23:00:00Z', '2025-01-01T01:00:00Z', 2]))).toEqual([null])
  })

  it('After its end, a tariff stays valid until the next one, with less confidence each quarter', () => {
    const home = pricing(berlin, [old])
    const quarters = [0, 90, 180, 270, 360].map(days =>
      new Date(at('2025-06-01T10:00:00Z') + days * 86_400_000).toISOString(),
    )
    const costs = priced(home, ...quarters.map(start => [start, start, 1] as const))
    expect(costs.map(({ confidence }) => confidence / 10_000)).toEqual([0.8, 0.6, 0.4, 0.2, 0.2])
    expect(new Set(totals(costs))).toEqual(new Set(['0.3']))
  })
})

describe('8 Daylight saving time', () => {
  const nightly = tariff([band('02:00-03:00', 0.1), band('03:00-02:00', 0.3)])

  it('In spring, the hour from 02:00 to 03:00 is missing', () => {
    // Local 01:00 to 04:00 takes two hours.
    expect(lines(priced(pricing(berlin, [nightly]), ['2025-03-30T00:00:00Z', '2025-03-30T02:00:00Z', 2]))).toEqual([
      '2 kWh × 0.3 = 0.6',
    ])
  })

  it('In autumn, the hour from 02:00 to 03:00 occurs twice', () => {
    // Local 01:00 to 04:00 takes four hours.
    expect(lines(priced(pricing(berlin, [nightly]), ['2025-10-25T23:00:00Z', '2025-10-26T03:00:00Z', 4]))).toEqual([
      '1 kWh × 0.3 = 0.3',
      '2 kWh × 0.1 = 0.2',
      '1 kWh × 0.3 = 0.3',
    ])
  })

  it('On Lord Howe Island, the change is 30 minutes', () => {
    // At 02:00, clocks go back to 01:30. Local 01:00 to 03:00 takes 2.5 h: 1.5 h before the second 02:00, then 1 h.
    expect(
      lines(priced(pricing('Australia/Lord_Howe', [nightly]), ['2025-04-05T14:00:00Z', '2025-04-05T16:30:00Z', 5])),
    ).toEqual(['3 kWh × 0.3 = 0.9', '2 kWh × 0.1 = 0.2'])
  })
})
