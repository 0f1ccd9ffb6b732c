import { advancedPage } from './advanced-page.js'
import { areaOptions } from './areas.js'
import { dayOf, midnightIn } from './dates.js'
import { choice, chosenIn, element, field, numberInput, textInput } from './element.js'
import { priceText, priceUnit, readNumber, readPrice } from './money.js'

const structures = {
  FIXED: { title: 'Fixed price', text: 'Every kilowatt-hour has the same price.' },
  TIME_OF_DAY: { title: 'Time-of-day prices', text: 'For example, nights are cheaper.' },
  MARKET: { title: 'Market prices', text: 'Prices change every 15 or 60 minutes.' },
  ADVANCED: { title: 'Other', text: 'Seasons, weekends, or prices that depend on your consumption.' },
}

const structurePage = ({ options, option }) => ({
  title: 'Which type of price do you have?',
  fields: [
    choice(
      'Types of tariff',
      'structure',
      options.map(value => ({ value, ...(structures[value] ?? { title: value }) })),
      option,
    ),
  ],
  read: form => ({ options: [chosenIn(form, 'structure')].filter(Boolean) }),
})

const fixedPage = ({ currency_code: currency, cost }) => {
  const price = numberInput(priceText(cost, currency))
  return {
    title: 'What do you pay for a kilowatt-hour?',
    text: 'Enter the energy price of your bill, with taxes, without the daily charge.',
    fields: [field('Price', price, { name: 'cost', unit: priceUnit(currency) })],
    read: () => ({ cost: readPrice(price.value, currency) ?? 0 }),
  }
}

const hoursAndMinutes = text => (text ?? '00:00:00').slice(0, 5)

const periodRow = (period, index, currency, remove) => {
  const from = element('input', { type: 'time', value: hoursAndMinutes(period.valid_from), required: true })
  const to = element('input', { type: 'time', value: hoursAndMinutes(period.valid_to), required: true })
  const price = numberInput(priceText(period.cost, currency))
  const name = part => `hours[${index}].${part}`
  const row = element(
    'fieldset',
    { class: 'period' },
    element('legend', {}, `Period ${index + 1}`),
    field('From', from, { name: name('valid_from') }),
    field('To', to, { name: name('valid_to') }),
    field('Price', price, { name: name('cost'), unit: priceUnit(currency) }),
    element(
      'button',
      { type: 'button', class: 'link', onclick: () => remove(index), 'aria-label': `Remove period ${index + 1}` },
      'Remove',
    ),
  )
  const read = () => ({
    cost: readPrice(price.value, currency) ?? 0,
    valid_from: `${from.value || '00:00'}:00`,
    valid_to: `${to.value || '00:00'}:00`,
  })
  return { row, read }
}

const defaultPeriods = [
  { cost: 0, valid_from: '07:00:00', valid_to: '23:00:00' },
  { cost: 0, valid_from: '23:00:00', valid_to: '07:00:00' },
]

/** Return true if the periods are empty: new periods are whole days with price zero. */
const isEmpty = hours =>
  !hours?.length || hours.every(({ cost, valid_from: from, valid_to: to }) => Number(cost) === 0 && from === to)

const hoursPage = ({ currency_code: currency, hours }) => {
  const list = element('div', { class: 'periods' })
  let periods = []
  const showPeriods = values => {
    const remove = index =>
      showPeriods(periods.map(periodField => periodField.read()).filter((_, periodIndex) => periodIndex !== index))
    periods = values.map((value, index) => periodRow(value, index, currency, remove))
    list.replaceChildren(...periods.map(({ row }) => row))
  }
  const add = () => {
    const values = periods.map(periodField => periodField.read())
    showPeriods([...values, { cost: 0, valid_from: values.at(-1)?.valid_to, valid_to: values[0]?.valid_from }])
    periods.at(-1).row.querySelector('input').focus()
  }
  showPeriods(isEmpty(hours) ? defaultPeriods : hours)
  return {
    title: 'What do you pay, and when?',
    text: 'The periods must cover the whole day. A period can cross midnight, such as 23:30 to 07:00.',
    fields: [list, element('button', { type: 'button', class: 'second', onclick: add }, 'Add period')],
    read: () => ({ hours: periods.map(periodField => periodField.read()) }),
  }
}

const surchargePage = ({ currency_code: currency, surcharge = {}, regions, region }) => {
  const fixed = numberInput(priceText(surcharge.fixed, currency))
  const percentage = numberInput(Number(surcharge.percentage ?? 0) === 0 ? '' : String(surcharge.percentage))
  const asksRegion = regions?.length > 0
  return {
    title: 'What does your supplier add to the market price?',
    text: 'Your contract lists the surcharges. Leave a field empty if it has no such surcharge.',
    fields: [
      ...(asksRegion ? [choice('Market area', 'region', areaOptions(regions), region)] : []),
      field('Surcharge per kilowatt-hour', fixed, { name: 'fixed', unit: priceUnit(currency) }),
      field('Surcharge in percent, such as tax', percentage, { name: 'percentage', unit: '%' }),
    ],
    read: form => ({
      surcharge: {
        fixed: fixed.value.trim() === '' ? 0 : (readPrice(fixed.value, currency) ?? fixed.value),
        percentage: percentage.value.trim() === '' ? 0 : (readNumber(percentage.value) ?? percentage.value),
      },
      ...(asksRegion ? { region: chosenIn(form, 'region') || null } : {}),
    }),
  }
}

const namePage = ({ tariff = {} }) => {
  const name = textInput(tariff.name, { autocomplete: 'off' })
  return {
    title: 'What is your tariff called?',
    fields: [field('Name of the tariff', name, { name: 'name' })],
    read: () => ({ tariff: { name: name.value } }),
  }
}

const termPage = ({
  contract_start_date: start,
  contract_end_date: end,
  contract_term_type: type,
  location_timezone: zone,
}) => {
  const startInput = element('input', { type: 'date', value: dayOf(start) })
  const endInput = element('input', { type: 'date', value: dayOf(end) })
  const endField = field('Contract end date', endInput, { name: 'contract_end_date' })
  const termChoice = choice(
    'Length of the contract',
    'term',
    [
      { value: 'UNTIL_TERMINATED', title: 'Until terminated' },
      { value: 'FIXED', title: 'Fixed end date' },
    ],
    type || 'UNTIL_TERMINATED',
  )
  const showPeriods = () => {
    endField.hidden = chosenIn(termChoice, 'term') !== 'FIXED'
  }
  termChoice.addEventListener('change', showPeriods)
  showPeriods()
  return {
    title: 'How long does the contract run?',
    text: 'Leave the start date empty if you do not know it.',
    fields: [field('Contract start date', startInput, { name: 'contract_start_date' }), termChoice, endField],
    read: form => {
      const chosen = chosenIn(form, 'term')
      return {
        contract_start_date: midnightIn(zone, startInput.value),
        contract_end_date: chosen === 'FIXED' ? midnightIn(zone, endInput.value) : null,
        contract_term_type: chosen,
      }
    },
  }
}

/** Pages for prices and contract, by route. */
export const tariffPages = {
  tariff_structure_select: structurePage,
  rate_fixed_capture: fixedPage,
  rate_tod_capture: hoursPage,
  rate_advanced_capture: advancedPage,
  surcharge_capture: surchargePage,
  market_surcharge_capture: surchargePage,
  tariff_name_capture: namePage,
  contract_term_capture: termPage,
}
