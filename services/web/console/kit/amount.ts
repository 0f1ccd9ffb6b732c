import { type JsonNumber, numberText } from '../../../contract/json/exact-number.ts'

/** Number of an answer of the API, or its decimal text. */
type Amount = JsonNumber | string

const exactText = (amount: Amount): string => (typeof amount === 'string' ? amount : numberText(amount))

const sumScale = 12
const decimalPattern = /^(-?)(\d+)(?:\.(\d{1,12}))?$/

const scaledValue = (text: string): bigint => {
  const [, sign = '', whole = '0', fraction = ''] = decimalPattern.exec(text) ?? []
  const value = BigInt(whole + fraction.padEnd(sumScale, '0'))
  return sign === '-' ? -value : value
}

/** Compare two decimal texts exactly. */
export const compareTexts = (a: string, b: string): number => {
  const difference = scaledValue(a) - scaledValue(b)
  return difference < 0n ? -1 : difference > 0n ? 1 : 0
}

const wholeFormat = new Intl.NumberFormat('en')

/** Show a whole number with separators. */
export const wholeNumber = (count: Amount): string => wholeFormat.format(exactText(count) as `${number}`)
