/* Decimals as integers of the smallest unit, independent of the arithmetic of the service. */

/** Remove the zeros at the end of a text. */
const withoutZeros = (text: string): string => {
  let end = text.length
  while (text[end - 1] === '0') end -= 1
  return text.slice(0, end)
}

/** Read a decimal as an integer of 10^-places. Throws a RangeError if the text has more decimals than that. */
export const units = (text: string, decimals: number): bigint => {
  const [, sign, whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(text) ?? []
  const shift = decimals - fraction.length + Number(exponent)
  const digits = BigInt(whole + fraction)
  if (sign === undefined || (shift < 0 && digits % 10n ** BigInt(-shift) !== 0n))
    throw new RangeError(`"${text}" is not a number with at most ${decimals} decimals.`)
  const size = shift < 0 ? digits / 10n ** BigInt(-shift) : digits * 10n ** BigInt(shift)
  return sign === '-' ? -size : size
}

/** Write an integer of 10^-places as a decimal. */
export const decimal = (value: bigint, decimals: number): string => {
  const digits = String(value < 0n ? -value : value).padStart(decimals + 1, '0')
  const fraction = withoutZeros(digits.slice(-decimals))
  const text = `${digits.slice(0, -decimals)}${fraction === '' ? '' : `.${fraction}`}`
  return value < 0n ? `-${text}` : text
}

type Reviver = (this: unknown, key: string, value: unknown, context: { readonly source?: string }) => unknown

/** Parse JSON. Each number becomes the text of its digits. */
export const parseExactly = (text: string): unknown => {
  const asText: Reviver = (_, value, { source }) => (typeof value === 'number' ? source : value)
  return JSON.parse(text, asText as (key: string, value: unknown) => unknown)
}
