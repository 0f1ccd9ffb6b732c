import fc from 'fast-check'
import { describe, expect, it, test as property } from 'vitest'
import { z } from 'zod'
import {
  clearable,
  fields,
  identifier,
  instant,
  integer,
  listOf,
  oneOf,
  optional,
  scaledDecimal,
  text,
} from '../../../services/contract/field.ts'
import { exactNumber } from '../../../services/contract/json/exact-number.ts'
import { parseJson } from '../../../services/contract/json/strict-json.ts'
import { nearestName } from '../../../services/contract/message-text.ts'
import { flag, instantParameter, parameters, wholeNumber } from '../../../services/contract/parameter.ts'
import { readShape } from '../../../services/contract/read-shape.ts'
import { acceptedValue } from '../../support/accepted-value.ts'

const parsed = (json: string): unknown => {
  return acceptedValue(parseJson(new TextEncoder().encode(json)))
}

const price = scaledDecimal({ scale: 9, min: -(10n ** 15n), max: 10n ** 15n })

const shape = fields({
  units: optional(oneOf('W', 'KW', 'WH')),
  count: optional(integer({ min: 1, max: 3 })),
  price: optional(price),
  at: optional(instant),
  id: optional(identifier('loc')),
  note: clearable(text({ min: 0, max: 3 })),
  power: optional(fields({ value: scaledDecimal({ scale: 6, min: 0n, max: 10n ** 12n }), unit: oneOf('W') })),
  either: optional(z.union([text(), fields({ name: text() })])),
  list: optional(listOf(fields({ hour: integer({ min: 0, max: 23 }) }), { min: 1, max: 2 })),
})

describe('a body', () => {
  it.each([
    ['{"units":"KWH"}', 'field_invalid', 'units', 'units must be W, KW or WH'],
    ['{"units":1}', 'field_invalid', 'units', 'units must be W, KW or WH'],
    ['{"count":0}', 'value_out_of_range', 'count', /^count must be/],
    ['{"count":4}', 'value_out_of_range', 'count', /^count must be/],
    ['{"count":1.5}', 'field_invalid', 'count', /^count must/],
    ['{"count":"1"}', 'field_invalid', 'count', 'count must be a whole number'],
    ['{"count":1e400}', 'value_out_of_range', 'count', /^count must be/],
    ['{"price":0.12345678901234567}', 'field_invalid', 'price', /^price must have at most/],
    ['{"price":1000000.0000000001}', 'field_invalid', 'price', /^price must have at most/],
    ['{"price":1000000.000000001}', 'value_out_of_range', 'price', /^price must be/],
    ['{"at":"2025-02-30T00:00:00Z"}', 'field_invalid', 'at', /^at must be an RFC 3339 date/],
    ['{"at":"2025-02-03 00:00:00Z"}', 'field_invalid', 'at', /^at must be an RFC 3339 date/],
    ['{"at":0}', 'field_invalid', 'at', 'at must be a string'],
    ['{"id":""}', 'field_invalid', 'id', 'id must not be empty'],
    ['{"note":"abcd"}', 'field_too_long', 'note', 'note must have at most 3 characters'],
    ['{"power":{"value":1}}', 'field_required', 'power.unit', 'unit is required'],
    ['{"power":{"value":1,"unit":"V"}}', 'field_invalid', 'power.unit', 'unit must be W'],
    ['{"power":{"value":-1,"unit":"W"}}', 'value_out_of_range', 'power.value', /^value must be/],
    [
      '{"power":{"value":1,"unit":"W","valu":2}}',
      'unknown_field',
      'power.valu',
      '"valu" is not known here; did you mean value?',
    ],
    ['{"power":[]}', 'field_invalid', 'power', 'power must be an object'],
    ['{"either":{"name":""}}', 'field_invalid', 'either.name', 'name must not be empty'],
    ['{"list":[]}', 'value_out_of_range', 'list', 'list must not be empty'],
    ['{"list":[{"hour":1},{"hour":1},{"hour":1}]}', 'value_out_of_range', 'list', 'list must have at most 2 entries'],
    ['{"list":[{"hour":1},{"hour":24}]}', 'value_out_of_range', 'list[1].hour', /^hour must be/],
    ['{"list":[1]}', 'field_invalid', 'list[0]', 'list[0] must be an object'],
    ['{"list":{}}', 'field_invalid', 'list', 'list must be a list'],
    ['[]', 'field_invalid', undefined, 'The body must be an object'],
  ])('%s is refused with code, field and message', (json, code, field, message) => {
    const read = readShape(shape, parsed(json), 'body')
    expect(read.ok ? null : read.refusal).toEqual({
      code,
      message: typeof message === 'string' ? message : expect.stringMatching(message),
      ...(field === undefined ? {} : { field }),
    })
  })

  it.each([
    ['{"count":1.0,"price":-1e6,"note":"","units":"WH"}', { count: 1, price: -(10n ** 15n), note: '', units: 'WH' }],
    ['{"count":3,"price":0.000000001,"note":null}', { count: 3, price: 1n, note: null }],
    ['{"count":null,"price":null,"at":null}', {}],
    ['{"at":"2025-01-01t01:00:00.1239+01:00"}', { at: { at: 1_735_689_600_123, offsetMinutes: 60 } }],
    ['{"list":[{"hour":0},{"hour":23}]}', { list: [{ hour: 0 }, { hour: 23 }] }],
  ])('%s is accepted', (json, value) => {
    expect(readShape(shape, parsed(json), 'body')).toEqual({ ok: true, value })
  })

  property('gives every price within its range exactly', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: -(10n ** 15n), max: 10n ** 15n }), units => {
        const sign = units < 0n ? '-' : ''
        const digits = (units < 0n ? -units : units).toString().padStart(10, '0')
        const written = `${sign}${digits.slice(0, -9)}.${digits.slice(-9)}`
        expect(readShape(z.object({ price }), parsed(`{"price":${written}}`), 'body')).toEqual({
          ok: true,
          value: { price: units },
        })
      }),
    )
  })

  it('accepts a number as a double and as its text', () => {
    expect(readShape(price, exactNumber('0.50'), 'body')).toEqual(readShape(price, 0.5, 'body'))
  })
})

