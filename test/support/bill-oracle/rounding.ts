import type { StatementBody } from './bill-input.ts'
import { billion, fraction, roundHalfAway } from './fraction.ts'

/** Currencies of ISO 4217 with other than two decimals. */
const currenciesByDecimals: readonly (readonly [decimals: number, codes: string])[] = [
  [0, 'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF'],
  [3, 'BHD IQD JOD KWD LYD OMR TND'],
  [4, 'CLF UYW'],
]

const decimalsOf = (currencyCode: string): number =>
  currenciesByDecimals.find(([, codes]) => codes.split(' ').includes(currencyCode))?.[0] ?? 2

/** Return the size of a minor unit in 1e-9: of the requested decimals, or of the currency. */
export const unitOf = ({ rounding }: StatementBody, currencyCode: string): bigint =>
  billion / 10n ** BigInt(rounding?.decimals ?? decimalsOf(currencyCode))

/** Round an amount in 1e-9 to whole units, halves away from zero. */
export const roundToUnit = (nano: bigint, unit: bigint): bigint => roundHalfAway(fraction(nano, unit)) * unit

const cutDown = (nano: bigint, unit: bigint): bigint => nano - (((nano % unit) + unit) % unit)

/**
 * Round amounts so that they add up to their rounded total: cut every amount down, and give the missing units to the
 * largest remainders. If remainders are equal, the earlier amount gets the unit.
 */
export const largestRemainder = (amounts: readonly bigint[], unit: bigint): bigint[] => {
  const total = roundToUnit(
    amounts.reduce((sum, amount) => sum + amount, 0n),
    unit,
  )
  const cut = amounts.map(amount => cutDown(amount, unit))
  let missing = (total - cut.reduce((sum, amount) => sum + amount, 0n)) / unit
  const places = amounts
    .map((amount, place) => ({ place, remainder: amount - (cut[place] ?? 0n) }))
    .sort((a, b) => (a.remainder === b.remainder ? a.place - b.place : a.remainder > b.remainder ? -1 : 1))
  const rounded = [...cut]
  for (const { place } of places) {
    if (missing === 0n) break
    rounded[place] = (rounded[place] ?? 0n) + unit
    missing -= 1n
  }
  return rounded
}
