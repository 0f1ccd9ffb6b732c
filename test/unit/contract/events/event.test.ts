import { describe, expect, it } from 'vitest'
import { eventRetrieve, eventToWire, failedEventData } from '../../../../services/contract/events/event.ts'
import { readShape } from '../../../../services/contract/read-shape.ts'
import { deviceCreate, deviceObject, deviceUpdate } from '../../../../services/contract/registry/device.ts'

const event = { id: 'evt_1', accountId: 'acc_1', liveMode: true, type: 'device.create', createdAt: 0 }

describe('an event', () => {
  it('keeps all digits of its numbers', () => {
    const data = '{"value":0.1234567890123456789,"small":1e-9,"list":[1,2.50]}'
    expect(JSON.stringify(eventToWire({ ...event, data }).data)).toBe(
      '{"value":0.1234567890123456789,"small":1e-9,"list":[1,2.5]}',
    )
  })

  it('throws if its data is not an object', () => {
    for (const data of ['[]', '"text"', 'nothing']) expect(() => eventToWire({ ...event, data })).toThrow(TypeError)
  })

  it('of a refusal has the object of the request and the reason', () => {
    const refusal = { code: 'reference_id_taken', message: 'Taken', field: 'reference_id' } as const
    const error = { code: 'reference_id_taken', message: 'Taken' }
    expect(failedEventData({ id: 'dev_1', referenceId: 'a' }, refusal, 'req_1')).toEqual({
      id: 'dev_1',
      reference_id: 'a',
      error,
      request_id: 'req_1',
    })
    expect(failedEventData({ id: null, referenceId: null }, refusal, 'req_1')).toEqual({ error, request_id: 'req_1' })
  })
})

describe('a device', () => {
  it('has the time of its last record, or null', () => {
    const device = {
      id: 'dev_1',
      accountId: 'acc_1',
      liveMode: true,
      referenceId: 'a',
      displayName: null,
      register: null,
      metadata: {},
      createdAt: 0,
    }
    expect(deviceObject.toWire({ ...device, lastSeenAt: 1_500 })).toMatchObject({
      last_seen: '1970-01-01T00:00:01.500Z',
    })
    expect(deviceObject.toWire({ ...device, lastSeenAt: null })).toMatchObject({ last_seen: null })
  })

  it.each([
    ['no reference', deviceCreate, {}, 'field_required', 'reference_id'],
    ['null as its reference', deviceCreate, { reference_id: null }, 'field_invalid', 'reference_id'],
    ['null as its new reference', deviceUpdate, { reference_id: null }, 'field_invalid', 'reference_id'],
    ['an empty reference', deviceCreate, { reference_id: '' }, 'field_invalid', 'reference_id'],
    ['a location', deviceCreate, { reference_id: 'a', location_id: 'loc_1' }, 'unknown_field', 'location_id'],
  ])('refuses %s', (_, { body }, value, code, field) => {
    expect(body && readShape(body, value, 'body')).toMatchObject({ ok: false, refusal: { code, field } })
  })
})

describe('the reference page', () => {
  it.each([deviceCreate, deviceUpdate, eventRetrieve])('shows a valid answer of $id', ({ answer, examples }) => {
    expect(answer.shape.safeParse(examples?.answer).error).toBeUndefined()
  })
})
