import type { Energy, EnergyUnits } from '../quantity.ts'

const maxExactValue = 1e15

/**
 * Give the energy of a value in WH or KWH that a double stands for without loss, in numbers alone; undefined where `readEnergy` must
 * read the text: power, values below zero, finer than 1e-6 Wh, or with more than 15 digits.
 * A whole number m < 1e15 with m / 1e6 = value is that value's decimal in 1e-6: no two decimals of 15 digits share a double.
 */
export const exactEnergyOf = (value: number, units: EnergyUnits): Energy | undefined => {
  const scaleFactor = units === 'WH' ? 1e6 : units === 'KWH' ? 1e9 : 0
  const scaledValue = Math.round(value * scaleFactor)
  return scaleFactor !== 0 && scaledValue >= 0 && scaledValue < maxExactValue && scaledValue / scaleFactor === value
    ? BigInt(scaledValue)
    : undefined
}
