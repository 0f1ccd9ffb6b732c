import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  costOf,
  cumulativeShare,
  divideHalfEven,
  type EnergyUnits,
  formatDecimal,
  maxRecordEnergy,
  mulDivHalfEven,
  readDecimal,
  readEnergy,
  timesNano,
} from '../../../services/domain/quantity.ts'
import { divideHalfEven as exactHalfEven } from '../../support/oracle/exact.ts'

const year = 31_622_400_000

const price = { scale: 9, min: -1_000_000_000_000_000n, max: 1_000_000_000_000_000n }
const read9 = (text: string, rule = price) => {
  const read = readDecimal(text, rule, 'fixed')
  return read.ok ? read.value : read.refusal.code
}
const energyOf = (text: string, units: EnergyUnits, elapsed = 3_600_000) => {
  const read = readEnergy(text, units, elapsed)
  return read.ok ? read.value : read.refusal.code
}

describe('rounding', () => {
  it.each([
    [5n, 2n, 2n],
    [7n, 2n, 4n],
    [-5n, 2n, -2n],
    [-7n, 2n, -4n],
    [-1n, 3n, 0n],
    [8n, 3n, 3n],
  ])('%d / %d is %d, half to even', (dividend, divisor, quotient) => {
    expect(divideHalfEven(dividend, divisor)).toBe(quotient)
  })

  it('agrees with an independent division for every sign and size', () => {
    fc.assert(
      fc.property(
        fc.bigInt({ min: -(10n ** 40n), max: 10n ** 40n }),
        fc.bigInt({ min: 1n, max: 10n ** 20n }),
        (dividend, divisor) => {
          expect(divideHalfEven(dividend, divisor)).toBe(exactHalfEven(dividend, divisor))
        },
      ),
    )
  })

  it('gives shares and costs exactly, whether or not numbers can hold them', () => {
    const amounts = fc.oneof(
      fc.bigInt({ min: 0n, max: maxRecordEnergy }),
      fc.bigInt({ min: 0n, max: 10n ** 12n }),
      fc.bigInt({ min: 2n ** 53n - 5n, max: 2n ** 53n + 5n }),
    )
    const lengths = fc.oneof(
      fc.integer({ min: 1, max: year }),
      fc.integer({ min: year - 9, max: year }),
      fc.constantFrom(2, 900_000),
    )
    fc.assert(
      fc.property(amounts, lengths, fc.double({ min: 0, max: 1, noNaN: true }), (amount, length, share) => {
        const elapsed = Math.floor(share * length)
        expect(cumulativeShare(amount, elapsed, length)).toBe(exactHalfEven(amount * BigInt(elapsed), BigInt(length)))
      }),
      { numRuns: 2000 },
    )
    fc.assert(
      fc.property(amounts, fc.bigInt({ min: -12_000_000_000_000_000n, max: 12_000_000_000_000_000n }), (energy, at) => {
        expect(costOf(energy, at)).toBe(exactHalfEven(energy * at, 1_000_000_000n))
        expect(mulDivHalfEven(energy, at, 1_000_000_000n)).toBe(costOf(energy, at))
        expect(timesNano(-energy, at)).toBe(-costOf(energy, at))
      }),
      { numRuns: 2000 },
    )
  })

  it('rounds a cost that lies between two to the even one', () => {
    // 0.5 and 1.5 of 1e-9
    expect([costOf(1n, 500_000_000n), costOf(3n, 500_000_000n), costOf(3n, -500_000_000n)]).toEqual([0n, 2n, -2n])
  })
})

describe('decimals', () => {
  it.each([
    ['0.1', 100_000_000n],
    ['-0.123456789', -123_456_789n],
    ['1e-9', 1n],
    ['2.5E+2', 250_000_000_000n],
    ['1000000', 1_000_000_000_000_000n],
    ['0.1000000000000000000000', 100_000_000n],
    ['-0', 0n],
    ['0e99999', 0n],
  ])('%s is read exactly', (text, value) => {
    expect(read9(text)).toBe(value)
  })

  it.each([
    ['1000000.000000001', 'value_out_of_range'],
    ['1e400', 'value_out_of_range'],
    ['-1e99999999999999999999', 'value_out_of_range'],
    ['0.0000000001', 'field_invalid'],
    ['1e-400', 'field_invalid'],
    ['0.123456789012345678', 'field_invalid'],
    ['123456789012345678', 'field_invalid'],
    ['01', 'field_invalid'],
    ['1.', 'field_invalid'],
    ['.5', 'field_invalid'],
    ['+1', 'field_invalid'],
    ['', 'field_invalid'],
    ['NaN', 'field_invalid'],
    ['0x10', 'field_invalid'],
  ])('%s is refused as %s', (text, code) => {
    expect(read9(text)).toBe(code)
  })

  it('are rounded half to even where a rule allows it', () => {
    const rule = { scale: 2, min: 0n, max: 1_000n, round: true }
    expect(['0.125', '0.135', '1e-400', '-0.001'].map(text => read9(text, rule))).toEqual([
      12n,
      14n,
      0n,
      'value_out_of_range',
    ])
  })

  it('are written without trailing zeros and read back as they were', () => {
    expect([
      formatDecimal(1_500_000_000n, 9),
      formatDecimal(-1n, 9),
      formatDecimal(0n, 9),
      formatDecimal(70n, 0),
    ]).toEqual(['1.5', '-0.000000001', '0', '70'])
    fc.assert(
      fc.property(fc.bigInt({ min: price.min, max: price.max }), value => {
        const text = formatDecimal(value, 9)
        expect(read9(text)).toBe(value)
        expect(JSON.stringify(JSON.parse(text))).toBe(JSON.stringify(Number(text)))
      }),
    )
  })
})

