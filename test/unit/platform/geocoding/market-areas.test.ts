import { describe, expect, it } from 'vitest'
import { unambiguousArea } from '../../../../services/domain/geocoding/market-areas.ts'
import { citiesOf } from '../../../../services/platform/geocoding/city-table.ts'
import { marketAreasOf } from '../../../../services/platform/geocoding/geocode.ts'

describe('the market areas of an address', () => {
  it.each([
    ['a city inside an area', { city: 'Stockholm', country_code: 'SE' }, ['SE3']],
    ['a city near a drawn border', { city: 'Oskarshamn', country_code: 'SE' }, ['SE3', 'SE4', 'SE1', 'SE2']],
    ['a country of one area', { city: 'Nowhere at all', country_code: 'AT' }, ['AT']],
    ['a country that shares an area', { city: 'Luxembourg', country_code: 'LU' }, ['DE-LU']],
    ['an unknown city', { city: 'Nowhere at all', country_code: 'DK' }, ['DK1', 'DK2']],
    ['an Italian city', { city: 'Palermo', country_code: 'IT' }, ['IT-SICI']],
    ['a country whose zone is taken on request', { city: 'Belgrade', country_code: 'RS' }, ['RS']],
    ['an Atlantic island', { city: 'Funchal', country_code: 'PT' }, []],
    ['a country without prices', { city: 'Tokyo', country_code: 'JP' }, []],
  ])('are, of %s, %o: %o', (_, address, areas) => {
    expect(marketAreasOf(address)).toEqual(areas)
  })

  it('are the areas of all cities with the same name and the other areas of the country, unless a post code decides', () => {
    const undecided = citiesOf('IT')
      .map(({ name }) => name)
      .filter((name, index, all) => all.indexOf(name) !== index)
      .filter(city => marketAreasOf({ city, country_code: 'IT' }).length > 1)
    expect(undecided.length).toBeGreaterThan(0)
    for (const city of undecided) {
      expect(marketAreasOf({ city, country_code: 'IT' }).toSorted()).toEqual([
        'IT-CALA',
        'IT-CNOR',
        'IT-CSUD',
        'IT-NORD',
        'IT-SARD',
        'IT-SICI',
        'IT-SUD',
      ])
      expect(unambiguousArea(marketAreasOf({ city, country_code: 'IT' }))).toBeNull()
      expect(unambiguousArea(marketAreasOf({ city, post_code: '20100', country_code: 'IT' }))).toBe('IT-NORD')
    }
  })

  it('decide on one, or on the whole to which all others belong', () => {
    expect([['SE3'], ['SE3', 'SE4'], [], ['GB', 'GB-A', 'GB-B'], ['IT-NORD', 'IT-SUD']].map(unambiguousArea)).toEqual([
      ...['SE3', null, null, 'GB', null],
    ])
  })

  it('are all of Norway for an unknown place, and the country with its regions for Great Britain', () => {
    expect(marketAreasOf({ city: 'Nowhere at all', country_code: 'NO' })).toHaveLength(5)
    const british = marketAreasOf({ city: 'Leeds', country_code: 'GB' })
    expect(british[0]).toBe('GB')
    expect(british).toHaveLength(15)
  })
})
