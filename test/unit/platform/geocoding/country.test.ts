import { describe, expect, test } from 'vitest'
import { currencyOf, isCountry, isCurrency } from '../../../../services/platform/geocoding/country.ts'

describe('currencies', () => {
  test.each([
    ['HR', 'EUR', 'the euro came in 2023'],
    ['BG', 'EUR', 'the euro came in 2026'],
    ['CW', 'XCG', 'the guilder of the Antilles ended in 2025'],
    ['SX', 'XCG', 'the guilder of the Antilles ended in 2025'],
    ['ZW', 'ZWG', 'the gold-backed dollar came in 2024'],
    ['SL', 'SLE', 'three digits were cut in 2022'],
    ['VE', 'VES', 'the bolívar soberano'],
    ['CU', 'CUP', 'the convertible peso ended in 2021'],
    ['MR', 'MRU', 'one digit was cut in 2018'],
    ['ST', 'STN', 'three digits were cut in 2018'],
    ['BY', 'BYN', 'four digits were cut in 2016'],
    ['LI', 'CHF', 'shares the Swiss franc'],
    ['XK', 'EUR', 'uses the euro'],
    ['SV', 'USD', 'uses the dollar'],
  ])('%s pays in %s: %s', (country, currency) => {
    expect(currencyOf(country)).toBe(currency)
  })

  test.each(['EUR', 'CHF', 'USD', 'XCG', 'ZWG', 'XOF'])('%s is a currency', code => {
    expect(isCurrency(code)).toBe(true)
  })

  test.each(['', 'eur', 'DEM', 'HRK', 'BGN', 'ANG', 'ZWL', 'SLL', 'XXX', 'XAU', 'EURO'])('%j is none', code => {
    expect(isCurrency(code)).toBe(false)
  })

  test('Kosovo counts as a country, the Netherlands Antilles no longer do', () => {
    expect([isCountry('XK'), isCountry('AN'), isCountry('de')]).toEqual([true, false, false])
  })
})
