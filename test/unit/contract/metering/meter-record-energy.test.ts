import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { exactEnergyOf, readEnergy } from '../../../../services/domain/quantity.ts'
import { base, interval, read, readText, recordOf, withNumber } from '../../../support/metering/read-record.ts'

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

  it('refuses numbers that are too large for a double and for the field', () => {
    for (const written of ['1e400', '1.234567890123456789', '1e30'])
      expect(readText(withNumber('value', written)).ok).toBe(false)
  })

  it('uses elapsed time instead of clock time: two hours at the end of summer time', () => {
    const times = interval('2025-10-26T02:00:00+02:00', '2025-10-26T03:00:00+01:00')
    expect(recordOf(read({ ...base, ...times, units: 'W', value: 50 })).energy).toBe(100_000_000n)
  })

  it('is the same from a double as from the text', () => {
    const numbers = fc.oneof(
      fc
        .tuple(fc.integer({ min: 0, max: 999_999_999 }), fc.integer({ min: 0, max: 12 }))
        .map(([m, e]) => Number(`${m}e-${e}`)),
      fc.double({ min: 0, max: 1e9, noNaN: true }),
    )
    fc.assert(
      fc.property(numbers, fc.constantFrom('WH' as const, 'KWH' as const), (value, units) => {
        const plain = exactEnergyOf(value, units)
        if (plain !== undefined) expect(readEnergy(String(value), units, 0)).toEqual({ ok: true, value: plain })
      }),
    )
    expect(exactEnergyOf(1234.5, 'WH')).toBe(1_234_500_000n)
    expect(exactEnergyOf(1, 'KW')).toBeUndefined()
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
