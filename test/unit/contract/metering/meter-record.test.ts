import { describe, expect, it } from 'vitest'
import { readMeterRecord } from '../../../../services/contract/metering/meter-record.ts'
import { at, base, faultOf, interval, read, recordOf } from '../../../support/metering/read-record.ts'

describe('a record with required members only', () => {
  it('is INBOUND, IMPORT and an actual', () => {
    expect(recordOf(read(base))).toEqual({
      locationId: base.location_id,
      deviceId: null,
      energyFlowDirection: 'INBOUND',
      tariffDirection: 'IMPORT',
      start: Date.UTC(2026, 1, 1),
      end: Date.UTC(2026, 1, 1, 1),
      energy: 100_000_000n,
      confidence: 1_000_000,
      sessionReferenceId: null,
      recordReferenceId: null,
    })
  })

  it('reads null as absent', () => {
    const nulls = {
      device_id: null,
      session_reference_id: null,
      record_reference_id: null,
      measurand: null,
      confidence: null,
    }
    expect(read({ ...base, ...nulls, energy_flow_direction: null, tariff_direction: null })).toEqual(read(base))
  })
})

describe('directions', () => {
  it.each([
    ['INBOUND', 'IMPORT', true],
    ['INBOUND', 'LOCAL', true],
    ['INBOUND', 'EXPORT', false],
    ['OUTBOUND', 'EXPORT', true],
    ['OUTBOUND', 'IMPORT', true],
    ['OUTBOUND', 'LOCAL', false],
  ])('%s with %s: %s', (flow, tariff, stands) => {
    expect(read({ ...base, energy_flow_direction: flow, tariff_direction: tariff }).ok).toBe(stands)
    const direction = flow === 'INBOUND' ? 'IMPORT' : 'EXPORT'
    const earlier = read({ ...base, direction, tariff_rate: tariff }, 'earlier')
    expect(earlier).toEqual(stands ? read({ ...base, energy_flow_direction: flow, tariff_direction: tariff }) : earlier)
    expect(earlier.ok).toBe(stands)
  })

  it('have the default EXPORT for OUTBOUND', () => {
    expect(recordOf(read({ ...base, energy_flow_direction: 'OUTBOUND' })).tariffDirection).toBe('EXPORT')
    expect(recordOf(read({ ...base, direction: 'EXPORT' }, 'earlier'))).toMatchObject({
      energyFlowDirection: 'OUTBOUND',
      tariffDirection: 'EXPORT',
    })
  })

  it('are refused with the names of the API version', () => {
    const current = faultOf(read({ ...base, tariff_direction: 'EXPORT' }))
    expect(current[0]).toBe('direction_pair_refused')
    expect(current[1]).toBe('tariff_direction')
    expect(faultOf(read({ ...base, tariff_rate: 'EXPORT' }, 'earlier'))).toEqual([
      'direction_pair_refused',
      'tariff_rate',
      'tariff_rate EXPORT cannot stand with direction IMPORT; set direction to EXPORT',
    ])
    expect(faultOf(read({ ...base, direction: 'INBOUND' }, 'earlier'))).toEqual([
      'field_invalid',
      'direction',
      'direction must be IMPORT or EXPORT',
    ])
  })
})

describe('an unknown member', () => {
  it.each([
    ['current', 'direction', 'energy_flow_direction'],
    ['current', 'tariff_rate', 'tariff_direction'],
    ['earlier', 'energy_flow_direction', 'use direction'],
    ['earlier', 'tariff_direction', 'use tariff_rate'],
    ['current', 'strat_time', 'did you mean start_time?'],
    ['earlier', 'tarif_rate', 'did you mean tariff_rate?'],
    ['current', 'zzzzzzzzzz', 'leave it out'],
  ] as const)('%s: %s names %s', (apiVersion, name, advice) => {
    const [code, field, message] = faultOf(read({ ...base, [name]: 'IMPORT' }, apiVersion))
    expect([code, field]).toEqual(['unknown_field', name])
    expect(message).toContain(advice)
  })
})

