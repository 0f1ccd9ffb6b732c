import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { PostalAddress } from '../../../../services/domain/geocoding/geo-place.ts'
import { citiesOf } from '../../../../services/platform/geocoding/city-table.ts'
import { isCurrency } from '../../../../services/platform/geocoding/country.ts'
import { geocode } from '../../../../services/platform/geocoding/geocode.ts'
import { zoneAt } from '../../../../services/platform/geocoding/zone-at.ts'
import { timeZone } from '../../../../services/platform/time-zone.ts'
import { leastCpuTimeMs } from '../../../support/cpu/cpu-time.ts'
import { geocodeOrFail, geocodeTextOrFail } from '../../../support/registry/geocoding.ts'

type Case = {
  readonly name: string
  readonly postal_address: PostalAddress
  readonly expected: {
    readonly timezone: string
    readonly currency_code: string
    readonly market_area: string | null
    readonly geo_location: { readonly lat: number; readonly lng: number }
  }
}

const cases: readonly Case[] = JSON.parse(
  readFileSync(new URL('../../../acceptance/addresses.json', import.meta.url), 'utf8'),
)

describe('200 public addresses in 75 countries', () => {
  test('the list is whole: 200 different places in at least 45 countries', () => {
    expect(new Set(cases.map(({ name }) => name)).size).toBe(200)
    expect(new Set(cases.map(({ postal_address }) => postal_address.country_code)).size).toBeGreaterThanOrEqual(45)
  })

  test.each(cases)('$name is placed', ({ postal_address, expected }) => {
    const { timeZone: zone, currencyCode, marketArea, geoLocation } = geocodeOrFail(postal_address)
    expect({ zone, currencyCode, marketArea }).toEqual({
      zone: expected.timezone,
      currencyCode: expected.currency_code,
      marketArea: expected.market_area,
    })
    expect(Math.abs((geoLocation?.lat ?? Number.NaN) - expected.geo_location.lat)).toBeLessThan(0.35)
    expect(Math.abs((geoLocation?.lng ?? Number.NaN) - expected.geo_location.lng)).toBeLessThan(0.35)
  })
})

describe('of cities of one name', () => {
  test.each([
    ['Portland, US', 45.5],
    ['Portland, ME, US', 43.7],
    ['Portland, Maine, US', 43.7],
    ['Springfield, IL, US', 39.8],
    ['Springfield, MA, US', 42.1],
    ['Newcastle, AU', -32.9],
    ['Newcastle upon Tyne, GB', 55.0],
    ['Bangor, Northern Ireland, GB', 54.7],
    ['Bangor, Wales, GB', 53.2],
  ])('%s lies at latitude %d: the state decides, else the most people', (text, latitude) => {
    expect(geocodeTextOrFail(text).geoLocation?.lat).toBeCloseTo(latitude, 0)
  })

  test('the post code decides if it determines the region', () => {
    expect(geocodeOrFail({ city: 'San Juan', post_code: '38435', country_code: 'ES' }).timeZone).toBe('Atlantic/Canary')
    expect(geocodeOrFail({ city: 'Samone', post_code: '10010', country_code: 'IT' }).marketArea).toBe('IT-NORD')
    expect(geocodeOrFail({ city: 'Saint-Denis', post_code: '97400', country_code: 'FR' }).timeZone).toBe(
      'Indian/Reunion',
    )
    expect(geocodeOrFail({ city: 'St Helier', post_code: 'JE2 3NG', country_code: 'GB' }).timeZone).toBe(
      'Europe/Jersey',
    )
    expect(geocodeOrFail({ city: 'San Juan', state: 'PR', country_code: 'US' }).timeZone).toBe('America/Puerto_Rico')
  })
})

describe('a city that is not in the data', () => {
  test.each([
    [{ city: 'Nirgendhausen', country_code: 'DE' }, 'Europe/Berlin', 'EUR', 'DE-LU'],
    [{ city: 'Nowhereville', state: 'OH', country_code: 'US' }, 'America/New_York', 'USD', 'PJM'],
    [{ city: 'Nowhereville', state: 'Queensland', country_code: 'AU' }, 'Australia/Brisbane', 'AUD', 'QLD1'],
    [{ city: 'Nowhereville', post_code: 'BT1 1AA', country_code: 'GB' }, 'Europe/London', 'GBP', 'IE'],
    [{ city: 'Nowhereville', post_code: 'TR1 1AA', country_code: 'GB' }, 'Europe/London', 'GBP', 'GB'],
    [{ city: 'Ingensted', post_code: '4000', country_code: 'DK' }, 'Europe/Copenhagen', 'DKK', 'DK2'],
    [{ city: 'Ningures', post_code: '15001', country_code: 'ES' }, 'Europe/Madrid', 'EUR', 'ES'],
    [{ city: 'Ninguna', post_code: '35600', country_code: 'ES' }, 'Atlantic/Canary', 'EUR', 'ES'],
    [{ city: 'Nenhures', post_code: '9500-001', country_code: 'PT' }, 'Atlantic/Azores', 'EUR', null],
    [{ city: 'Nenhures', post_code: '7000-001', country_code: 'PT' }, 'Europe/Lisbon', 'EUR', 'PT'],
    [{ city: 'Askund', country_code: 'XK' }, 'Europe/Belgrade', 'EUR', null],
    [{ country_code: 'nl' }, 'Europe/Amsterdam', 'EUR', 'NL'],
  ])('%j is placed by state, post code or country', (address, zone, currency, area) => {
    expect(geocodeOrFail(address)).toEqual({
      timeZone: zone,
      currencyCode: currency,
      marketArea: area,
      geoLocation: null,
    })
  })

  test.each([
    { city: 'Nowhereville', country_code: 'US' },
    { city: 'Nowhereville', state: 'TX', country_code: 'US' },
    { city: 'Nowhereville', state: 'NSW', country_code: 'AU' },
    { city: 'Ninguna', country_code: 'ES' },
    { city: ' ', country_code: 'BR' },
    { city: 'Ingensteds', country_code: 'SE' },
    { city: 'Ingensteds', country_code: 'NO' },
    { city: 'Ingensted', country_code: 'DK' },
    { city: 'Nessundove', post_code: '00', country_code: 'IT' },
    { city: 'Nenhures', country_code: 'PT' },
    { city: 'Nowhereville', country_code: 'GB' },
  ])('%j is refused, since several zones or areas are left', address => {
    expect(geocode(address)).toMatchObject({
      ok: false,
      refusal: { code: 'geo_location_not_found', field: 'postal_address.city' },
    })
  })
})

