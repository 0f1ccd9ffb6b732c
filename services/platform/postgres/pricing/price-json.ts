import { formatDecimal, type Percentage, percentageScale } from '../../../domain/quantity.ts'

/** Members that are percentages. Stored prices have them in 1e-9 with up to 6 decimals: 0.19 is 190000000. */
const percentageMembers: ReadonlySet<string> = new Set(['surchargePercentage', 'rate'])
const storedScale = percentageScale - 9

/**
 * Replacer of `JSON.stringify` for stored prices: integers and percentages as decimal texts.
 * Law: `percentageFromText` returns the percentage.
 */
export const pricesAsTexts = (name: string, value: unknown): unknown =>
  typeof value === 'bigint' && percentageMembers.has(name)
    ? formatDecimal(value, storedScale)
    : typeof value === 'bigint'
      ? value.toString()
      : value

/** Read a percentage of stored prices. */
export const percentageFromText = (text: string): Percentage => {
  const [whole = '', decimals = ''] = text.split('.')
  return BigInt(`${whole}${decimals.padEnd(storedScale, '0')}`)
}
