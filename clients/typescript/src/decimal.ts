declare const brand: unique symbol

/** Exact decimal number. Its text is the text on the wire. */
export type Decimal = {
  readonly [brand]: never
  /** The number as JSON writes it, such as `0.1234`. */
  readonly text: string
  readonly toString: () => string
  /** Value for `JSON.stringify`: the number, or its text as a string on Node 20. `writeExact` always writes the number. */
  readonly toJSON: () => unknown
}

const numberText = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d{1,3})?$/
const maxLength = 400

/** Function of Node 21 and newer. */
const { rawJSON } = JSON as { readonly rawJSON?: (text: string) => unknown }

const prototype = {
  toString(this: Decimal): string {
    return this.text
  },
  toJSON(this: Decimal): unknown {
    return rawJSON === undefined ? this.text : rawJSON(this.text)
  },
  [Symbol.toPrimitive](this: Decimal, hint: string): string {
    if (hint === 'string') return this.text
    throw new TypeError('A decimal has no exact value as a number. Use toUnits for arithmetic, or its text.')
  },
  [Symbol.for('nodejs.util.inspect.custom')](this: Decimal): string {
    return `Decimal(${this.text})`
  },
}

/**
 * Create a decimal from a number text, a bigint or an integer.
 * Throws a RangeError for a fraction in binary, such as `0.1` without quotes: its decimal digits are unknown.
 */
export const decimal = (value: string | bigint | number): Decimal => {
  if (typeof value === 'number' && !Number.isSafeInteger(value))
    throw new RangeError(`${value} is a binary fraction. Write the number as text: decimal('${value}').`)
  const text = String(value)
  if (text.length > maxLength || !numberText.test(text))
    throw new RangeError(`"${text.slice(0, 40)}" is not a decimal number. Write digits, such as decimal('0.25').`)
  return Object.freeze(Object.assign(Object.create(prototype) as object, { text })) as Decimal
}

/** Return true if a value is a decimal. */
export const isDecimal = (value: unknown): value is Decimal =>
  typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === prototype

/**
 * Return a decimal as a number of units of 10^-digits: `toUnits(decimal('1.961'), 9)` is 1961000000n.
 * Throws a RangeError if the decimal has more digits. Money has 9 digits, energy in Wh has 6.
 */
export const toUnits = ({ text }: Decimal, digits: number): bigint => {
  const [mantissa = '', exponent = '0'] = text.toLowerCase().split('e')
  const [whole = '', fraction = ''] = mantissa.split('.')
  const zeros = digits + Number(exponent) - fraction.length
  const units = BigInt(whole + fraction)
  if (zeros >= 0) return units * 10n ** BigInt(zeros)
  const divisor = 10n ** BigInt(-zeros)
  if (units % divisor !== 0n) throw new RangeError(`${text} has more than ${digits} decimal places.`)
  return units / divisor
}

/** Return the decimal of a number of units of 10^-digits, without trailing zeros. */
export const fromUnits = (units: bigint, digits: number): Decimal => {
  const [sign, size] = units < 0n ? ['-', -units] : ['', units]
  const text = size.toString().padStart(digits + 1, '0')
  const whole = text.slice(0, text.length - digits)
  let end = text.length
  while (end > whole.length && text[end - 1] === '0') end -= 1
  const fraction = text.slice(whole.length, end)
  return decimal(`${sign}${whole}${fraction === '' ? '' : `.${fraction}`}`)
}
