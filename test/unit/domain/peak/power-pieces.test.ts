import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { DemandCharge } from '../../../../services/domain/charge/charge.ts'
import { fractionOf } from '../../../../services/domain/fraction.ts'
import { costAt, isRising, powerPieces } from '../../../../services/domain/peak/power-pieces.ts'
import { billPower, powerMoney } from '../../../../services/domain/statement/bill-demand.ts'
import { demandCharge } from './charged-site.ts'

const power = (max: number) => fc.integer({ min: 0, max }).map(tenths => BigInt(tenths) * 100_000_000n)
const money = fc.integer({ min: 0, max: 900 }).map(cents => BigInt(cents) * 10_000_000n)

const prices: fc.Arbitrary<Partial<DemandCharge>> = fc.oneof(
  money.map(price => ({ price })),
  fc.tuple(power(90), money, money).map(([to, price, other]) => ({
    price: null,
    tiers: [
      { to: to + 100_000_000n, price },
      { to: null, price: other },
    ],
  })),
  fc.tuple(power(90), money, fc.constantFrom('LOWER_INCLUSIVE', 'LOWER_EXCLUSIVE')).map(([from, amount, stepEdge]) => ({
    price: null,
    stepEdge,
    steps: [
      { from: 0n, amount: 0n },
      { from: from + 100_000_000n, amount },
    ],
  })),
)

const charges = fc
  .record({
    over: fc.constantFrom('PERIOD', 'ROLLING'),
    rolling: fc.constantFrom('MEAN', 'MAX'),
    monthFloor: power(40),
    floor: power(40),
    above: power(20),
    ratchet: fc.option(fc.constant({ share: 800_000_000n, months: 11, inMonths: [] }), { nil: null }),
    rounding: fc.option(
      fc.record({
        to: power(20).map(to => to + 300_000_000n),
        mode: fc.constantFrom('HALF_UP', 'HALF_EVEN', 'UP', 'DOWN'),
      }),
      { nil: null },
    ),
  })
  .chain(terms => prices.map(price => demandCharge({ ...terms, ...price } as Partial<DemandCharge>)))

const earlierPowers = fc.array(
  power(120).map(one => fractionOf(one)),
  { maxLength: 4 },
)

describe('the pieces of the cost of a power', () => {
  it('have the amount of the line at every power apart from their edges', () => {
    const measured = fc.integer({ min: 1, max: 99_999_999 }).map(value => BigInt(value) * 150n + 7n)
    fc.assert(
      fc.property(charges, earlierPowers, earlierPowers, measured, (charge, rolling, ratchet, watts) => {
        const earlier = { rolling, ratchet }
        const pieces = powerPieces(charge, earlier, 0.5, 16)
        const kilowatts = Number(watts) / 1e9
        fc.pre(pieces.every(({ from, to }) => Math.abs(from - kilowatts) > 1e-7 && Math.abs(to - kilowatts) > 1e-7))
        const amount = Number(powerMoney(charge, billPower(charge, fractionOf(watts), earlier).power)) / 1e18 / 2
        expect(costAt(pieces, kilowatts)).toBeCloseTo(amount, 7)
      }),
      { numRuns: 1_000 },
    )
  })

  it('cover all powers in order', () => {
    fc.assert(
      fc.property(charges, earlierPowers, (charge, rolling) => {
        const pieces = powerPieces(charge, { rolling, ratchet: [] }, 1, 16)
        expect(pieces[0]?.from).toBe(0)
        expect(pieces.at(-1)?.to).toBeGreaterThanOrEqual(16 - 1e-9)
        for (const [index, { from }] of pieces.entries())
          if (index > 0) expect(from).toBeCloseTo(pieces[index - 1]?.to ?? 0, 9)
      }),
    )
  })

  it('never exceed the amount of a power that is rounded to many multiples', () => {
    const rounding = { to: 10_000_000n, mode: 'DOWN' } as const
    const charge = demandCharge({ rounding, price: 3_000_000_000n })
    const pieces = powerPieces(charge, { rolling: [], ratchet: [] }, 1, 16)
    for (const kilowatts of [0, 0.004, 5, 5.009, 15.999])
      expect(costAt(pieces, kilowatts)).toBeLessThanOrEqual(Math.floor(kilowatts * 100 + 1e-9) * 0.03 + 1e-9)
  })

  it('rise unless a step or a price falls', () => {
    const none = { rolling: [], ratchet: [] }
    const steps = (amounts: readonly bigint[]) =>
      demandCharge({
        price: null,
        steps: amounts.map((amount, index) => ({ from: BigInt(index) * 1_000_000_000n, amount })),
      })
    expect(isRising(powerPieces(demandCharge(), none, 1, 10))).toBe(true)
    expect(isRising(powerPieces(steps([1n, 5_000_000_000n, 7_000_000_000n]), none, 1, 10))).toBe(true)
    expect(isRising(powerPieces(steps([1n, 7_000_000_000n, 5_000_000_000n]), none, 1, 10))).toBe(false)
    expect(isRising(powerPieces(demandCharge({ price: -1_000_000_000n }), none, 1, 10))).toBe(false)
  })
})
