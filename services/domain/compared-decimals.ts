import { formatDecimal } from './quantity.ts'

const tenTo = (exponent: number): bigint => 10n ** BigInt(exponent)

/** Number of decimals without trailing zeros. */
const decimalsOf = (value: bigint, scale: number): number => {
  const [, fraction = ''] = formatDecimal(value, scale).split('.')
  return fraction.length
}

/**
 * Write two numbers of the same scale for a message that compares them. `stated` is written exactly. `found` is rounded
 * away from it, to `decimals` or as many as `stated` has. Different numbers have different texts in the same order.
 */
export const comparedDecimals = (
  stated: bigint,
  found: bigint,
  { scale, decimals }: { readonly scale: number; readonly decimals: number },
): { readonly stated: string; readonly found: string } => {
  const unit = tenTo(scale - Math.min(scale, Math.max(decimals, decimalsOf(stated, scale))))
  const below = found - (((found % unit) + unit) % unit)
  const rounded = found > stated && below !== found ? below + unit : below
  return { stated: formatDecimal(stated, scale), found: formatDecimal(rounded, scale) }
}
