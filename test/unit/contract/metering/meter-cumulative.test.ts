import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { ApiVersion } from '../../../../services/contract/api-version.ts'
import { parseJson } from '../../../../services/contract/json/strict-json.ts'
import { readCumulative, readReading } from '../../../../services/contract/metering/meter-cumulative.ts'
import type { Result } from '../../../../services/domain/refusal.ts'
import { noPause } from '../../../support/metering/parse-submission.ts'

const at = Date.UTC(2026, 2, 1)
const seconds = at / 1000
const base = { location_id: 'loc_0198c0ffee00112233445566', units: 'WH', data: [{ time: seconds, value: 100 }] }

const parse = (members: unknown, apiVersion: ApiVersion = 'current') =>
  readCumulative(Buffer.from(JSON.stringify(members)), apiVersion, noPause)

const acceptedOf = <T>(result: Result<T>): T => {
  if (!result.ok) throw new Error(`${result.refusal.code}: ${result.refusal.message}`)
  return result.value
}
const faultOf = (result: Result<unknown>) => {
  if (result.ok) throw new Error('it was accepted')
  return [result.refusal.code, result.refusal.field]
}

/** Parse and read a reading. Texts replace numbers that are not exact doubles. */
const read = (members: Readonly<Record<string, unknown>>, units: 'WH' | 'KWH' = 'WH') => {
  const written = JSON.stringify({ time: seconds, value: 1, ...members }).replace(/"#([^"]*)"/g, '$1')
  return readReading(acceptedOf(parseJson(Buffer.from(written))), units, at)
}

describe('a submission of register readings', () => {
  it('with required members only is INBOUND and IMPORT; null means absent', async () => {
    const plain = acceptedOf(await parse(base))
    expect(plain).toEqual({
      locationId: base.location_id,
      deviceId: null,
      sessionReferenceId: null,
      energyFlowDirection: 'INBOUND',
      tariffDirection: 'IMPORT',
      units: 'WH',
      elements: base.data,
    })
    const nulls = { device_id: null, session_reference_id: null, energy_flow_direction: null, tariff_direction: null }
    expect(acceptedOf(await parse({ ...base, ...nulls }))).toEqual(plain)
    expect(acceptedOf(await parse({ ...base, energy_flow_direction: 'OUTBOUND' })).tariffDirection).toBe('EXPORT')
  })

  it('has the names of its API version', async () => {
    const current = acceptedOf(await parse({ ...base, energy_flow_direction: 'OUTBOUND', tariff_direction: 'IMPORT' }))
    expect(acceptedOf(await parse({ ...base, direction: 'EXPORT', tariff_rate: 'IMPORT' }, 'earlier'))).toEqual(current)
    expect(faultOf(await parse({ ...base, direction: 'EXPORT' }))).toEqual(['unknown_field', 'direction'])
    expect(faultOf(await parse({ ...base, tariff_direction: 'IMPORT' }, 'earlier'))).toEqual([
      'unknown_field',
      'tariff_direction',
    ])
    expect(faultOf(await parse({ ...base, direction: 'IMPORT', tariff_rate: 'EXPORT' }, 'earlier'))).toEqual([
      'direction_pair_refused',
      'tariff_rate',
    ])
  })

  it.each([
    [[], 'field_invalid', undefined],
    [{ units: 'W' }, 'field_invalid', 'units'],
    [{ units: undefined }, 'field_required', 'units'],
    [{ location_id: undefined }, 'field_required', 'location_id'],
    [{ session_reference_id: 'x'.repeat(256) }, 'field_too_long', 'session_reference_id'],
    [{ energy_flow_direction: 'IMPORT' }, 'field_invalid', 'energy_flow_direction'],
    [{ energy_flow_direction: 'OUTBOUND', tariff_direction: 'LOCAL' }, 'direction_pair_refused', 'tariff_direction'],
    [{ measurand: 'TRANSFERRED' }, 'unknown_field', 'measurand'],
    [{ data: undefined }, 'field_required', 'data'],
    [{ data: {} }, 'field_invalid', 'data'],
    [{ data: [] }, 'field_invalid', 'data'],
    [{ data: Array.from({ length: 10_001 }, () => null) }, 'too_many_records', 'data'],
  ])('is refused completely for %j', async (change, code, field) => {
    const body = Array.isArray(change) ? change : { ...base, ...change }
    expect(faultOf(await parse(body))).toEqual([code, field])
  })

  it('can have 10,000 readings, also invalid ones', async () => {
    const data = Array.from({ length: 10_000 }, (_, index) => (index % 2 === 0 ? null : { odd: [] }))
    expect(acceptedOf(await parse({ ...base, data })).elements).toEqual(data)
  })
})

