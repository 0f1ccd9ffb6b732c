import { chosenIn, element } from './element.js'
import { examplePrice, readPrice } from './money.js'
import { locale, text } from './texts.js'

/** Return the error of a missing text; an empty list if there is a text. */
export const missingText = (input, field, key) => (input.value.trim() === '' ? [{ field, message: text(key) }] : [])

/** Return the error of a choice without a selected option; an empty list if one is selected. */
export const missingChoice = (form, name, key) =>
  chosenIn(form, name) === '' ? [{ field: name, message: text(key) }] : []

/** Return the error of a number that was not read; an empty list if it was. */
export const invalidNumber = (field, key, number) =>
  number === undefined ? [{ field, message: text(key, { example: (18.5).toLocaleString(locale) }) }] : []

/** Texts of the error codes of the service, as keys. */
const codeTexts = {
  address_line1_missing: 'error.address_line1',
  post_code_missing: 'error.post_code',
  city_missing: 'error.city',
  country_code_missing: 'error.country',
  country_code_invalid: 'error.country',
  geo_location_not_found: 'error.address_not_found',
  provider_id_missing: 'error.supplier',
  provider_not_found: 'error.supplier',
  provider_id_invalid: 'error.supplier',
  provider_name_missing: 'error.supplier_name',
  tariff_id_missing: 'error.tariff',
  tariff_not_found: 'error.tariff',
  tariff_id_invalid: 'error.tariff',
  tariff_name_missing: 'error.tariff_name',
  option_invalid: 'error.structure',
  option_not_supported: 'error.structure',
  valid_from_invalid: 'error.overlap',
  valid_to_invalid: 'error.same_time',
  gap_in_time_period: 'error.gap',
  incomplete_time_period: 'error.gap',
  market_region_invalid: 'error.region',
  end_before_start: 'error.end_before_start',
  date_format_invalid: 'error.end_before_start',
  tariff_overlap: 'error.tariff_overlap',
  unavailable: 'error.busy',
  rate_limited: 'error.busy',
  overloaded: 'error.busy',
}

/** Return an error of the service in the language of the page. An unexpected error has details for support. */
export const translateError = (error, currency) => {
  const { code, field, requestId } = error
  if (error.key !== undefined) return { message: text(error.key) }
  if (code === 'geo_location_not_found' && field?.endsWith('.state')) return { field, message: text('error.state') }
  if (code?.startsWith('cost_value_'))
    return { field, message: text('error.price', { example: examplePrice(currency) }) }
  if (code === 'surcharge_percentage_invalid')
    return { field, message: text('error.percentage', { example: (18.5).toLocaleString(locale) }) }
  if (code === 'data_json_invalid' && field?.startsWith('data.standing_charge'))
    return { field, message: text('error.amount', { example: (18.5).toLocaleString(locale) }) }
  if (codeTexts[code] !== undefined) return { field, message: text(codeTexts[code]) }
  return {
    message: text('error.unexpected'),
    details: [error.message, requestId && text('error.request_id', { id: requestId })],
  }
}

/** Return the error of a price that is not above zero; an empty list otherwise. */
export const invalidPrice = (input, field, currency) => {
  const price = readPrice(input.value, currency)
  return price !== undefined && Number(price) > 0
    ? []
    : [{ field, message: text('error.price', { example: examplePrice(currency) }) }]
}

/** Create the element of an error. The details are closed, because only support needs them. */
export const errorElement = ({ message, details }, attributes = {}) =>
  element(
    'div',
    { class: 'error', ...attributes },
    element('p', {}, message),
    details === undefined
      ? null
      : element(
          'details',
          {},
          element('summary', {}, text('error.details')),
          ...details.filter(Boolean).map(detail => element('p', {}, detail)),
        ),
  )

const inputsOf = field => (field.matches('fieldset') ? [...field.querySelectorAll('input')] : [field])

const clearErrors = form => {
  for (const old of form.querySelectorAll('.error')) old.remove()
  for (const input of form.querySelectorAll('[aria-invalid]')) {
    input.removeAttribute('aria-invalid')
    input.removeAttribute('aria-describedby')
  }
}

const fieldOf = (form, path = '') =>
  [...form.querySelectorAll('[data-field]')].find(
    one =>
      path === one.dataset.field ||
      path.endsWith(`.${one.dataset.field}`) ||
      path.split('.').includes(one.dataset.field),
  )

/** Show an error at its field. The inputs refer to the error. */
const showAtField = (field, error, id, attributes) => {
  for (const input of inputsOf(field)) {
    input.setAttribute('aria-invalid', 'true')
    input.setAttribute('aria-describedby', id)
  }
  const shown = errorElement(error, { id, ...attributes })
  if (field.matches('fieldset')) field.querySelector('legend').after(shown)
  else (field.closest('.field') ?? field).append(shown)
}

/**
 * Show all errors of a form: each beside its field, the others above the form. Focus the first marked field.
 * Screen readers say the only error, or the number of the marked fields.
 */
export const showErrors = (form, errors) => {
  clearErrors(form)
  const alert = { role: 'alert' }
  const marked = errors.map(error => ({ error, field: fieldOf(form, error.field) }))
  const isOne = errors.length === 1
  for (const [index, { error, field }] of marked.entries()) {
    if (field === undefined) form.prepend(errorElement(error, isOne ? alert : {}))
    else showAtField(field, error, `error-${index}`, isOne ? alert : {})
  }
  if (!isOne) form.prepend(errorElement({ message: text('error.several', { count: errors.length }) }, alert))
  const first = marked.find(({ field }) => field !== undefined)
  if (first !== undefined) inputsOf(first.field)[0]?.focus()
}
