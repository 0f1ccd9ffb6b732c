import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type JsonNumber, numberText } from '../../services/contract/exact-number.ts'
import type { Layout } from '../../services/contract/layout.ts'
import { meterRecordShape, readMeterRecord } from '../../services/contract/meter-record.ts'
import { parseJson } from '../../services/contract/strict-json.ts'
import { readEnergy } from '../../services/domain/quantity.ts'
import { defaultTariffDirection, readConfidence, refuseDirections, refuseInterval } from '../../services/domain/record/check-record.ts'
import { plainEnergy } from '../../services/domain/record/plain-energy.ts'

const at = Date.UTC(2026, 2, 1)
const base = {
  location_id: 'loc_0198c0ffee00112233445566',
  units: 'WH',
  value: 100,
  start_time: '2026-02-01T00:00:00Z',
  end_time: '2026-02-01T01:00:00Z',
}

/** Read the text of a record, as it comes over the wire. */
const read = (members: object, layout: Layout = 'current') => readText(JSON.stringify(members), layout)
const readText = (text: string, layout: Layout = 'current') => {
  const parsed = parseJson(Buffer.from(text))
  if (!parsed.ok) throw new Error(parsed.refusal.message)
  return readMeterRecord(parsed.value, layout, at)
}
const withNumber = (name: string, written: string): string => JSON.stringify({ ...base, [name]: '#' }).replace('"#"', written)

const recordOf = (result: ReturnType<typeof read>) => {
  if (!result.ok) throw new Error(`${result.refusal.code}: ${result.refusal.message}`)
  return result.value
}
const faultOf = (result: ReturnType<typeof read>) => {
  if (result.ok) throw new Error('the record was accepted')
  return [result.refusal.code, result.refusal.field, result.refusal.message]
}

