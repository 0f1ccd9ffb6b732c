import { describe, expect, it } from 'vitest'
import { marketAreasOf } from '../../services/platform/place/market-areas.ts'

describe('the market areas of an address', () => {
  it.each([
    ['a city inside an area', { city: 'Stockholm', country_code: 'SE' }, ['SE3']],
    ['a city near a drawn border', { city: 'Oskarshamn', country_code: 'SE' }, ['SE3', 'SE4']],
    ['a country of one area', { city: 'Nowhere at all', country_code: 'AT' }, ['AT']],
    ['a country that shares an area', { city: 'Luxembourg', country_code: 'LU' }, ['DE-LU']],
    ['a city that nobody knows', { city: 'Nowhere at all', country_code: 'DK' }, ['DK1', 'DK2']],
    ['an Italian city', { city: 'Palermo', country_code: 'IT' }, ['IT-SICI']],
    ['a country whose zone is taken on request', { city: 'Belgrade', country_code: 'RS' }, ['RS']],
    ['an Atlantic island', { city: 'Funchal', country_code: 'PT' }, []],
    ['a country without prices', { city: 'Tokyo', country_code: 'JP' }, []],
  ])('are, of %s, %o: %o', (_, address, areas) => {
    expect(marketAreasOf(address)).toEqual(areas)
  })

  it('are all of Norway for a place that nobody knows, and the whole and its regions for Great Britain', () => {
    expect(marketAreasOf({ city: 'Nowhere at all', country_code: 'NO' })).toHaveLength(5)
    const british = marketAreasOf({ city: 'Leeds', country_code: 'GB' })
    expect(british[0]).toBe('GB')
    expect(british).toHaveLength(15)
  })
})
