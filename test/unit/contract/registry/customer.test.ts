import { describe, expect, it } from 'vitest'
import { pageRequest } from '../../../../services/contract/list.ts'
import { readQuery, readShape } from '../../../../services/contract/read-shape.ts'
import {
  customerCreate,
  customerList,
  customerObject,
  customerShape,
  customerUpdate,
} from '../../../../services/contract/registry/customer.ts'

const create = (body: unknown) => readShape(customerCreate.body ?? expect.fail(), body, 'body')
const update = (body: unknown) => readShape(customerUpdate.body ?? expect.fail(), body, 'body')

const list = (search: string) => {
  const query = readQuery(search)
  return query.ok ? readShape(customerList.query ?? expect.fail(), query.value, 'query') : query
}

const refusal = (code: string, message: string, field: string) => ({ ok: false, refusal: { code, message, field } })

describe('a customer', () => {
  it('is written with all members', () => {
    const wire = customerObject.toWire({
      id: 'cus_1',
      accountId: 'acc_1',
      liveMode: true,
      referenceId: null,
      displayName: 'Meyer',
      locationIds: [],
      metadata: { a: 'b' },
      createdAt: 0,
    })
    expect(customerShape.strict().parse(wire)).toEqual(wire)
    expect(wire.time_created).toBe('1970-01-01T00:00:00Z')
  })

  it('can be created without members; null means absent', () => {
    const value = { referenceId: null, displayName: null, metadata: {} }
    expect(create({})).toEqual({ ok: true, value })
    expect(create({ reference_id: null, metadata: null })).toEqual({ ok: true, value })
  })

  it('keeps members that a PATCH omits and clears members that a PATCH sets to null', () => {
    expect(update({})).toEqual({ ok: true, value: { sent: {}, change: {} } })
    expect(update({ reference_id: null, metadata: null })).toEqual({
      ok: true,
      value: { sent: { reference_id: null, metadata: {} }, change: { referenceId: null, metadata: {} } },
    })
  })

  it.each([
    [
      { reference_id: 'x'.repeat(256) },
      'field_too_long',
      'reference_id must have at most 255 characters',
      'reference_id',
    ],
    [{ reference_id: '' }, 'field_invalid', 'reference_id must not be empty', 'reference_id'],
    [{ reference_id: 17 }, 'field_invalid', 'reference_id must be a string', 'reference_id'],
    [{ reference_id: 'a\0' }, 'field_invalid', 'reference_id must not contain the character NUL', 'reference_id'],
    [{ id: 'cus_1' }, 'unknown_field', '"id" is not known here; leave it out', 'id'],
    [
      { referenceId: 'x' },
      'unknown_field',
      '"referenceId" is not known here; did you mean reference_id?',
      'referenceId',
    ],
    [{ metadata: { a: 1 } }, 'field_invalid', 'a must be a string', 'metadata.a'],
    [
      { metadata: Object.fromEntries(Array.from({ length: 21 }, (_, index) => [`k${index}`, 'v'])) },
      'field_invalid',
      'metadata must have at most 20 entries',
      'metadata',
    ],
  ])('with %j is refused', (body, code, message, field) => {
    expect(create(body)).toEqual(refusal(code, message, field))
  })

  it('can have 255 characters of any kind, and 20 members', () => {
    expect(create({ reference_id: '😀'.repeat(255) }).ok).toBe(true)
    expect(
      create({ metadata: Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`k${index}`, 'v'.repeat(255)])) })
        .ok,
    ).toBe(true)
  })
})

describe('the query of a list', () => {
  it('requests the 30 newest objects by default', () => {
    const all = list('')
    expect(all.ok && pageRequest(all.value as { limit: number })).toEqual({
      limit: 30,
      startingAfter: null,
      endingBefore: null,
    })
    expect(list('limit=1&reference_id=a%20b')).toEqual({ ok: true, value: { limit: 1, reference_id: 'a b' } })
    expect(list('limit=100&starting_after=cus_1').ok).toBe(true)
    expect(list('limit=&starting_after=')).toEqual({ ok: true, value: { limit: 30 } })
  })

  it.each([
    ['limit=0', 'value_out_of_range', 'limit must be a whole number from 1 to 100', 'limit'],
    ['limit=101', 'value_out_of_range', 'limit must be a whole number from 1 to 100', 'limit'],
    ['limit=1.5', 'field_invalid', 'limit must be a whole number from 1 to 100', 'limit'],
    ['limit=1&limit=2', 'field_invalid', 'Send the parameter "limit" only once', 'limit'],
    ['lmit=1', 'unknown_parameter', '"lmit" is not known here; did you mean limit?', 'lmit'],
    ['__proto__=1', 'unknown_parameter', '"__proto__" is not known here; leave it out', '__proto__'],
    [
      'starting_after=a&ending_before=b',
      'field_invalid',
      'ending_before must not be combined with starting_after; send one cursor only',
      'ending_before',
    ],
  ])('%s is refused', (search, code, message, field) => {
    expect(list(search)).toEqual(refusal(code, message, field))
  })
})