describe('a record that names only what it must', () => {
  it('comes in, is bought, is an actual', () => {
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
    const nulls = { device_id: null, session_reference_id: null, record_reference_id: null, measurand: null, confidence: null }
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

  it('goes out, is sold', () => {
    expect(recordOf(read({ ...base, energy_flow_direction: 'OUTBOUND' })).tariffDirection).toBe('EXPORT')
    expect(recordOf(read({ ...base, direction: 'EXPORT' }, 'earlier'))).toMatchObject({
      energyFlowDirection: 'OUTBOUND',
      tariffDirection: 'EXPORT',
    })
  })

  it('is explained in the words of the layout', () => {
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

describe('a member that is not known', () => {
  it.each([
    ['current', 'direction', 'energy_flow_direction'],
    ['current', 'tariff_rate', 'tariff_direction'],
    ['earlier', 'energy_flow_direction', 'use direction'],
    ['earlier', 'tariff_direction', 'use tariff_rate'],
    ['current', 'strat_time', 'did you mean start_time?'],
    ['earlier', 'tarif_rate', 'did you mean tariff_rate?'],
    ['current', 'zzzzzzzzzz', 'leave it out'],
  ] as const)('%s: %s names %s', (layout, name, advice) => {
    const [code, field, message] = faultOf(read({ ...base, [name]: 'IMPORT' }, layout))
    expect([code, field]).toEqual(['unknown_field', name])
    expect(message).toContain(advice)
  })
})

describe('what a record must not say', () => {
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

  it.each([null, 7, 'text', [], true])('%j is no record', element => {
    expect(readMeterRecord(element, 'current', at).ok).toBe(false)
  })
})

describe('limits: what lies on the edge passes, one step further is refused', () => {
  it.each([
    ['text of 255 characters, counted whole', { record_reference_id: '😀'.repeat(255) }, { record_reference_id: '😀'.repeat(256) }],
    // 366 days after 1 February 2025 is 2 February 2026.
    ['366 days', span('2025-02-01T00:00:00Z', '2026-02-02T00:00:00Z'), span('2025-02-01T00:00:00Z', '2026-02-02T00:00:00.001Z')],
    ['the first instant', span('2000-01-01T00:00:00Z', '2000-01-01T00:00:00Z'), span('1999-12-31T23:59:59.999Z', '2000-01-01T00:00:00Z')],
    ['7 days ahead', span('2026-03-07T00:00:00Z', '2026-03-08T00:00:00Z'), span('2026-03-07T00:00:00Z', '2026-03-08T00:00:00.001Z')],
    ['100 GWh', { value: 100_000_000_000 }, { value: 100_000_000_000.001 }],
    ['start = end', span('2026-02-01T00:00:00Z', '2026-02-01T00:00:00Z'), span('2026-02-01T00:00:00.001Z', '2026-02-01T00:00:00Z')],
  ])('%s', (_, passes, fails) => {
    expect(read({ ...base, ...passes })).toMatchObject({ ok: true })
    expect(read({ ...base, ...fails })).toMatchObject({ ok: false })
  })

  it('tells an end before the start as documented', () => {
    const backwards = span('2026-02-01T01:00:00+01:00', '2026-02-01T00:59:59+01:00')
    expect(faultOf(read({ ...base, ...backwards }))).toEqual(['end_before_start', 'end_time', 'end_time must not be before start_time'])
  })
})

function span(start_time: string, end_time: string) {
  return { start_time, end_time }
}

describe('energy', () => {
  it.each([
    ['WH', '0.0000005', 0n], // half of 1e-6 goes to the even 0
    ['WH', '0.0000015', 2n],
    ['KWH', '1.2345678905', 1_234_567_890n], // 1234567890.5 goes to the even …890
    ['KWH', '1e-3', 1_000_000n],
    ['W', '18', 18_000_000n], // over an hour
    ['KW', '0.001', 1_000_000n],
    ['WH', '0.1', 100_000n],
  ] as const)('%s %s', (units, written, energy) => {
    expect(recordOf(readText(withNumber('value', written).replace('"WH"', `"${units}"`))).energy).toBe(energy)
  })

  it('refuses numbers that no double carries and that no field takes', () => {
    for (const written of ['1e400', '1.234567890123456789', '1e30']) expect(readText(withNumber('value', written)).ok).toBe(false)
  })

  it('counts elapsed time, not clock text: two hours over the end of summer time', () => {
    const times = span('2025-10-26T02:00:00+02:00', '2025-10-26T03:00:00+01:00')
    expect(recordOf(read({ ...base, ...times, units: 'W', value: 50 })).energy).toBe(100_000_000n)
  })

  it('is the same by the short way as from the text', () => {
    const numbers = fc.oneof(
      fc.tuple(fc.integer({ min: 0, max: 999_999_999 }), fc.integer({ min: 0, max: 12 })).map(([m, e]) => Number(`${m}e-${e}`)),
      fc.double({ min: 0, max: 1e9, noNaN: true }),
    )
    fc.assert(
      fc.property(numbers, fc.constantFrom('WH' as const, 'KWH' as const), (value, units) => {
        const plain = plainEnergy(value, units)
        if (plain !== undefined) expect(readEnergy(String(value), units, 0)).toEqual({ ok: true, value: plain })
      }),
    )
    expect(plainEnergy(1234.5, 'WH')).toBe(1_234_500_000n)
    expect(plainEnergy(1, 'KW')).toBeUndefined()
  })
})

describe('confidence', () => {
  it.each([
    ['1', 1_000_000],
    ['1.0', 1_000_000],
    ['0.5', 500_000],
    ['0.0000005', 1], // never 0
    ['1e-12', 1],
    ['0.9999999', 999_999], // below 1 stays an estimate
    ['0.1234565', 123_456], // half to even
  ])('%s', (written, confidence) => {
    expect(recordOf(readText(withNumber('confidence', written))).confidence).toBe(confidence)
  })
})

describe('the documented shape', () => {
  /** Judge by the shape of the reference page and the domain's rules, apart from the reader. */
  const judge = (element: unknown): boolean => {
    const shaped = meterRecordShape.safeParse(element)
    if (!shaped.success) return false
    const { energy_flow_direction: flow = 'INBOUND', tariff_direction, units, value, confidence, start_time, end_time } = shaped.data
    const isNumber = (number: JsonNumber | undefined, holds: (text: string) => boolean) => number === undefined || holds(numberText(number))
    return (
      refuseDirections(flow, tariff_direction ?? defaultTariffDirection(flow)) === null &&
      refuseInterval(start_time.at, end_time.at, at) === null &&
      isNumber(value, text => readEnergy(text, units, end_time.at - start_time.at).ok) &&
      isNumber(confidence, text => readConfidence(text).ok)
    )
  }

  const text = fc.oneof(fc.constantFrom('', 'x', 'x'.repeat(255), 'x'.repeat(256), '😀'.repeat(255)), fc.string({ unit: 'grapheme-ascii' }))
  const odd = fc.constantFrom(null, true, 7, {}, [], 'word')
  const or = <T>(usual: fc.Arbitrary<T>) => fc.oneof({ weight: 12, arbitrary: usual }, { weight: 1, arbitrary: odd })
  const time = fc.oneof(
    fc.integer({ min: at - 400 * 86_400_000, max: at + 8 * 86_400_000 }).map(ms => new Date(ms).toISOString()),
    fc.constantFrom('2026-02-01T00:00:00Z', '2026-02-01t01:00:00+01:00', '2026-02-01 00:00:00Z', '2026-02-01T24:00:00Z'),
  )
  const element = fc.record(
    {
      location_id: or(fc.constantFrom(base.location_id, 'loc_1', 'dev_0198c0ffee00112233445566')),
      device_id: or(fc.constantFrom('dev_0198c0ffee00112233445566', 'x')),
      session_reference_id: or(text),
      record_reference_id: or(text),
      energy_flow_direction: or(fc.constantFrom('INBOUND', 'OUTBOUND')),
      tariff_direction: or(fc.constantFrom('IMPORT', 'EXPORT', 'LOCAL')),
      measurand: or(fc.constantFrom('TRANSFERRED', 'OFFERED')),
      units: or(fc.constantFrom('W', 'KW', 'WH', 'KWH')),
      value: or(fc.oneof(fc.double({ min: -1, max: 1e12, noNaN: true }), fc.nat())),
      confidence: or(fc.double({ min: -0.1, max: 1.1, noNaN: true })),
      start_time: or(time),
      end_time: or(time),
      direction: fc.constant('IMPORT'),
    },
    { requiredKeys: ['location_id', 'units', 'value', 'start_time', 'end_time'] },
  )
  /** The usual record with a few members changed: one of all members changed would nearly always be refused. */
  const nearly = element.chain(changed =>
    fc.subarray(Object.keys(changed), { maxLength: 3 }).map(names => ({
      ...base,
      ...Object.fromEntries(Object.entries(changed).filter(([name]) => names.includes(name))),
    })),
  )

  it('takes what the reader takes, and nothing else', () => {
    const seen = { accepted: 0, refused: 0 }
    fc.assert(
      fc.property(nearly, generated => {
        const element: unknown = JSON.parse(JSON.stringify(generated))
        const isAccepted = readMeterRecord(element, 'current', at).ok
        seen[isAccepted ? 'accepted' : 'refused'] += 1
        expect(isAccepted).toBe(judge(element))
      }),
      { numRuns: 1500 },
    )
    expect(Math.min(seen.accepted, seen.refused)).toBeGreaterThan(100)
  })
})
