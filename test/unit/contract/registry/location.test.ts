import { describe, expect, it } from 'vitest'
import { readShape } from '../../../../services/contract/read-shape.ts'
import { locationCreate, locationCreation, locationUpdate } from '../../../../services/contract/registry/location.ts'

const address = { city: 'Berlin', country_code: 'de' }
const nothing = {
  referenceId: null,
  displayName: null,
  customerId: null,
  postalAddress: null,
  timezone: null,
  currencyCode: null,
  importSourceId: null,
  exportSourceId: null,
  register: null,
  calendarId: null,
  metadata: {},
}

describe('the body that creates a location', () => {
  it('has null values for absent and null members', () => {
    const nulls = {
      reference_id: null,
      customer_id: null,
      postal_address: null,
      timezone: null,
      currency_code: null,
      market_sources: null,
    }
    expect(readShape(locationCreation, {}, 'body')).toEqual({ ok: true, value: nothing })
    expect(readShape(locationCreation, { ...nulls, metadata: null }, 'body')).toEqual({ ok: true, value: nothing })
  })

  it('has an address with all parts, and the country in capitals', () => {
    expect(
      readShape(
        locationCreation,
        { postal_address: address, currency_code: 'eur', market_sources: { import: 'mrs_1' } },
        'body',
      ),
    ).toEqual({
      ok: true,
      value: {
        ...nothing,
        postalAddress: {
          address_line1: null,
          address_line2: null,
          city: 'Berlin',
          state: null,
          post_code: null,
          country_code: 'DE',
        },
        currencyCode: 'EUR',
        importSourceId: 'mrs_1',
      },
    })
  })

  it.each([
    [
      'a country name instead of a code',
      { postal_address: { ...address, country_code: 'Germany' } },
      'field_invalid',
      'postal_address.country_code',
    ],
    ['no country', { postal_address: { city: 'Berlin' } }, 'field_required', 'postal_address.country_code'],
    ['no city', { postal_address: { country_code: 'DE' } }, 'field_required', 'postal_address.city'],
    ['a currency name instead of a code', { currency_code: 'Euro' }, 'field_invalid', 'currency_code'],
    ['an unknown source direction', { market_sources: { local: 'mrs_1' } }, 'unknown_field', 'market_sources.local'],
    ['a server-owned member', { tariff_status: {} }, 'unknown_field', 'tariff_status'],
    ['a reference of 256 characters', { reference_id: 'x'.repeat(256) }, 'field_too_long', 'reference_id'],
    ['a number as metadata', { metadata: { floor: 3 } }, 'field_invalid', 'metadata.floor'],
    [
      '21 texts of metadata',
      { metadata: Object.fromEntries(Array.from({ length: 21 }, (_, i) => [`k${i}`, 'v'])) },
      'field_invalid',
      'metadata',
    ],
  ])('refuses %s', (_, body, code, field) => {
    expect(readShape(locationCreation, body, 'body')).toMatchObject({ ok: false, refusal: { code, field } })
  })

  it.each(['us', 'CA', 'AU'])('refuses a city in %s without its state', country => {
    const body = { postal_address: { city: 'Portland', country_code: country } }
    const refusal = { code: 'geo_location_not_found', field: 'postal_address.state' }
    expect(readShape(locationCreation, body, 'body')).toMatchObject({ ok: false, refusal })
  })

  it.each(['address_line1', 'address_line2', 'state', 'post_code'])('refuses a blank %s', part => {
    expect(readShape(locationCreation, { postal_address: { ...address, [part]: '' } }, 'body')).toMatchObject({
      ok: false,
      refusal: { code: 'field_invalid', field: `postal_address.${part}` },
    })
  })
})

describe('the body that changes a location', () => {
  it('changes only the members that it has', () => {
    const change = (body: object): unknown => {
      const read = readShape(locationUpdate.body ?? locationCreation, body, 'body')
      return read.ok && 'change' in read.value ? read.value.change : read
    }
    expect(change({})).toEqual({})
    expect(change({ timezone: null, market_sources: { export: null } })).toEqual({
      timezone: null,
      exportSourceId: null,
    })
    const cleared = { importSourceId: null, exportSourceId: null, metadata: {} }
    expect(change({ market_sources: null, metadata: null })).toEqual(cleared)
  })
})

describe('the reference page', () => {
  it.each([locationCreate, locationUpdate])('shows valid bodies and answers of $id', ({ body, answer, examples }) => {
    expect(body?.safeParse(examples?.body).success).toBe(true)
    expect(answer.shape.safeParse(examples?.answer).success).toBe(true)
  })
})
