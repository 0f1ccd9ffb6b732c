import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { lookUpKeys, nameKey } from '../../../../services/domain/geocoding/city-name.ts'
import { citiesNamed, citiesOf } from '../../../../services/platform/geocoding/city-table.ts'
import { cityNames, countriesWithExonyms } from '../../../../services/platform/geocoding/exonym.ts'
import { geocode } from '../../../../services/platform/geocoding/geocode.ts'
import { geocodeTextOrFail } from '../../../support/registry/geocoding.ts'

describe('a name', () => {
  test.each([
    ['Köln', 'KOELN', 'koln', 'Cologne', ' Köln ', 'Köln-Deutz', 'Köln (Altstadt)', '50667 Köln'],
    ['Frankfurt am Main', 'Frankfurt', 'Frankfurt a.M.', 'Frankfurt a. Main', 'Frankfurt/Main', 'Frankfurt-Höchst'],
    ['Halle (Saale)', 'Halle', 'Halle/Saale', 'Halle an der Saale'],
  ])('%s is the same city in each of its spellings', (...spellings) => {
    expect(new Set(spellings.map(spelling => JSON.stringify(geocodeTextOrFail(`${spelling}, DE`)))).size).toBe(1)
  })

  test('is found without case, diacritics and punctuation, for all cities', { timeout: 120_000 }, () => {
    const cities = ['DE', 'FR', 'SE', 'PL', 'US'].flatMap(country => citiesOf(country))
    const spellings = fc.constantFrom<(name: string) => string>(
      name => name.toUpperCase(),
      name => name.toLowerCase(),
      name => name.normalize('NFD'),
      name => name.normalize('NFD').replace(/\p{M}/gu, ''),
      name => name.replace(/[-'’. ]+/g, ' '),
    )
    fc.assert(
      fc.property(fc.constantFrom(...cities), spellings, (city, spell) => {
        const [key = ''] = lookUpKeys(spell(city.name))
        expect(citiesNamed(city.country, key).some(({ lat, lng }) => lat === city.lat && lng === city.lng)).toBe(true)
      }),
    )
  })

  test('in another language leads to a city of the data, for every name listed', { timeout: 120_000 }, () => {
    const lost = countriesWithExonyms().flatMap(country =>
      cityNames(country).flatMap(names =>
        names.filter(name => {
          const result = geocode({ city: name, country_code: country })
          return !(result.ok && result.value.geoLocation !== null)
        }),
      ),
    )
    expect(lost).toEqual([])
  })

  test.each([
    ['Σόφια', 'sofia'],
    ['Йена', 'jena'],
    ['Straße', 'strasse'],
    ['Saint-Étienne', 'stetienne'],
    ['Łódź', 'lodz'],
    ["'s-Gravenhage", 'sgravenhage'],
    ['東京', '東京'],
  ])('%s has the key %s', (name, key) => {
    expect(nameKey(name)).toBe(key)
  })
})
