import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { ApiVersion } from '../../../services/contract/api-version.ts'
import {
  answerToEarlier,
  refusalToEarlier,
  requestFromApiVersion,
  type VersionRename,
} from '../../../services/contract/earlier-api-version.ts'
import { readRequest } from '../../../services/contract/exchange.ts'
import { fields, oneOf, optional, scaledDecimal, text } from '../../../services/contract/field.ts'
import { defineOperation } from '../../../services/contract/operation.ts'
import { flag, parameters } from '../../../services/contract/parameter.ts'
import { noReferenceIds } from '../../../services/domain/reference.ts'

const recordRenames: readonly VersionRename[] = [
  { current: 'energy_flow_direction', earlier: 'direction', values: { INBOUND: 'IMPORT', OUTBOUND: 'EXPORT' } },
  { current: 'tariff_direction', earlier: 'tariff_rate' },
]

describe('an answer in the earlier API version', () => {
  it('has the values of the current answer with earlier names and enum values', () => {
    const answer = { energy_flow_direction: 'INBOUND', tariff_direction: 'LOCAL', value: 1 }
    expect(answerToEarlier(answer, recordRenames)).toEqual({ direction: 'IMPORT', tariff_rate: 'LOCAL', value: 1 })
  })

  it('moves members up, also out of lists and to two names, and removes empty objects', () => {
    const answer = { data: [{ tariff: { cost: { value: 2, confidence: 1 } }, price: { average: 3, confidence: 0.5 } }] }
    const renames: readonly VersionRename[] = [
      { current: 'data.tariff.cost', earlier: 'data.cost' },
      { current: 'data.price.average', earlier: 'data.tariff.rate_avg_' },
      { current: 'data.price.average', earlier: 'data.tariff.rate_avg' },
      { current: 'data.price.confidence', earlier: 'data.tariff.confidence' },
    ]
    expect(answerToEarlier(answer, renames)).toEqual({
      data: [{ cost: { value: 2, confidence: 1 }, tariff: { rate_avg_: 3, rate_avg: 3, confidence: 0.5 } }],
    })
  })

  it('replaces an object with its inner object', () => {
    const answer = { data: { tariff: { cost: { value: 2 } } } }
    expect(answerToEarlier(answer, [{ current: 'data.tariff.cost', earlier: 'data.tariff' }])).toEqual({
      data: { tariff: { value: 2 } },
    })
  })

  it('swaps names, adds constants, removes current members, and renames id prefixes', () => {
    const renames: readonly VersionRename[] = [
      { current: 'a', earlier: 'b' },
      { current: 'b', earlier: 'a' },
      { earlier: 'data.units', constant: 'gCO2eq' },
      { current: 'data.new' },
      { current: 'id', earlier: 'id', prefixes: { sdu: 'sta' } },
    ]
    expect(answerToEarlier({ id: 'sdu_1', a: 1, b: 2, data: [{ new: 1, old: 2 }] }, renames)).toEqual({
      id: 'sta_1',
      b: 1,
      a: 2,
      data: [{ old: 2, units: 'gCO2eq' }],
    })
  })
})

const submit = defineOperation({
  id: 'record_submit',
  summary: 'Submit',
  description: 'Submit.',
  tag: 'Test',
  access: 'open',
  routes: {
    current: [{ method: 'POST', path: '/records/{id}' }],
    earlier: [
      { method: 'POST', path: '/records', parametersInBody: { id: 'location_id' } },
      { method: 'GET', path: '/records/{id}', bodyInQuery: { numbers: ['value'] } },
    ],
  },
  query: parameters({ include: flag.optional() }),
  body: fields({
    energy_flow_direction: optional(oneOf('INBOUND', 'OUTBOUND')),
    tariff_direction: optional(oneOf('IMPORT', 'EXPORT', 'LOCAL')),
    session: optional(text()),
    value: scaledDecimal({ scale: 6, min: 0n, max: 10n ** 17n }),
  }),
  answer: { name: 'Nothing', shape: z.object({}) },
  status: 200,
  renames: { query: [{ current: 'include', earlier: 'include_data' }], body: recordRenames },
})

const read = (apiVersion: ApiVersion, body: unknown, route = submit.routes[apiVersion][0], search = '') => {
  if (route === undefined) throw new Error('no route')
  const bytes = new TextEncoder().encode(JSON.stringify(body))
  const wire = { route, apiVersion, parameters: {}, search, body: { bytes, mediaType: 'application/json' } }
  return readRequest(submit, wire, { findIds: async () => noReferenceIds, nextTurn: () => Promise.resolve() })
}

