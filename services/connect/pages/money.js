import { locale, text } from './texts.js'

// Users enter prices in small units (pence, cents). The page sends large units: it moves the point in the text.
const smallUnits = {
  GBP: 'p',
  EUR: 'ct',
  USD: '¢',
  CAD: '¢',
  AUD: '¢',
  NZD: '¢',
  SEK: 'öre',
  NOK: 'øre',
  DKK: 'øre',
  CHF: 'Rp.',
  PLN: 'gr',
}

/** Languages whose bills show prices per kilowatt-hour in large units of these currencies. */
const largeUnits = { fr: ['EUR'], nl: ['EUR'], es: ['EUR'], it: ['EUR'], pl: ['PLN'] }

const hasSmallUnit = currency =>
  currency in smallUnits && !largeUnits[document.documentElement.lang]?.includes(currency)

const symbolOf = currency =>
  new Intl.NumberFormat(locale, { style: 'currency', currency, currencyDisplay: 'narrowSymbol' })
    .formatToParts(0)
    .find(({ type }) => type === 'currency').value

/** Unit of a price input. */
export const priceUnit = currency => {
  if (!currency) return text('price.per', { unit: 'kWh' })
  return `${hasSmallUnit(currency) ? smallUnits[currency] : symbolOf(currency)}/kWh`
}

/** Format a whole number. */
export const numberLabel = number => number.toLocaleString(locale)

const decimalSeparator = new Intl.NumberFormat(locale).formatToParts(0.5).find(({ type }) => type === 'decimal').value

/**
 * Convert a number as people write it to a text with a decimal point. A single comma or point separates the decimals.
 * If both occur, the last one separates the decimals, and the others separate groups of three digits.
 */
const withDecimalPoint = input => {
  const trimmed = input.trim().replace(/[\s'’]/g, '')
  const separators = trimmed.match(/[.,]/g) ?? []
  if (separators.length < 2) return trimmed.replace(',', '.')
  const last = separators.at(-1)
  const index = trimmed.lastIndexOf(last)
  const [whole, decimals] = [trimmed.slice(0, index), trimmed.slice(index + 1)]
  const isGrouped = !whole.includes(last) && /^[-+]?\d{1,3}([.,]\d{3})+$/.test(whole)
  return isGrouped ? `${whole.replace(/[.,]/g, '')}.${decimals}` : trimmed
}

const isDecimal = input => /^[-+]?(\d+(\.\d*)?|\.\d+)$/.test(input)

/** Remove trailing zeros. */
const withoutZeros = text => {
  let end = text.length
  while (end > 0 && text[end - 1] === '0') end -= 1
  return text.slice(0, end)
}

/** Move the point of a decimal text: `movePoint('24.55', -2)` is '0.2455'. */
export const movePoint = (text, places) => {
  const [, sign, whole, fraction = ''] = /^([-+]?)(\d*)(?:\.(\d*))?$/.exec(text)
  const digits = whole + fraction
  const pointIndex = whole.length + places
  const padded = pointIndex < 0 ? '0'.repeat(-pointIndex) + digits : digits.padEnd(pointIndex, '0')
  const splitIndex = Math.max(pointIndex, 0)
  const wholePart = padded.slice(0, splitIndex).replace(/^0+(?=\d)/, '') || '0'
  const decimals = withoutZeros(padded.slice(splitIndex))
  return `${sign === '-' ? '-' : ''}${wholePart}${decimals === '' ? '' : `.${decimals}`}`
}

/** Read a number with a decimal comma or point, as decimal text; undefined if the input is not a number. */
export const readNumber = input => {
  const decimalText = withDecimalPoint(input)
  return isDecimal(decimalText) ? movePoint(decimalText, 0) : undefined
}

/** Read a price as decimal text in large units; undefined if the input is not a number. */
export const readPrice = (input, currency) => {
  const decimalText = withDecimalPoint(input)
  return isDecimal(decimalText) ? movePoint(decimalText, hasSmallUnit(currency) ? -2 : 0) : undefined
}

const plainText = value => {
  const digits = String(value ?? 0)
  return /e/.test(digits) ? withoutZeros(Number(digits).toFixed(9)).replace(/\.$/, '') : digits
}

/** Format a number for an input, with all of its decimals. */
export const numberText = value => plainText(value).replace('.', decimalSeparator)

/** Format an API price for an input; '' for zero, because zero means no price yet. */
export const priceText = (value, currency) => {
  if (Number(value ?? 0) === 0) return ''
  return numberText(hasSmallUnit(currency) ? movePoint(plainText(value), 2) : plainText(value))
}

/** Unit of an amount of money: small units such as p, or the symbol of the currency. */
export const amountUnit = (currency, isSmall) => {
  if (!currency) return ''
  return isSmall && hasSmallUnit(currency) ? smallUnits[currency] : symbolOf(currency)
}

/** Read an amount as decimal text in large units; undefined if the input is not a number. */
export const readAmount = (input, currency, isSmall) => {
  const decimalText = withDecimalPoint(input)
  return isDecimal(decimalText) ? movePoint(decimalText, isSmall && hasSmallUnit(currency) ? -2 : 0) : undefined
}

/** Format an amount for an input; '' for zero. */
export const amountText = (value, currency, isSmall) => {
  if (Number(value ?? 0) === 0) return ''
  return numberText(isSmall && hasSmallUnit(currency) ? movePoint(plainText(value), 2) : plainText(value))
}

/** Format an amount of money with its unit: `60.97 p` or `12.90 €`. */
export const amountLabel = (value, currency, isSmall) => {
  const digits = { minimumFractionDigits: 2, maximumFractionDigits: 4 }
  if (isSmall && hasSmallUnit(currency))
    return `${(Number(value) * 100).toLocaleString(locale, digits)} ${smallUnits[currency]}`
  if (!currency) return Number(value).toLocaleString(locale, digits)
  return Number(value).toLocaleString(locale, {
    style: 'currency',
    currency,
    currencyDisplay: 'narrowSymbol',
    ...digits,
  })
}

/** Example of a price in the unit of its input: 31.9 in small units. */
export const examplePrice = currency => (hasSmallUnit(currency) ? 31.9 : 0.319).toLocaleString(locale)

/** Format a price with its unit: `28.12 p/kWh`. */
export const priceLabel = (value, currency) => {
  const isSmall = hasSmallUnit(currency)
  const shown = Number(value) * (isSmall ? 100 : 1)
  const digits = isSmall && Math.abs(shown) >= 1 ? 2 : 4
  const number = shown.toLocaleString(locale, { minimumFractionDigits: 2, maximumFractionDigits: digits })
  return `${number} ${priceUnit(currency)}`
}
