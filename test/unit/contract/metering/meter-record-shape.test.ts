import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type JsonNumber, numberText } from '../../../../services/contract/json/exact-number.ts'
import { meterRecordShape, readMeterRecord } from '../../../../services/contract/metering/meter-record.ts'
import { readEnergy } from '../../../../services/domain/quantity.ts'
import {
  defaultTariffDirection,
  readConfidence,
  refuseDirections,
  refuseInterval,
} from '../../../../services/domain/record/validate-record.ts'
import { at, base } from '../../../support/metering/read-record.ts'

describe('the documented shape', () => {
  /** Validate by the shape of the reference page and the rules of the domain, without the reader. */
  const isValid = (element: unknown): boolean => {
    const shaped = meterRecordShape.safeParse(element)
    if (!shaped.success) return false
    const {
      energy_flow_direction: flow = 'INBOUND',
      tariff_direction,
      units,
      value,
      confidence,
      start_time,
      end_time,
    } = shaped.data
    const isNumber = (number: JsonNumber | undefined, holds: (text: string) => boolean) =>
      number === undefined || holds(numberText(number))
    return (
      refuseDirections(flow, tariff_direction ?? defaultTariffDirection(flow)) === null &&
      refuseInterval(start_time.at, end_time.at, at) === null &&
      isNumber(value, text => readEnergy(text, units, end_time.at - start_time.at).ok) &&
      isNumber(confidence, text => readConfidence(text).ok)
    )
  }

  const text = fc.oneof(
    fc.constantFrom('', 'x', 'x'.repeat(255), 'x'.repeat(256), '😀'.repeat(255)),
    fc.string({ unit: 'grapheme-ascii' }),
  )
  const odd = fc.constantFrom(null, true, 7, {}, [], 'word')
  const or = <T>(usual: fc.Arbitrary<T>) => fc.oneof({ weight: 12, arbitrary: usual }, { weight: 1, arbitrary: odd })
  const time = fc.oneof(
    fc.integer({ min: at - 400 * 86_400_000, max: at + 8 * 86_400_000 }).map(ms => new Date(ms).toISOString()),
    fc.constantFrom(
      '2026-02-01T00:00:00Z',
      '2026-02-01t01:00:00+01:00',
      '2026-02-01 00:00:00Z',
      '2026-02-01T24:00:00Z',
    ),
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
  /** Usual record with a few changed members. A record with many changed members would nearly always be refused. */
  const nearly = element.chain(changed =>
    fc.subarray(Object.keys(changed), { maxLength: 3 }).map(names => ({
      ...base,
      ...Object.fromEntries(Object.entries(changed).filter(([name]) => names.includes(name))),
    })),
  )

  it('accepts exactly the records that the reader accepts', () => {
    const seen = { accepted: 0, refused: 0 }
    fc.assert(
      fc.property(nearly, generated => {
        const element: unknown = JSON.parse(JSON.stringify(generated))
        const isAccepted = readMeterRecord(element, 'current', at).ok
        seen[isAccepted ? 'accepted' : 'refused'] += 1
        expect(isAccepted).toBe(isValid(element))
      }),
      { numRuns: 1500 },
    )
    expect(Math.min(seen.accepted, seen.refused)).toBeGreaterThan(100)
  })
})