describe('a reading', () => {
  it('is exact, rounded half to even', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 10n ** 17n - 1n }), millionths => {
        const written = `${millionths / 1_000_000n}.${String(millionths % 1_000_000n).padStart(6, '0')}`
        expect(acceptedOf(read({ value: `#${written}` })).value).toBe(millionths)
      }),
    )
    expect(acceptedOf(read({ value: '#0.0000005' })).value).toBe(0n)
    expect(acceptedOf(read({ value: '#0.0000015' })).value).toBe(2n)
    expect(acceptedOf(read({ value: '#4821.000000001' }, 'KWH')).value).toBe(4_821_000_000_001n)
  })

  it('has a value from 0 to 1e12 Wh', () => {
    expect(acceptedOf(read({ value: 0 })).value).toBe(0n)
    expect(acceptedOf(read({ value: '#1e12' })).value).toBe(10n ** 18n)
    expect(acceptedOf(read({ value: '#1e9' }, 'KWH')).value).toBe(10n ** 18n)
    for (const value of ['#-0.1', '#1000000000000.1', '#1e400'])
      expect(faultOf(read({ value }))).toEqual(['value_out_of_range', 'value'])
    expect(faultOf(read({ value: '#1000000000.000001' }, 'KWH'))).toEqual(['value_out_of_range', 'value'])
    expect(faultOf(read({ value: '#1.23456789012345678' }))).toEqual(['field_invalid', 'value'])
  })

  it('has a time in whole seconds, from 2000-01-01 to 7 days ahead', () => {
    expect(acceptedOf(read({ time: '#1.7e9' })).time).toBe(1_700_000_000_000)
    expect(acceptedOf(read({ time: 946_684_800 })).time).toBe(Date.UTC(2000, 0, 1))
    expect(acceptedOf(read({ time: seconds + 7 * 86_400 })).time).toBe(at + 7 * 86_400_000)
    for (const time of [946_684_799, -1, seconds + 7 * 86_400 + 1, at, '#1e400', '#-1e400']) {
      expect(faultOf(read({ time }))).toEqual(['time_out_of_range', 'time'])
    }
    for (const time of [seconds + 0.5, '2026-02-01T00:00:00Z', '#1700000000.00000000000000001', true]) {
      expect(faultOf(read({ time }))).toEqual(['field_invalid', 'time'])
    }
  })

  it.each([
    [{ time: undefined }, 'field_required', 'time'],
    [{ value: undefined }, 'field_required', 'value'],
    [{ value: '1' }, 'field_invalid', 'value'],
    [{ record_reference_id: '' }, 'field_invalid', 'record_reference_id'],
    [{ record_reference_id: 'x'.repeat(256) }, 'field_too_long', 'record_reference_id'],
    [{ units: 'WH' }, 'unknown_field', 'units'],
  ])('is refused without its submission for %j', (change, code, field) => {
    expect(faultOf(read(change))).toEqual([code, field])
  })

  it('has a reference and is an object', () => {
    expect(acceptedOf(read({ record_reference_id: 'r' })).recordReferenceId).toBe('r')
    expect(acceptedOf(read({ record_reference_id: null })).recordReferenceId).toBeNull()
    for (const element of [null, 1, 'x', []])
      expect(faultOf(readReading(element, 'WH', at))).toEqual(['field_invalid', undefined])
  })
})
