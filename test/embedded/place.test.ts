import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { nameKey, writtenKeys } from '../../services/platform/place/city-name.ts'
import { citiesNamed, citiesOf } from '../../services/platform/place/city-table.ts'
import { currencyOf, isCountry, isCurrency } from '../../services/platform/place/country.ts'
import { cityNames, countriesWithExonyms } from '../../services/platform/place/exonym.ts'
import { type Place, type PostalAddress, placeOf } from '../../services/platform/place/place.ts'
import { zoneAt } from '../../services/platform/place/zone-at.ts'
import { timeZone } from '../../services/platform/time-zone.ts'

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

const cases: readonly Case[] = JSON.parse(readFileSync(new URL('../acceptance/addresses.json', import.meta.url), 'utf8'))

function placed(address: PostalAddress): Place {
  const result = placeOf(address)
  return result.ok ? result.value : expect.fail(result.refusal.message)
}

/** Place a city by its text alone: `Portland, ME, US`. */
function placedText(text: string): Place {
  const parts = text.split(', ')
  return placed({ city: parts[0], state: parts.length > 2 ? parts[1] : undefined, country_code: parts.at(-1) ?? '' })
}

describe('200 public addresses in 75 countries', () => {
  test('the list is whole: 200 different places in at least 45 countries', () => {
    expect(new Set(cases.map(({ name }) => name)).size).toBe(200)
    expect(new Set(cases.map(({ postal_address }) => postal_address.country_code)).size).toBeGreaterThanOrEqual(45)
  })

  test.each(cases)('$name is placed', ({ postal_address, expected }) => {
    const { timeZone: zone, currencyCode, marketArea, geoLocation } = placed(postal_address)
    expect({ zone, currencyCode, marketArea }).toEqual({
      zone: expected.timezone,
      currencyCode: expected.currency_code,
      marketArea: expected.market_area,
    })
    expect(Math.abs((geoLocation?.lat ?? Number.NaN) - expected.geo_location.lat)).toBeLessThan(0.35)
    expect(Math.abs((geoLocation?.lng ?? Number.NaN) - expected.geo_location.lng)).toBeLessThan(0.35)
  })
})

