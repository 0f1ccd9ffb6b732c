import { describe, expect, it } from 'vitest'
import { tierSteps } from '../../../services/console/objects/tier-steps.ts'

/** Values of an attribute in the order of the shapes. */
const valuesOf = (markup: string, name: string): readonly number[] =>
  [...markup.matchAll(new RegExp(`<rect[^>]* ${name}="([\\d.]+)`, 'g'))].map(([, value]) => Number(value))

describe('the picture of tiers', () => {
  it('draws each tier between its bounds, as high as its price', () => {
    const tiers = [
      { to: 100, price: 0.2, text: '0.2 up to 100 kWh' },
      { to: 200, price: 0.4, text: '0.4 up to 200 kWh' },
      { to: null, price: 0, text: '0' },
    ]
    const markup = tierSteps('Price by energy', 'EUR/kWh', tiers).toString()
    // The picture is 260 kWh wide: 200 kWh × 1.3.
    expect(valuesOf(markup, 'x')).toEqual([0, 38.462, 76.923])
    expect(valuesOf(markup, 'width')).toEqual([38.462, 38.462, 23.077])
    const [first = 0, second = 0, last = 0] = valuesOf(markup, 'height')
    expect(Math.abs(second - 2 * first)).toBeLessThan(0.2)
    expect(last).toBe(1)
    for (const text of ['0 kWh', '100 kWh', '200 kWh', '0.4 up to 200 kWh']) expect(markup).toContain(text)
  })

  it('has at most 8 labels below 32 tiers', () => {
    const tiers = Array.from({ length: 32 }, (_, index) => ({
      to: index === 31 ? null : (index + 1) * 1_000,
      price: 0.1,
      text: '',
    }))
    const labels =
      tierSteps('Price by energy', 'EUR/kWh', tiers)
        .toString()
        .match(/>[\d,]+ kWh</g) ?? []
    expect(labels).toHaveLength(8)
  })
})
