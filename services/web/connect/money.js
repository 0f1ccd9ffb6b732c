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

/** Unit of a price input. */
export const priceUnit = currency => `${smallUnits[currency] ?? currency ?? ''}/kWh`.replace(/^\//, 'per ')

const withDecimalPoint = text => {
  const trimmed = text.trim().replace(/\s/g, '')
  return trimmed.includes(',') && !trimmed.includes('.') ? trimmed.replace(',', '.') : trimmed
}

const isDecimal = text => /^[-+]?(\d+(\.\d*)?|\.\d+)$/.test(text)

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

/** Read a number with a decimal comma or point; undefined if the text is not a number. */
export const readNumber = text => {
  const decimalText = withDecimalPoint(text)
  return isDecimal(decimalText) ? Number(decimalText) : undefined
}

/** Read a price and convert it to large units; undefined if the text is not a number. */
export const readPrice = (text, currency) => {
  const decimalText = withDecimalPoint(text)
  if (!isDecimal(decimalText)) return undefined
  return Number(currency in smallUnits ? movePoint(decimalText, -2) : decimalText)
}

const plainText = value => {
  const text = String(value ?? 0)
  return /e/.test(text) ? withoutZeros(Number(text).toFixed(9)).replace(/\.$/, '') : text
}

/** Format an API price for an input; '' for zero, because zero means no price yet. */
export const priceText = (value, currency) => {
  if (Number(value ?? 0) === 0) return ''
  return currency in smallUnits ? movePoint(plainText(value), 2) : plainText(value)
}

/** Format a price with its unit: `28.12 p/kWh`. */
export const priceLabel = (value, currency) => {
  const smallUnitValue = Number(value) * (currency in smallUnits ? 100 : 1)
  const digits = Math.abs(smallUnitValue) >= 1 ? 2 : 4
  const text = smallUnitValue.toLocaleString(undefined, { minimumFractionDigits: 2, maximumFractionDigits: digits })
  return `${text} ${priceUnit(currency)}`
}
