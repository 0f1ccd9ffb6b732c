import { describe, expect, it } from 'vitest'
import type { MarketSeries } from '../../services/domain/tariff/tariff.ts'
import { readTariffTerms } from '../../services/domain/tariff/validate-schedule.ts'
import { allDay, at, band, entry, nano, pricing, rate, tariff } from '../support/oracle/tables.ts'
import { lines, priced, totals } from '../support/tariffs/guide.ts'

/** All times of a tariff are those of the clock on the wall at its location; here that is mostly Berlin, in summer two hours ahead of Z. */
const berlin = 'Europe/Berlin'

describe('1 A schedule says which price holds when', () => {
  it('in bands of hours, of which one may go over midnight', () => {
    const home = pricing(berlin, [tariff([band('06:00-22:00', 0.3), band('22:00-06:00', 0.2)])])
    // 21:00 to 07:00: an hour by day, eight by night, an hour by day, 1 kW throughout
    expect(lines(priced(home, ['2025-06-01T19:00:00Z', '2025-06-02T05:00:00Z', 10]))).toEqual([
      '1 kWh × 0.3 = 0.3',
      '8 kWh × 0.2 = 1.6',
      '1 kWh × 0.3 = 0.3',
    ])
  })

  it('on days of the week', () => {
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

  it('in months of the year', () => {
    const winter = entry(allDay(0.4), ['All'], { months: ['Oct', 'Nov', 'Dec', 'Jan', 'Feb', 'Mar'] })
    const summer = entry(allDay(0.2), ['All'], { months: ['Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep'] })
    const home = pricing(berlin, [tariff([], { schedule: [winter, summer] })])
    // Over midnight to 1 April: an hour of winter, an hour of summer
    expect(lines(priced(home, ['2025-03-31T21:00:00Z', '2025-03-31T23:00:00Z', 2]))).toEqual([
      '1 kWh × 0.4 = 0.4',
      '1 kWh × 0.2 = 0.2',
    ])
  })

  it('the most special entry first: dates with months, dates, months, none; within them a day, a group of days, all', () => {
    const usual = entry(allDay(0.3))
    const sundays = entry(allDay(0.2), ['Sun'])
    const christmas = entry([band('18:00-24:00', 0.1)], ['All'], { months: ['Dec'], dates: [24] })
    const home = pricing(berlin, [tariff([], { schedule: [usual, sundays, christmas] })])
    const prices = priced(
      home,
      ['2025-12-20T12:00:00Z', '2025-12-20T12:00:00Z', 1], // a Saturday
      ['2025-12-21T12:00:00Z', '2025-12-21T12:00:00Z', 1], // a Sunday
      ['2025-12-24T12:00:00Z', '2025-12-24T12:00:00Z', 1], // Christmas Eve at 13:00: its entry leaves this hour to the others
      ['2025-12-24T18:00:00Z', '2025-12-24T18:00:00Z', 1], // and at 19:00
    )
    expect(totals(prices)).toEqual(['0.3', '0.2', '0.3', '0.1'])
  })

  it('without a gap and without a quarrel: such a schedule is refused, naming the place', () => {
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

describe('2 A rate says what a kWh costs', () => {
  it('with a fixed surcharge and one in percent: (0.20 + 0.05) × 1.19 = 0.2975', () => {
    const taxed = rate(0.2, null, { surchargeFixed: nano(0.05), surchargePercentage: nano(0.19) })
    const home = pricing(berlin, [tariff(allDay([taxed]))])
    expect(lines(priced(home, ['2025-06-01T10:00:00Z', '2025-06-01T11:00:00Z', 2]))).toEqual(['2 kWh × 0.2975 = 0.595'])
  })

  it('in tiers of what the location has used in the month', () => {
    const home = pricing(berlin, [tariff(allDay([rate(0.2, 10), rate(0.3, 15), rate(0.5)]))])
    const june = priced(
      home,
      ['2025-06-10T10:00:00Z', '2025-06-10T14:00:00Z', 8], // the first 8 of 10
      ['2025-06-11T10:00:00Z', '2025-06-11T14:00:00Z', 9], // 2 are left, then 5 of the second tier, then 2
      ['2025-07-01T10:00:00Z', '2025-07-01T14:00:00Z', 1], // another month begins at nothing
    )
    expect(lines(june)).toEqual([
      '8 kWh × 0.2 = 1.6',
      ...['2 kWh × 0.2 = 0.4', '5 kWh × 0.3 = 1.5', '2 kWh × 0.5 = 1'],
      '1 kWh × 0.2 = 0.2',
    ])
  })

  it('or takes the price from a market and adds its surcharges', () => {
    const hours = ['2025-06-01T10:00:00Z', '2025-06-01T11:00:00Z', '2025-06-01T12:00:00Z'].map(at)
    const market: MarketSeries = {
      ...{ sourceId: 'mrs_1', starts: hours.slice(0, 2), ends: hours.slice(1) },
      ...{ prices: [nano(0.08), nano(-0.02)], confidences: [1, 1] },
    }
    const surcharged = rate(0, null, { surchargeFixed: nano(0.03), surchargePercentage: nano(0.2) })
    const home = pricing(berlin, [tariff(allDay([surcharged]), { marketRates: true })], market)
    // (0.08 + 0.03) × 1.2 = 0.132, then (-0.02 + 0.03) × 1.2 = 0.012
    expect(lines(priced(home, ['2025-06-01T10:00:00Z', '2025-06-01T12:00:00Z', 2]))).toEqual([
      '1 kWh × 0.132 = 0.132',
      '1 kWh × 0.012 = 0.012',
    ])
    // No price is known behind 12:00Z
    expect(totals(priced(home, ['2025-06-01T11:30:00Z', '2025-06-01T12:30:00Z', 1]))).toEqual([null])
  })
})

describe('3 A contract says from when until when', () => {
  const old = tariff(allDay(0.3), {
    id: 'trf_old',
    contractStart: at('2025-01-01T00:00:00Z'),
    contractEnd: at('2025-06-01T10:00:00Z'),
  })
  const next = tariff(allDay(0.2), { id: 'trf_next', contractStart: at('2025-06-01T10:00:00Z') })

  it('its first instant included, its last one not', () => {
    const home = pricing(berlin, [old, next])
    expect(lines(priced(home, ['2025-06-01T09:00:00Z', '2025-06-01T11:00:00Z', 2]))).toEqual([
      '1 kWh × 0.3 = 0.3',
      '1 kWh × 0.2 = 0.2',
    ])
    expect(totals(priced(home, ['2025-06-01T10:00:00Z', '2025-06-01T10:00:00Z', 1]))).toEqual(['0.2'])
  })

  it('before which there is no price, also for a record of which only a part lies there', () => {
    const home = pricing(berlin, [old])
    expect(totals(priced(home, ['2024-12-31T23:00:00Z', '2025-01-01T01:00:00Z', 2]))).toEqual([null])
  })

  it('after which it goes on until another comes, less certain by the quarter year', () => {
    const home = pricing(berlin, [old])
    const quarters = [0, 90, 180, 270, 360].map(days =>
      new Date(at('2025-06-01T10:00:00Z') + days * 86_400_000).toISOString(),
    )
    const costs = priced(home, ...quarters.map(start => [start, start, 1] as const))
    expect(costs.map(({ confidence }) => confidence / 10_000)).toEqual([0.8, 0.6, 0.4, 0.2, 0.2])
    expect(new Set(totals(costs))).toEqual(new Set(['0.3']))
  })

  it('and from which its tiers count', () => {
    const tiered = tariff(allDay([rate(0.1, 5), rate(0.4)]), { contractStart: at('2025-06-15T00:00:00Z') })
    const home = pricing(berlin, [
      tariff(allDay(0.2), { id: 'trf_before', contractEnd: at('2025-06-15T00:00:00Z') }),
      tiered,
    ])
    const june = priced(
      home,
      ['2025-06-14T10:00:00Z', '2025-06-14T11:00:00Z', 20],
      ['2025-06-16T10:00:00Z', '2025-06-16T11:00:00Z', 6],
    )
    // The 20 kWh of the old contract fill no tier of the new one
    expect(lines(june)).toEqual(['20 kWh × 0.2 = 4', '5 kWh × 0.1 = 0.5', '1 kWh × 0.4 = 0.4'])
  })
})

describe('4 The clock on the wall changes, energy does not', () => {
  const nightly = tariff([band('02:00-03:00', 0.1), band('03:00-02:00', 0.3)])

  it('in spring the hour from two to three is missing', () => {
    // 01:00 to 04:00 on the clock are two hours
    expect(lines(priced(pricing(berlin, [nightly]), ['2025-03-30T00:00:00Z', '2025-03-30T02:00:00Z', 2]))).toEqual([
      '2 kWh × 0.3 = 0.6',
    ])
  })

  it('in autumn it comes twice', () => {
    // 01:00 to 04:00 on the clock are four hours
    expect(lines(priced(pricing(berlin, [nightly]), ['2025-10-25T23:00:00Z', '2025-10-26T03:00:00Z', 4]))).toEqual([
      '1 kWh × 0.3 = 0.3',
      '2 kWh × 0.1 = 0.2',
      '1 kWh × 0.3 = 0.3',
    ])
  })

  it('on Lord Howe Island it is half an hour', () => {
    // Set back at 02:00 to 01:30: the band from two on begins half an hour later in elapsed time; 01:00 to 03:00 are two and a half hours
    expect(
      lines(priced(pricing('Australia/Lord_Howe', [nightly]), ['2025-04-05T14:00:00Z', '2025-04-05T16:30:00Z', 5])),
    ).toEqual(['3 kWh × 0.3 = 0.9', '2 kWh × 0.1 = 0.2'])
  })
})