describe('an invalid member', () => {
  it.each([
    [{ location_id: undefined }, 'field_required', 'location_id'],
    [{ location_id: 7 }, 'field_invalid', 'location_id'],
    [{ location_id: 'dev_0198c0ffee00112233445566' }, 'location_not_found', 'location_id'],
    [{ device_id: 'charger-1' }, 'device_not_found', 'device_id'],
    [{ units: undefined }, 'field_required', 'units'],
    [{ units: 'kWh' }, 'field_invalid', 'units'],
    [{ value: undefined }, 'field_required', 'value'],
    [{ value: '100' }, 'field_invalid', 'value'],
    [{ value: -0.001 }, 'value_out_of_range', 'value'],
    [{ value: 100_000_000_000.1 }, 'value_out_of_range', 'value'],
    [{ confidence: 0 }, 'value_out_of_range', 'confidence'],
    [{ confidence: 1.000001 }, 'value_out_of_range', 'confidence'],
    [{ confidence: -0.5 }, 'value_out_of_range', 'confidence'],
    [{ confidence: '1' }, 'field_invalid', 'confidence'],
    [{ measurand: 'OFFERED' }, 'measurand_not_supported', 'measurand'],
    [{ session_reference_id: '' }, 'field_invalid', 'session_reference_id'],
    [{ record_reference_id: 'x'.repeat(256) }, 'field_too_long', 'record_reference_id'],
    [{ start_time: undefined }, 'field_required', 'start_time'],
    [{ start_time: '2026-02-30T00:00:00Z' }, 'field_invalid', 'start_time'],
    [{ end_time: '2026-02-01T01:00:00' }, 'field_invalid', 'end_time'],
    [{ end_time: 1_770_000_000 }, 'field_invalid', 'end_time'],
  ])('%j', (change, code, field) => {
    expect(faultOf(read({ ...base, ...change })).slice(0, 2)).toEqual([code, field])
  })

  it.each([null, 7, 'text', [], true])('%j is not a record', element => {
    expect(readMeterRecord(element, 'current', at).ok).toBe(false)
  })
})

describe('limits: the limit is accepted, the next value is refused', () => {
  it.each([
    [
      'text of 255 characters, not code units',
      { record_reference_id: '😀'.repeat(255) },
      { record_reference_id: '😀'.repeat(256) },
    ],
    // 366 days after 1 February 2025 is 2 February 2026.
    [
      '366 days',
      interval('2025-02-01T00:00:00Z', '2026-02-02T00:00:00Z'),
      interval('2025-02-01T00:00:00Z', '2026-02-02T00:00:00.001Z'),
    ],
    [
      'the first instant',
      interval('2000-01-01T00:00:00Z', '2000-01-01T00:00:00Z'),
      interval('1999-12-31T23:59:59.999Z', '2000-01-01T00:00:00Z'),
    ],
    [
      '7 days ahead',
      interval('2026-03-07T00:00:00Z', '2026-03-08T00:00:00Z'),
      interval('2026-03-07T00:00:00Z', '2026-03-08T00:00:00.001Z'),
    ],
    ['100 GWh', { value: 100_000_000_000 }, { value: 100_000_000_000.001 }],
    [
      'start = end',
      interval('2026-02-01T00:00:00Z', '2026-02-01T00:00:00Z'),
      interval('2026-02-01T00:00:00.001Z', '2026-02-01T00:00:00Z'),
    ],
  ])('%s', (_, passes, fails) => {
    expect(read({ ...base, ...passes })).toMatchObject({ ok: true })
    expect(read({ ...base, ...fails })).toMatchObject({ ok: false })
  })

  it('refuses an end before the start with the documented text', () => {
    const backwards = interval('2026-02-01T01:00:00+01:00', '2026-02-01T00:59:59+01:00')
    expect(faultOf(read({ ...base, ...backwards }))).toEqual([
      'end_before_start',
      'end_time',
      'end_time must not be before start_time',
    ])
  })
})