describe('a query', () => {
  const query = parameters({
    loud: flag.optional(),
    limit: wholeNumber({ min: 1, max: 100 }).default(30),
    at: instantParameter.optional(),
  })

  it.each([
    [{ loud: 'yes' }, 'loud must be true or false'],
    [{ loud: '' }, 'loud must be true or false'],
    [{ limit: '0' }, 'limit must be a whole number from 1 to 100'],
    [{ limit: '101' }, 'limit must be a whole number from 1 to 100'],
    [{ limit: ' 5' }, 'limit must be a whole number from 1 to 100'],
    [{ limit: '0x5' }, 'limit must be a whole number from 1 to 100'],
    [{ at: 'yesterday' }, 'at must be an RFC 3339 date and time with an offset, such as 2026-03-29T01:00:00+01:00'],
    [
      { at: '2025-01-01T00:00:00  01:00' },
      'at must be an RFC 3339 date and time with an offset, such as 2026-03-29T01:00:00+01:00',
    ],
  ])('%j is refused', (value, message) => {
    expect(readShape(query, value, 'query')).toMatchObject({ ok: false, refusal: { message } })
  })

  it('reads flags in upper and lower case, counts, and a + that arrived as a space', () => {
    expect(readShape(query, { loud: 'tRuE', limit: '100', at: '2025-01-01T00:00:00 01:00' }, 'query')).toEqual({
      ok: true,
      value: { loud: true, limit: 100, at: { at: 1_735_686_000_000, offsetMinutes: 60 } },
    })
  })
})

describe('the nearest name', () => {
  it.each([
    ['startTime', ['start_time', 'end_time'], 'start_time'],
    ['location-id', ['location_id', 'device_id'], 'location_id'],
    ['devise_id', ['location_id', 'device_id'], 'device_id'],
    ['colour', ['units', 'value'], undefined],
    ['x'.repeat(100_000), ['units'], undefined],
  ])('of %s is found if a similar name exists', (unknown, known, nearest) => {
    expect(nearestName(unknown, known)).toBe(nearest)
  })
})