describe('a name', () => {
  test.each([
    ['Köln', 'KOELN', 'koln', 'Cologne', ' Köln ', 'Köln-Deutz', 'Köln (Altstadt)', '50667 Köln'],
    ['Frankfurt am Main', 'Frankfurt', 'Frankfurt a.M.', 'Frankfurt a. Main', 'Frankfurt/Main', 'Frankfurt-Höchst'],
    ['Halle (Saale)', 'Halle', 'Halle/Saale', 'Halle an der Saale'],
  ])('%s is the same city in each of its spellings', (...spellings) => {
    expect(new Set(spellings.map(spelling => JSON.stringify(placedText(`${spelling}, DE`)))).size).toBe(1)
  })

  test('is found without case, diacritics and punctuation, whichever city', () => {
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
        const [key = ''] = writtenKeys(spell(city.name))
        expect(citiesNamed(city.country, key).some(({ lat, lng }) => lat === city.lat && lng === city.lng)).toBe(true)
      }),
    )
  })

  test('in another language leads to a city of the data, for every name listed', () => {
    const lost = countriesWithExonyms().flatMap(country =>
      cityNames(country).flatMap(names =>
        names.filter(name => {
          const result = placeOf({ city: name, country_code: country })
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
    expect(placedText(text).geoLocation?.lat).toBeCloseTo(latitude, 0)
  })

  test('the post code decides where it tells the region', () => {
    expect(placed({ city: 'San Juan', post_code: '38435', country_code: 'ES' }).timeZone).toBe('Atlantic/Canary')
    expect(placed({ city: 'Samone', post_code: '10010', country_code: 'IT' }).marketArea).toBe('IT-NORD')
    expect(placed({ city: 'Saint-Denis', post_code: '97400', country_code: 'FR' }).timeZone).toBe('Indian/Reunion')
    expect(placed({ city: 'St Helier', post_code: 'JE2 3NG', country_code: 'GB' }).timeZone).toBe('Europe/Jersey')
    expect(placed({ city: 'San Juan', state: 'PR', country_code: 'US' }).timeZone).toBe('America/Puerto_Rico')
  })
})

describe('a city that is not in the data', () => {
  test.each([
    [{ city: 'Nirgendhausen', country_code: 'DE' }, 'Europe/Berlin', 'EUR', 'DE-LU'],
    [{ city: 'Ingensteds', country_code: 'SE' }, 'Europe/Stockholm', 'SEK', null],
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
    expect(placed(address)).toEqual({ timeZone: zone, currencyCode: currency, marketArea: area, geoLocation: null })
  })

  test.each([
    { city: 'Nowhereville', country_code: 'US' },
    { city: 'Nowhereville', state: 'TX', country_code: 'US' },
    { city: 'Nowhereville', state: 'NSW', country_code: 'AU' },
    { city: 'Ninguna', country_code: 'ES' },
    { city: ' ', country_code: 'BR' },
  ])('%j is refused, since several zones are left', address => {
    expect(placeOf(address)).toMatchObject({ ok: false, refusal: { code: 'geo_location_not_found', field: 'postal_address.city' } })
  })
})

test.each(['', 'D', 'DEU', '276', 'UK', 'EU', 'AN', 'ZZ', 'Đ'])('the country %j is refused', country_code => {
  expect(placeOf({ city: 'Berlin', country_code })).toMatchObject({
    ok: false,
    refusal: { code: 'field_invalid', field: 'postal_address.country_code' },
  })
})

test('whatever is written, an address is placed or refused', () => {
  const text = fc.oneof(
    fc.string({ unit: 'binary', maxLength: 255 }),
    fc.constantFrom('constructor', '__proto__', 'toString', '(((', '- - -', '', ' '),
  )
  const country_code = fc.oneof(text, fc.constantFrom('US', 'FR', 'GB', 'FI', 'IT', 'CH', 'DE', 'AQ', 'BV', 'HM', 'XK'))
  fc.assert(
    fc.property(fc.record({ city: text, state: text, post_code: text, country_code }), address => {
      const result = placeOf(address)
      if (result.ok)
        expect([timeZone(result.value.timeZone)?.name, isCurrency(result.value.currencyCode)]).toEqual([result.value.timeZone, true])
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
  DK: { DK1: 'Aarhus Aalborg Esbjerg Odense Nyborg Rudkøbing Skagen', DK2: 'København Korsør Roskilde Helsingør Slagelse Rønne' },
}

test.each(
  Object.entries(areas).flatMap(([country, names]) => Object.entries(names).map(([area, cities]) => [area, country, cities] as const)),
)('%s holds its towns', (area, country, cities) => {
  const wrong = cities.split(' ').filter(city => placedText(`${city}, ${country}`).marketArea !== area)
  expect(wrong).toEqual([])
})

test('every city of the data has a zone that exists', { timeout: 60_000 }, () => {
  const countries = ['US', 'CA', 'AU', 'BR', 'MX', 'DE', 'ES', 'VN', 'UA', 'IN', 'XK', 'AQ', 'KI', 'FM', 'GL', 'CD', 'ID', 'KZ']
  const zones = new Set(countries.flatMap(country => citiesOf(country).map(city => zoneAt(country, city))))
  expect(zones.size).toBeGreaterThan(100)
  expect([...zones].filter(zone => timeZone(zone)?.name !== zone)).toEqual([])
})

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

test('a known city is placed again in less than 0.2 ms', () => {
  placed({ city: 'Sundsvall', country_code: 'SE' })
  const start = performance.now()
  for (let round = 0; round < 1000; round += 1) placed({ city: 'Sundsvall', country_code: 'SE' })
  expect((performance.now() - start) / 1000).toBeLessThan(0.2)
})
