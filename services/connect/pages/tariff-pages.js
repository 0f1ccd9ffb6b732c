import { advancedPage } from './advanced-page.js'
import { areaOptions } from './areas.js'
import { dayOf, midnightIn } from './dates.js'
import { choice, chosenIn, element, field, numberInput, textInput } from './element.js'
import { invalidNumber, invalidPrice, missingChoice, missingText } from './errors.js'
import { numberText, priceText, priceUnit, readNumber, readPrice } from './money.js'
import { standingChargeField } from './standing-charge.js'
import { text, textIfKnown } from './texts.js'

const structurePage = ({ options, option }) => ({
  title: text('structure.title'),
  fields: [
    choice(
      text('structure.list'),
      'structure',
      options.map(value => ({
        value,
        title: textIfKnown(`structure.${value}`) ?? value,
        text: textIfKnown(`structure.${value}.text`),
      })),
      option,
    ),
  ],
  faults: form => missingChoice(form, 'structure', 'error.structure'),
  read: form => ({ options: [chosenIn(form, 'structure')].filter(Boolean) }),
})

const fixedPage = data => {
  const { currency_code: currency, cost } = data
  const standing = standingChargeField(data)
  const price = numberInput(priceText(cost, currency))
  return {
    title: text('fixed.title'),
    text: text('fixed.text'),
    fields: [field(text('price.label'), price, { name: 'cost', unit: priceUnit(currency) }), ...standing.fields],
    faults: () => [...invalidPrice(price, 'cost', currency), ...standing.faults()],
    read: () => ({ cost: readPrice(price.value, currency), ...standing.read() }),
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
    element('legend', {}, text('period.title', { number: index + 1 })),
    field(text('period.from'), from, { name: name('valid_from') }),
    field(text('period.to'), to, { name: name('valid_to') }),
    field(text('price.label'), price, { name: name('cost'), unit: priceUnit(currency) }),
    element(
      'button',
      {
        type: 'button',
        class: 'link',
        onclick: () => remove(index),
        'aria-label': text('button.remove_period', { number: index + 1 }),
      },
      text('button.remove'),
    ),
  )
  const read = () => ({
    cost: readPrice(price.value, currency) ?? 0,
    valid_from: `${from.value || '00:00'}:00`,
    valid_to: `${to.value || '00:00'}:00`,
  })
  const faults = () => [
    ...(from.value === '' ? [{ field: name('valid_from'), message: text('error.time') }] : []),
    ...(to.value === '' ? [{ field: name('valid_to'), message: text('error.time') }] : []),
    ...(to.value !== '' && from.value === to.value && from.value !== '00:00'
      ? [{ field: name('valid_to'), message: text('error.same_time') }]
      : []),
    ...invalidPrice(price, name('cost'), currency),
  ]
  return { row, read, faults }
}

const defaultPeriods = [
  { cost: 0, valid_from: '07:00:00', valid_to: '23:00:00' },
  { cost: 0, valid_from: '23:00:00', valid_to: '07:00:00' },
]

/** Return true if the periods are empty: new periods are whole days with price zero. */
const isEmpty = hours =>
  !hours?.length || hours.every(({ cost, valid_from: from, valid_to: to }) => Number(cost) === 0 && from === to)

