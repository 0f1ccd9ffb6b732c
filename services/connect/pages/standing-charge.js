import { element, field, numberInput } from './element.js'
import { invalidNumber } from './errors.js'
import { amountText, amountUnit, readAmount } from './money.js'
import { text } from './texts.js'

const units = ['DAY', 'MONTH', 'YEAR']

/** Bills state a charge per day in small units, and other charges in large ones. */
const isSmall = per => per === 'DAY'

/**
 * Create the optional field of a standing charge, with its unit of time. Without a charge in the data, the page does
 * not ask for it.
 */
export const standingChargeField = ({ standing_charge: charge, currency_code: currency }) => {
  if (charge === undefined) return { fields: [], faults: () => [], read: () => ({}) }
  const amount = numberInput(amountText(charge.amount, currency, isSmall(charge.per)))
  const period = element(
    'select',
    { 'aria-label': text('standing.period') },
    ...units.map(unit => element('option', { value: unit, selected: unit === charge.per }, text(`standing.${unit}`))),
  )
  const made = field(text('standing.label'), amount, { name: 'amount', hint: text('standing.hint'), unit: '' })
  const unit = made.querySelector('.unit')
  const showUnit = () => {
    unit.textContent = amountUnit(currency, isSmall(period.value))
  }
  period.addEventListener('change', showUnit)
  showUnit()
  unit.after(period)
  const read = () => readAmount(amount.value, currency, isSmall(period.value))
  const isEmpty = () => amount.value.trim() === ''
  return {
    fields: [made],
    faults: () => (isEmpty() ? [] : invalidNumber('amount', 'error.amount', Number(read()) >= 0 ? read() : undefined)),
    read: () => ({ standing_charge: { amount: isEmpty() ? 0 : read(), per: period.value } }),
  }
}
