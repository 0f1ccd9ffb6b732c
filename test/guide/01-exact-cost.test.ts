import { describe, expect, it } from 'vitest'
import { energyCost } from '../../services/domain/cost/energy-cost.ts'
import { costOf, readEnergy } from '../../services/domain/quantity.ts'
import { decimal } from '../support/ledger/exact-decimal.ts'
import { allDay, at, band, kwh, nano, pricing, rate, tariff } from '../support/oracle/tables.ts'
import { zoneOf } from '../support/oracle/zone.ts'
import { lines, priced, totals } from '../support/tariffs/guide.ts'

/**
 * A record says how much energy passed from one instant to another. It costs energy × price.
 * Energy is a whole number of millionths of a Wh, a price and an amount of money one of billionths: nothing is ever a binary fraction.
 */
describe('1 A record has energy', () => {
  const energy = (text: string, units: 'W' | 'KW' | 'WH' | 'KWH', from: string, to: string) => {
    const read = readEnergy(text, units, at(to) - at(from))
    return read.ok ? `${decimal(read.value, 6)} Wh` : read.refusal.message
  }

  it('in Wh or kWh as it was metered', () => {
    expect(energy('1234.5', 'WH', '2025-06-01T10:00:00Z', '2025-06-01T10:15:00Z')).toBe('1234.5 Wh')
    expect(energy('1.2345', 'KWH', '2025-06-01T10:00:00Z', '2025-06-01T10:15:00Z')).toBe('1234.5 Wh')
  })

  it('or as constant power over the time between its two instants', () => {
    // 7.2 kW for a quarter of an hour: 7.2 / 4 = 1.8 kWh
    expect(energy('7.2', 'KW', '2025-06-01T10:00:00Z', '2025-06-01T10:15:00Z')).toBe('1800 Wh')
    // When the clock goes back, 02:00 to 03:00 on its face are two hours
    expect(energy('1', 'KW', '2025-10-26T02:00:00+02:00', '2025-10-26T03:00:00+01:00')).toBe('2000 Wh')
  })
})

describe('2 A record has a cost', () => {
  const flat = pricing('Europe/Berlin', [tariff(allDay(0.3))])

  it('of energy × price', () => {
    expect(lines(priced(flat, ['2025-06-01T10:00:00Z', '2025-06-01T10:15:00Z', 1.8]))).toEqual(['1.8 kWh × 0.3 = 0.54'])
  })

  it('in two pieces when the price changes in its midst: each gets energy by its time', () => {
    const evening = pricing('Europe/Berlin', [tariff([band('06:00-22:00', 0.3), band('22:00-06:00', 0.2)])])
    // 20:30 to 22:30 in Berlin: three quarters before ten, one after
    const costs = priced(evening, ['2025-06-01T18:30:00Z', '2025-06-01T20:30:00Z', 4])
    expect(lines(costs)).toEqual(['3 kWh × 0.3 = 0.9', '1 kWh × 0.2 = 0.2'])
    expect(totals(costs)).toEqual(['1.1'])
  })

  it('below zero when the price is: taking energy is paid for', () => {
    const surplus = pricing('Europe/Berlin', [tariff(allDay(-0.05))])
    expect(totals(priced(surplus, ['2025-06-01T10:00:00Z', '2025-06-01T11:00:00Z', 2]))).toEqual(['-0.1'])
  })

  it('at one instant when it has no length', () => {
    const evening = pricing('Europe/Berlin', [tariff([band('06:00-22:00', 0.3), band('22:00-06:00', 0.2)])])
    // 22:00 sharp in Berlin: a band holds from its first instant on
    expect(lines(priced(evening, ['2025-06-01T20:00:00Z', '2025-06-01T20:00:00Z', 5]))).toEqual(['5 kWh × 0.2 = 1'])
  })

  it('of energy and of the grid, when there is a tariff for each', () => {
    const grid = tariff(allDay(0.08), { id: 'trf_grid', type: 'NON_COMMODITY' })
    const both = pricing('Europe/Berlin', [tariff(allDay(0.22)), grid])
    expect(lines(priced(both, ['2025-06-01T10:00:00Z', '2025-06-01T11:00:00Z', 2]))).toEqual(['2 kWh × 0.3 = 0.6'])
  })

  it('that is not known without a tariff: the record is UNPRICED', () => {
    const [cost] = priced(pricing('Europe/Berlin', []), ['2025-06-01T10:00:00Z', '2025-06-01T11:00:00Z', 2])
    expect([cost?.status, cost?.cost]).toEqual(['UNPRICED', null])
  })
})

describe('3 Money is rounded once, half to even', () => {
  it('to a billionth', () => {
    // 0.333333333 × 0.3 = 0.0999999999
    expect(decimal(costOf(kwh(0.333333333), nano(0.3)), 9)).toBe('0.1')
    // Half a billionth goes to the even neighbour, so that rounding up and down are as frequent
    const halves = [0.5, 1.5, 2.5, 3.5].map(energy => costOf(kwh(energy), 1n))
    expect(halves).toEqual([0n, 2n, 2n, 4n])
  })

  it('after the price, which is rounded first', () => {
    // 0.123456789 × 1.19 = 0.14691357891, to a billionth 0.146913579; × 1000 kWh
    const taxed = tariff(allDay([rate(0.123456789, null, { surchargePercentage: nano(0.19) })]))
    expect(
      lines(priced(pricing('Europe/Berlin', [taxed]), ['2025-06-01T10:00:00Z', '2025-06-01T11:00:00Z', 1000])),
    ).toEqual(['1000 kWh × 0.146913579 = 146.913579'])
  })
})

describe('4 Parts add up to the whole', () => {
  const [start, end] = [at('2025-06-01T10:00:00Z'), at('2025-06-01T13:00:00Z')]
  const [cost] = priced(pricing('Europe/Berlin', [tariff(allDay(0.1))]), [
    '2025-06-01T10:00:00Z',
    '2025-06-01T13:00:00Z',
    1,
  ])
  const row = { start, end, energy: kwh(1), cost: nano(0.1), recordConfidence: 1_000_000, pieces: cost?.pieces ?? [] }
  const elements = energyCost({ start, end, timeZone: zoneOf('Europe/Berlin'), aggregation: 'HOUR' }, [row])

  it('a third of a kWh is not the same as another third', () => {
    // After one hour 333.333333 Wh have passed, after two 666.666667, after three 1000: the parts are the differences
    expect(elements.map(({ energy }) => decimal(energy, 6))).toEqual(['333.333333', '333.333334', '333.333333'])
    expect(elements.map(part => decimal(part.cost, 9))).toEqual(['0.033333333', '0.033333334', '0.033333333'])
  })

  it('so that nothing is lost between them', () => {
    expect(elements.reduce((sum, { energy }) => sum + energy, 0n)).toBe(kwh(1))
    expect(elements.reduce((sum, part) => sum + part.cost, 0n)).toBe(nano(0.1))
  })
})