const hoursPage = data => {
  const { currency_code: currency, hours } = data
  const standing = standingChargeField(data)
  const list = element('div', { class: 'periods' })
  let periods = []
  const showPeriods = values => {
    const remove = index => {
      showPeriods(periods.map(periodField => periodField.read()).filter((_, periodIndex) => periodIndex !== index))
      // The removed button had the focus.
      addButton.focus()
    }
    periods = values.map((value, index) => periodRow(value, index, currency, remove))
    list.replaceChildren(...periods.map(({ row }) => row))
  }
  const add = () => {
    const values = periods.map(periodField => periodField.read())
    showPeriods([...values, { cost: 0, valid_from: values.at(-1)?.valid_to, valid_to: values[0]?.valid_from }])
    periods.at(-1).row.querySelector('input').focus()
  }
  const addButton = element('button', { type: 'button', class: 'second', onclick: add }, text('button.add_period'))
  showPeriods(isEmpty(hours) ? defaultPeriods : hours)
  return {
    title: text('hours.title'),
    text: text('hours.text'),
    fields: [list, addButton, ...standing.fields],
    faults: () => [...periods.flatMap(periodField => periodField.faults()), ...standing.faults()],
    read: () => ({ hours: periods.map(periodField => periodField.read()), ...standing.read() }),
  }
}

/** Read a percentage from 0 to 500; undefined for other texts. */
const percentOf = value => {
  const percent = readNumber(value)
  return percent !== undefined && Number(percent) >= 0 && Number(percent) <= 500 ? percent : undefined
}

const surchargePage = data => {
  const { currency_code: currency, surcharge = {}, regions, region } = data
  const standing = standingChargeField(data)
  const fixed = numberInput(priceText(surcharge.fixed, currency))
  const percentage = numberInput(Number(surcharge.percentage ?? 0) === 0 ? '' : numberText(surcharge.percentage))
  const asksRegion = regions?.length > 0
  return {
    title: text('surcharge.title'),
    text: text('surcharge.text'),
    fields: [
      ...(asksRegion ? [choice(text('region.label'), 'region', areaOptions(regions), region, true)] : []),
      field(text('surcharge.fixed'), fixed, { name: 'fixed', unit: priceUnit(currency) }),
      field(text('surcharge.percentage'), percentage, { name: 'percentage', unit: '%' }),
      ...standing.fields,
    ],
    faults: form => [
      ...(asksRegion ? missingChoice(form, 'region', 'error.region') : []),
      ...(fixed.value.trim() === '' ? [] : invalidNumber('fixed', 'error.amount', readPrice(fixed.value, currency))),
      ...(percentage.value.trim() === ''
        ? []
        : invalidNumber('percentage', 'error.percentage', percentOf(percentage.value))),
      ...standing.faults(),
    ],
    read: form => ({
      surcharge: {
        fixed: fixed.value.trim() === '' ? 0 : readPrice(fixed.value, currency),
        percentage: percentage.value.trim() === '' ? 0 : readNumber(percentage.value),
      },
      ...standing.read(),
      ...(asksRegion ? { region: chosenIn(form, 'region') || null } : {}),
    }),
  }
}

const namePage = ({ tariff = {} }) => {
  const name = textInput(tariff.name, { autocomplete: 'off' })
  return {
    title: text('name.title'),
    fields: [field(text('name.label'), name, { name: 'name' })],
    faults: () => missingText(name, 'name', 'error.tariff_name'),
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
  const endField = field(text('term.end'), endInput, { name: 'contract_end_date' })
  const termChoice = choice(
    text('term.length'),
    'term',
    [
      { value: 'UNTIL_TERMINATED', title: text('term.UNTIL_TERMINATED') },
      { value: 'FIXED', title: text('term.FIXED') },
    ],
    type || 'UNTIL_TERMINATED',
  )
  const showPeriods = () => {
    endField.hidden = chosenIn(termChoice, 'term') !== 'FIXED'
  }
  termChoice.addEventListener('change', showPeriods)
  showPeriods()
  return {
    title: text('term.title'),
    text: text('term.text'),
    fields: [field(text('term.start'), startInput, { name: 'contract_start_date' }), termChoice, endField],
    faults: form => {
      if (chosenIn(form, 'term') !== 'FIXED') return []
      if (endInput.value === '') return [{ field: 'contract_end_date', message: text('error.end_date') }]
      return startInput.value !== '' && endInput.value <= startInput.value
        ? [{ field: 'contract_end_date', message: text('error.end_before_start') }]
        : []
    },
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