describe('a request', () => {
  const value = { energy_flow_direction: 'OUTBOUND', tariff_direction: 'EXPORT', value: 1_500_000n }

  it('has the same meaning in both API versions', async () => {
    const current = await read('current', { energy_flow_direction: 'OUTBOUND', tariff_direction: 'EXPORT', value: 1.5 })
    const earlier = await read('earlier', {
      location_id: 'loc_1',
      direction: 'EXPORT',
      tariff_rate: 'EXPORT',
      value: 1.5,
    })
    expect(current).toMatchObject({ ok: true, value: { body: value } })
    expect(earlier).toMatchObject({ ok: true, value: { body: value, parameters: { id: 'loc_1' } } })
  })

  it('can have its body in the query, with exact numbers', async () => {
    const search = 'direction=EXPORT&tariff_rate=EXPORT&value=1.50&include_data=True'
    expect(await read('earlier', undefined, submit.routes.earlier[1], search)).toMatchObject({
      ok: true,
      value: { body: value, query: { include: true } },
    })
    expect(await read('earlier', undefined, submit.routes.earlier[1], 'value=x')).toEqual({
      ok: false,
      refusal: { code: 'field_invalid', message: 'value must be a number', field: 'value' },
    })
  })

  it.each<readonly [ApiVersion, unknown, string, string, string]>([
    [
      'current',
      { direction: 'IMPORT' },
      'unknown_field',
      'direction',
      'direction belongs to Api-Version 2024-08-24; with 2025-09-14 use energy_flow_direction',
    ],
    [
      'current',
      { tariff_rate: 'IMPORT' },
      'unknown_field',
      'tariff_rate',
      'tariff_rate belongs to Api-Version 2024-08-24; with 2025-09-14 use tariff_direction',
    ],
    [
      'earlier',
      { location_id: 'l', energy_flow_direction: 'INBOUND' },
      'unknown_field',
      'energy_flow_direction',
      'energy_flow_direction belongs to Api-Version 2025-09-14; with 2024-08-24 use direction',
    ],
    [
      'earlier',
      { location_id: 'l', direction: 'INBOUND' },
      'field_invalid',
      'direction',
      'direction must be IMPORT or EXPORT',
    ],
    [
      'earlier',
      { location_id: 'l', direction: 'SIDEWAYS', value: 1 },
      'field_invalid',
      'direction',
      'direction must be IMPORT or EXPORT',
    ],
    [
      'earlier',
      { location_id: 'l', tariff_rate: 'X', value: 1 },
      'field_invalid',
      'tariff_rate',
      'tariff_rate must be IMPORT, EXPORT or LOCAL',
    ],
    [
      'earlier',
      { location_id: 'l', tarif_rate: 'X', value: 1 },
      'unknown_field',
      'tarif_rate',
      '"tarif_rate" is not known here; did you mean tariff_rate?',
    ],
    ['earlier', { value: 1 }, 'field_required', 'location_id', 'location_id is required'],
    [
      'current',
      { value: 1, sesion: 'x' },
      'unknown_field',
      'sesion',
      '"sesion" is not known here; did you mean session?',
    ],
    ['current', {}, 'field_required', 'value', 'value is required'],
    ['current', { value: null }, 'field_invalid', 'value', 'value must be a number'],
  ])(
    'of the %s API version with %j is refused as %s with the names of that version',
    async (apiVersion, body, code, field, message) => {
      expect(await read(apiVersion, body)).toEqual({ ok: false, refusal: { code, message, field } })
    },
  )

  it('is refused with the index in a list', () => {
    const refused = requestFromApiVersion([{}, { direction: 'IMPORT' }], recordRenames, 'current')
    expect(refused).toMatchObject({ ok: false, refusal: { field: '[1].direction' } })
  })

  it('can have members of earlier requests only', () => {
    const renames: readonly VersionRename[] = [{ earlier: 'include_carbon', inRequest: true }]
    expect(requestFromApiVersion({ include_carbon: '1' }, renames, 'earlier')).toEqual({
      ok: true,
      value: { include_carbon: '1' },
    })
    expect(requestFromApiVersion({ include_carbon: '1' }, renames, 'current')).toMatchObject({
      refusal: { message: 'include_carbon belongs to Api-Version 2024-08-24; with 2025-09-14 leave it out' },
    })
  })
})

describe('a refusal in the earlier API version', () => {
  it('has the earlier field names and enum values, and unchanged English words', () => {
    const refusal = {
      code: 'direction_pair_refused',
      message: 'energy_flow_direction OUTBOUND is no direction for LOCAL',
      field: '[3].energy_flow_direction',
    } as const
    expect(refusalToEarlier(refusal, recordRenames)).toEqual({
      code: 'direction_pair_refused',
      message: 'direction EXPORT is no direction for LOCAL',
      field: '[3].direction',
    })
  })

  it('keeps the indexes of a renamed path', () => {
    const renames: readonly VersionRename[] = [{ current: 'data.max.value', earlier: 'data.power' }]
    const refusal = { code: 'field_invalid', message: 'x', field: 'data[12].max.value' } as const
    expect(refusalToEarlier(refusal, renames).field).toBe('data[12].power')
  })
})