describe('energy', () => {
  it.each([
    // 1.5 kWh = 1500 Wh
    ['1.5', 'KWH', 0, 1_500_000_000n],
    ['0.0000005', 'WH', 0, 0n],
    ['0.0000015', 'WH', 0, 2n],
    // 1 W over 1 ms = 1 / 3.6 of 1e-6 Wh
    ['1', 'W', 1, 0n],
    // 9 W over 1 ms = 2.5 of 1e-6 Wh
    ['9', 'W', 1, 2n],
    // 7.4 kW over 25 minutes = 7400 × 25 / 60 Wh = 3083.333333…
    ['7.4', 'KW', 1_500_000, 3_083_333_333n],
    ['11', 'KW', 0, 0n],
    ['100000000', 'KWH', 0, maxRecordEnergy],
  ] as const)('%s %s over %d ms is %d', (text, units, elapsed, energy) => {
    expect(energyOf(text, units, elapsed)).toBe(energy)
  })

  it.each([
    ['-1', 'WH', 'value_out_of_range'],
    ['-0.0000001', 'WH', 'value_out_of_range'],
    ['100000000.000000001', 'KWH', 'field_invalid'],
    ['100000000.00000001', 'KWH', 'value_out_of_range'],
    ['1e400', 'W', 'value_out_of_range'],
    ['1e', 'W', 'field_invalid'],
    ['1,5', 'W', 'field_invalid'],
    ['00', 'W', 'field_invalid'],
  ] as const)('%s %s is refused as %s', (text, units, code) => {
    expect(energyOf(text, units)).toBe(code)
  })

  it('is exact for every text, however it is written', () => {
    const texts = fc.tuple(fc.bigInt({ min: 0n, max: 10n ** 14n }), fc.integer({ min: 0, max: 9 }))
    fc.assert(
      fc.property(
        texts,
        fc.constantFrom<EnergyUnits>('W', 'KW', 'WH', 'KWH'),
        fc.integer({ min: 0, max: year }),
        ([digits, decimals], units, ms) => {
          const kilo = units.startsWith('K') ? 1000n : 1n
          const perHour = units.endsWith('H') ? 3_600_000n : BigInt(ms)
          const exact = exactHalfEven(digits * kilo * perHour * 1_000_000n, 3_600_000n * 10n ** BigInt(decimals))
          const expected = exact > maxRecordEnergy ? 'value_out_of_range' : exact
          expect(energyOf(formatDecimal(digits, decimals), units, ms)).toBe(expected)
          expect(energyOf(`${digits}e-${decimals}`, units, ms)).toBe(expected)
        },
      ),
      { numRuns: 1000 },
    )
  })
})

describe('a number text', () => {
  const one = (length: number): string => `1.${'0'.repeat(length - 2)}`

  it('may have 400 characters, and is refused from 401 characters', () => {
    expect(read9(one(400))).toBe(1_000_000_000n)
    expect(energyOf(one(400), 'WH')).toBe(1_000_000n)
    const tooLong = {
      ok: false,
      refusal: { code: 'field_invalid', message: 'fixed must be a number of at most 400 characters', field: 'fixed' },
    }
    for (const text of [one(401), '0'.repeat(401), `1${'0'.repeat(400)}`, `1e${'0'.repeat(399)}`, 'x'.repeat(401)]) {
      expect(readDecimal(text, price, 'fixed')).toEqual(tooLong)
      expect(readEnergy(text, 'KWH', 1, 'fixed')).toEqual(tooLong)
    }
  })

  it.each(['1', '-1', '0.'])('that begins with %s and has zeros within is read by its digits', start => {
    const rule = { scale: 9, min: -(10n ** 30n), max: 10n ** 30n }
    const written = `${start}${'0'.repeat(15)}1`
    const expected = BigInt(Number(start === '0.' ? 0 : start)) * 10n ** 25n
    expect(readDecimal(start === '0.' ? `${start}0000001` : written, rule, 'x')).toMatchObject({
      value: start === '0.' ? 100n : expected + (expected < 0n ? -(10n ** 9n) : 10n ** 9n),
    })
  })
})
