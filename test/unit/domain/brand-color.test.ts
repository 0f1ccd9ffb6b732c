import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  type Color,
  contrastOf,
  contrastOnPage,
  minContrast,
  readColor,
  shadeOnDark,
  shadeOnLight,
  writeColor,
} from '../../../services/domain/brand-color.ts'

const channel = fc.integer({ min: 0, max: 255 })
const color = fc.tuple(channel, channel, channel)
const colorOf = (text: string): Color => readColor(text) ?? [0, 0, 0]
const dark = colorOf('#141d19')

describe('the contrast of two colours', () => {
  it.each([
    ['#000000', '#ffffff', 21],
    ['#ffffff', '#000000', 21],
    ['#123456', '#123456', 1],
    // Known values of the recommendation: #767676 is the lightest grey that text on white may have.
    ['#767676', '#ffffff', 4.54],
    ['#777777', '#ffffff', 4.48],
    ['#ff0000', '#ffffff', 4],
    ['#0000ff', '#ffffff', 8.59],
  ])('%s and %s is %d', (one, other, contrast) => {
    expect(contrastOf(colorOf(one), colorOf(other))).toBeCloseTo(contrast, 2)
  })
})

describe('the shades of a colour', () => {
  it('can be read on light and on dark pages', () => {
    fc.assert(
      fc.property(color, one => {
        expect(contrastOnPage(shadeOnLight(one))).toBeGreaterThanOrEqual(minContrast)
        expect(contrastOf(shadeOnDark(one), dark)).toBeGreaterThanOrEqual(minContrast)
      }),
    )
  })

  it('are the colour itself if people can read it', () => {
    fc.assert(
      fc.property(color, one => {
        if (contrastOnPage(one) >= minContrast) expect(shadeOnLight(one)).toEqual(one)
        expect(shadeOnLight(shadeOnLight(one))).toEqual(shadeOnLight(one))
        expect(readColor(writeColor(one))).toEqual(one)
      }),
    )
  })
})