test.each(['', 'D', 'DEU', '276', 'UK', 'EU', 'AN', 'ZZ', 'Đ'])('the country %j is refused', country_code => {
  expect(geocode({ city: 'Berlin', country_code })).toMatchObject({
    ok: false,
    refusal: { code: 'field_invalid', field: 'postal_address.country_code' },
  })
})

test('any text in an address gives a place or a refusal', { timeout: 120_000 }, () => {
  const text = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 255 }),
    fc.constantFrom('constructor', '__proto__', 'toString', '(((', '- - -', '', ' '),
  )
  const country_code = fc.oneof(text, fc.constantFrom('US', 'FR', 'GB', 'FI', 'IT', 'CH', 'DE', 'AQ', 'BV', 'HM', 'XK'))
  fc.assert(
    fc.property(fc.record({ city: text, state: text, post_code: text, country_code }), address => {
      const result = geocode(address)
      if (result.ok)
        expect([timeZone(result.value.timeZone)?.name, isCurrency(result.value.currencyCode)]).toEqual([
          result.value.timeZone,
          true,
        ])
      else expect(['field_invalid', 'geo_location_not_found']).toContain(result.refusal.code)
    }),
    { numRuns: 500 },
  )
})

const areas = {
  SE: {
    SE1: 'Luleå Kiruna Skellefteå',
    SE2: 'Umeå Östersund Sundsvall Söderhamn Hudiksvall Bollnäs',
    SE3: 'Stockholm Göteborg Uppsala Gävle Mora Falun Visby Jönköping Vetlanda Oskarshamn Varberg Falkenberg',
    SE4: 'Malmö Halmstad Växjö Kalmar Karlskrona Gislaved Värnamo',
  },
  NO: {
    NO1: 'Oslo Hamar Lillehammer Drammen Kongsberg Elverum Kongsvinger Tønsberg',
    NO2: 'Kristiansand Stavanger Haugesund Arendal Skien Notodden',
    NO3: 'Trondheim Molde Ålesund Førde Florø Røros Namsos',
    NO4: 'Tromsø Bodø Narvik Alta Mosjøen Brønnøysund',
    NO5: 'Bergen Voss Odda Geilo Gol Sogndal Fagernes',
  },
  DK: {
    DK1: 'Aarhus Aalborg Esbjerg Odense Nyborg Rudkøbing Skagen',
    DK2: 'København Korsør Roskilde Helsingør Slagelse Rønne',
  },
}

test.each(
  Object.entries(areas).flatMap(([country, names]) =>
    Object.entries(names).map(([area, cities]) => [area, country, cities] as const),
  ),
)('%s holds its towns', (area, country, cities) => {
  const wrong = cities.split(' ').filter(city => geocodeTextOrFail(`${city}, ${country}`).marketArea !== area)
  expect(wrong).toEqual([])
})

test('every city of the data has a zone that exists', { timeout: 180_000 }, () => {
  const countries = [
    'US',
    'CA',
    'AU',
    'BR',
    'MX',
    'DE',
    'ES',
    'VN',
    'UA',
    'IN',
    'XK',
    'AQ',
    'KI',
    'FM',
    'GL',
    'CD',
    'ID',
    'KZ',
  ]
  const zones = new Set(countries.flatMap(country => citiesOf(country).map(city => zoneAt(country, city))))
  expect(zones.size).toBeGreaterThan(100)
  expect([...zones].filter(zone => timeZone(zone)?.name !== zone)).toEqual([])
})

test('a known city is placed again in less than 0.2 ms of CPU time', async () => {
  geocodeOrFail({ city: 'Sundsvall', country_code: 'SE' })
  const placeOften = (): void => {
    for (let round = 0; round < 100; round += 1) geocodeOrFail({ city: 'Sundsvall', country_code: 'SE' })
  }
  expect(await leastCpuTimeMs(20, placeOften)).toBeLessThan(20)
})

describe('an address that cannot be placed', () => {
  test.each([
    ['US', undefined, 'check spelling and post code, add the state, or give timezone and currency_code.'],
    ['US', 'Nowhere', 'check spelling and post code or give timezone and currency_code.'],
    ['BR', undefined, 'check spelling and post code or give timezone and currency_code.'],
  ])('in %s with the state %s names the missing input', (country_code, state, advice) => {
    const address = { city: 'Xyzzyville', country_code, ...(state === undefined ? {} : { state }) }
    const message = `The city "Xyzzyville" cannot be placed in ${country_code}: ${advice}`
    expect(geocode(address as PostalAddress)).toMatchObject({ ok: false, refusal: { message } })
  })
})
