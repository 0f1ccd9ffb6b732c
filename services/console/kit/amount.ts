import { type JsonNumber, numberText } from '../../contract/json/exact-number.ts'
import { formatDecimal } from '../../domain/quantity.ts'
import { type Html, html } from '../../web/ui-kit/html.ts'

/** Number of an answer of the API, or its decimal text. */
export type Amount = JsonNumber | string

/** Return the exact decimal text of a number. */
export const exactText = (amount: Amount): string => (typeof amount === 'string' ? amount : numberText(amount))

const sumScale = 12
const decimalPattern = /^(-?)(\d+)(?:\.(\d{1,12}))?$/

const scaledValue = (text: string): bigint => {
  const [, sign = '', whole = '0', fraction = ''] = decimalPattern.exec(text) ?? []
  const value = BigInt(whole + fraction.padEnd(sumScale, '0'))
  return sign === '-' ? -value : value
}

/** Add decimal texts without rounding. Texts have at most 12 decimals. */
export const sumTexts = (texts: readonly string[]): string =>
  formatDecimal(
    texts.reduce((sum, text) => sum + scaledValue(text), 0n),
    sumScale,
  )

/** Compare two decimal texts exactly. */
export const compareTexts = (a: string, b: string): number => {
  const difference = scaledValue(a) - scaledValue(b)
  return difference < 0n ? -1 : difference > 0n ? 1 : 0
}

/** Subtract decimal texts without rounding. */
export const differenceOf = (a: string, b: string): string => formatDecimal(scaledValue(a) - scaledValue(b), sumScale)

/** Divide a decimal text by 1,000 without rounding. Texts have at most 9 decimals. */
const thousandth = (text: string): string => formatDecimal(scaledValue(text), sumScale + 3)

const formats = new Map<string, Intl.NumberFormat>()

const formatOf = (key: string, options: Intl.NumberFormatOptions): Intl.NumberFormat => {
  const known = formats.get(key)
  if (known !== undefined) return known
  const created = new Intl.NumberFormat('en', { roundingMode: 'halfEven', ...options })
  formats.set(key, created)
  return created
}

/** Number of decimals of an amount in a currency. */
const decimalsOf = (currency: string): number =>
  formatOf(`currency ${currency}`, { style: 'currency', currency }).resolvedOptions().maximumFractionDigits ?? 2

const roundTo = (text: string, decimals: number, minimum = decimals): string =>
  formatOf(`decimals ${minimum} ${decimals}`, {
    minimumFractionDigits: minimum,
    maximumFractionDigits: decimals,
  }).format(text as `${number}`)

const rounded = (exact: string, shown: string, unit: string): Html =>
  html`<data class="amount" value="${exact}" title="Exact: ${exact} ${unit}">${shown}&nbsp;${unit}</data>`

/** Round an amount as money of a currency. The exact amount is the title and the value. */
export const money = (amount: Amount | null, currency: string): Html => {
  if (amount === null) return html`<span class="none">no price</span>`
  const exact = exactText(amount)
  return rounded(exact, roundTo(exact, decimalsOf(currency)), currency)
}

/** Show kilowatt-hours with at most 3 decimals. */
export const energyInKwh = (exact: string): Html => rounded(exact, roundTo(exact, 3, 0), 'kWh')

/** Show watt-hours as kWh with at most 3 decimals. */
export const energy = (wattHours: Amount): Html => energyInKwh(thousandth(exactText(wattHours)))

/** Show a power with at most 3 decimals. */
export const power = (value: Amount, unit: 'W' | 'kW'): Html => {
  const exact = exactText(value)
  return rounded(exact, roundTo(exact, 3, 0), unit)
}

/** Return watt-hours as exact kWh. */
export const kilowattHours = (wattHours: Amount): string => thousandth(exactText(wattHours))

/** Show a price per kWh with at least the decimals of money, and at most 5. */
export const unitPrice = (price: Amount, currency: string): Html => {
  const exact = exactText(price)
  return rounded(exact, roundTo(exact, 5, 2), `${currency}/kWh`)
}

/** Show a whole number with separators. */
export const wholeNumber = (count: Amount): string => roundTo(exactText(count), 0)

/** Write an exact number with separators. */
export const separated = (amount: Amount): string => roundTo(exactText(amount), sumScale, 0)

/** Write a count with its noun: "1 record", "2 records". */
export const counted = (count: Amount, noun: string): string =>
  `${wholeNumber(count)} ${noun}${exactText(count) === '1' ? '' : 's'}`

/** Show a fraction as percent. */
export const percent = (fraction: Amount): string => `${roundTo(String(Number(exactText(fraction)) * 100), 1, 0)} %`
