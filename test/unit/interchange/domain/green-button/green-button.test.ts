import { describe, expect, it } from 'vitest'
import type { EspiValue } from '../../../../../services/interchange/domain/green-button/espi.ts'
import { readingMeaning } from '../../../../../services/interchange/domain/green-button/feed.ts'
import { readIntervalReading } from '../../../../../services/interchange/domain/green-button/interval-reading.ts'

const energy = { uom: '72', flowDirection: '1', accumulationBehaviour: '4', powerOfTenMultiplier: '0' }

describe('a ReadingType', () => {
  it.each([
    [{}, { exponent: 0, units: 'WH', flow: 'INBOUND', isRegister: false }],
    [
      { uom: '38', powerOfTenMultiplier: '3' },
      { exponent: 3, units: 'W', flow: 'INBOUND', isRegister: false },
    ],
    [{ flowDirection: '19' }, { exponent: 0, units: 'WH', flow: 'OUTBOUND', isRegister: false }],
    [{ flowDirection: '4' }, { exponent: 0, units: 'WH', flow: 'NET', isRegister: false }],
    [{ accumulationBehaviour: '3' }, { exponent: 0, units: 'WH', flow: 'INBOUND', isRegister: true }],
    [{ accumulationBehaviour: '9' }, { exponent: 0, units: 'WH', flow: 'INBOUND', isRegister: true }],
    [{ uom: '119' }, { reason: 'unit' }],
    [{ flowDirection: '20' }, { reason: 'unit' }],
    [{ accumulationBehaviour: '6' }, { reason: 'unit' }],
    [{ uom: '38', accumulationBehaviour: '9' }, { reason: 'power_reading' }],
    [{ flowDirection: '4', accumulationBehaviour: '9' }, { reason: 'netting' }],
    [{ powerOfTenMultiplier: 'x' }, { reason: 'unit' }],
  ])('%j gives its values a meaning, or keeps them out', (change, meaning) => {
    expect(readingMeaning({ ...energy, ...change })).toMatchObject(meaning)
  })
})

const read = (reading: EspiValue, change: object = {}) => {
  const meaning = { exponent: 0, units: 'WH', flow: 'INBOUND', isRegister: false, ...change } as const
  const row = readIntervalReading(reading, 7, { location: { id: 'l' }, device: null, meaning })
  if ('code' in row) return row.code
  const { value, confidence, directions, start, end } = row
  return [value, confidence, directions?.energyFlowDirection, start / 1000, end / 1000]
}

const reading = (value: string, more: { readonly [name: string]: EspiValue } = {}): EspiValue => ({
  timePeriod: { start: '1767225600', duration: '900' },
  value,
  ...more,
})

describe('an IntervalReading', () => {
  it.each([
    ['12', 0, '12'],
    ['12', 3, '12000'],
    ['12', -1, '1.2'],
    ['12', -3, '0.012'],
    ['0', 2, '0'],
    ['123456', -6, '0.123456'],
  ])('of %s × 10^%d is exactly %s', (value, exponent, energyText) => {
    expect(read(reading(value), { exponent })).toEqual([energyText, null, 'INBOUND', 1767225600, 1767226500])
  })

  it('of negative net energy is sold energy, and of other energy is refused', () => {
    expect(read(reading('-5'), { flow: 'NET' })).toEqual(['5', null, 'OUTBOUND', 1767225600, 1767226500])
    expect(read(reading('-5'))).toBe('value_out_of_range')
  })

  it.each([
    ['0 7 14 17 18 19', null],
    ['8 9 11 13 15 16', '0.9'],
    ['10 12', '0.5'],
  ])('with a quality of %s has confidence %s', (qualities, confidence) => {
    for (const quality of qualities.split(' '))
      expect(read(reading('1', { ReadingQuality: [{ quality }] }))[1]).toBe(confidence)
  })

  it('with several qualities has the lowest, and an unknown one is refused', () => {
    expect(read(reading('1', { ReadingQuality: [{ quality: '8' }, { quality: '10' }] }))[1]).toBe('0.5')
    expect(read(reading('1', { ReadingQuality: [{ quality: '99' }] }))).toBe('field_invalid')
  })

  it('without duration, time or number is refused', () => {
    expect(read({ timePeriod: { start: '1767225600', duration: '0' }, value: '1' })).toBe('zero_duration')
    expect(read({ timePeriod: { start: '1767225600', duration: '0' }, value: '1' }, { isRegister: true })).toHaveLength(
      5,
    )
    expect(read({ timePeriod: { start: 'now', duration: '900' }, value: '1' })).toBe('not_a_time')
    expect(read(reading('1.5'))).toBe('not_a_number')
  })
})
