import { element, field, numberInput } from './element.js'
import { invalidNumber, invalidPrice } from './errors.js'
import { numberText, priceText, priceUnit, readNumber, readPrice } from './money.js'
import { standingChargeField } from './standing-charge.js'
import { locale, text } from './texts.js'

const monthNames = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']
const dayChoices = ['All', 'Weekdays', 'Weekend', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun']

/** Name of a month or day in the language of the page. 2024 began on a Monday. */
const nameOf = (month, day, form) =>
  new Intl.DateTimeFormat(locale, { ...form, timeZone: 'UTC' }).format(Date.UTC(2024, month, day))

const monthTitles = Object.fromEntries(monthNames.map((name, index) => [name, nameOf(index, 1, { month: 'long' })]))
const dayTitles = {
  All: text('advanced.all_days'),
  Weekdays: text('advanced.weekdays'),
  Weekend: text('advanced.weekend'),
  ...Object.fromEntries(dayChoices.slice(3).map((name, index) => [name, nameOf(0, index + 1, { weekday: 'long' })])),
}

const select = (values, titles, chosen) =>
  element(
    'select',
    {},
    ...values.map(value => element('option', { value, selected: value === chosen }, titles[value] ?? value)),
  )

const emptyRow = {
  from: 'Jan',
  to: 'Dec',
  days: 'All',
  validFrom: '00:00',
  validTo: '00:00',
  price: 0,
  upTo: '',
  above: 0,
}

/** List the months of a period, also across the end of the year; `All` for a whole year. */
const monthsBetween = (from, to) => {
  const [first, last] = [monthNames.indexOf(from), monthNames.indexOf(to)]
  const count = ((last - first + 12) % 12) + 1
  return count === 12 ? ['All'] : Array.from({ length: count }, (_, index) => monthNames[(first + index) % 12])
}

const rateOf = ({ price, upTo, above }) =>
  upTo === undefined ? [{ fixed: price }] : [{ fixed: price, to_kwh: upTo }, { fixed: above }]

/** Create a schedule from rows: grouped by months, then by days. */
const scheduleOf = rows =>
  [...Map.groupBy(rows, row => monthsBetween(row.from, row.to).join()).values()].map(ofMonths => ({
    months: monthsBetween(ofMonths[0].from, ofMonths[0].to),
    days_and_hours: [...Map.groupBy(ofMonths, row => row.days).entries()].map(([days, ofDays]) => ({
      days: [days],
      hours: ofDays.map(row => ({
        valid_from: `${row.validFrom}:00`,
        valid_to: `${row.validTo}:00`,
        rate: rateOf(row),
      })),
    })),
  }))

/** Create rows from a schedule. Rows cannot express every schedule. */
const rowsOf = (schedule, currency) =>
  (schedule ?? []).flatMap(({ months = [], days_and_hours: blocks = [] }) =>
    blocks.flatMap(({ days = ['All'], hours = [] }) =>
      days.flatMap(day =>
        hours.map(({ valid_from: from = '00:00:00', valid_to: to = '00:00:00', rate = [] }) => ({
          ...{
            from: months.includes('All') ? 'Jan' : (months[0] ?? 'Jan'),
            to: months.includes('All') ? 'Dec' : (months.at(-1) ?? 'Dec'),
          },
          ...{ days: day, validFrom: from.slice(0, 5), validTo: to.slice(0, 5) },
          price: priceText(rate[0]?.fixed ?? rate[0]?.value, currency),
          upTo: rate[0]?.to_kwh ?? '',
          above: priceText(rate[1]?.fixed ?? rate[1]?.value, currency),
        })),
      ),
    ),
  )

const positiveOf = value => {
  const number = readNumber(value)
  return number !== undefined && Number(number) > 0 ? number : undefined
}

const rowFields = (row, index, currency, remove) => {
  const inputs = {
    from: select(monthNames, monthTitles, row.from),
    to: select(monthNames, monthTitles, row.to),
    days: select(dayChoices, dayTitles, row.days),
    validFrom: element('input', { type: 'time', value: row.validFrom }),
    validTo: element('input', { type: 'time', value: row.validTo }),
    price: numberInput(row.price === 0 ? '' : row.price),
    upTo: numberInput(row.upTo === '' ? '' : numberText(row.upTo)),
    above: numberInput(row.above === 0 ? '' : row.above),
  }
  const fieldset = element(
    'fieldset',
    { class: 'period' },
    element('legend', {}, text('period.title', { number: index + 1 })),
    field(text('advanced.first_month'), inputs.from),
    field(text('advanced.last_month'), inputs.to),
    field(text('advanced.days'), inputs.days),
    field(text('period.from'), inputs.validFrom),
    field(text('period.to'), inputs.validTo),
    field(text('price.label'), inputs.price, { name: `rows[${index}].price`, unit: priceUnit(currency) }),
    field(text('advanced.limit'), inputs.upTo, { name: `rows[${index}].limit`, unit: 'kWh' }),
    field(text('advanced.above'), inputs.above, { name: `rows[${index}].above`, unit: priceUnit(currency) }),
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
  const texts = () => Object.fromEntries(Object.entries(inputs).map(([name, input]) => [name, input.value]))
  const read = () => ({
    ...texts(),
    price: readPrice(inputs.price.value, currency) ?? 0,
    upTo: readNumber(inputs.upTo.value),
    above: readPrice(inputs.above.value, currency) ?? 0,
  })
  /** The page checks prices and limits, because the API's error does not name the row. */
  const faults = () => {
    const isTiered = inputs.upTo.value.trim() !== ''
    return [
      ...invalidPrice(inputs.price, `rows[${index}].price`, currency),
      ...(isTiered
        ? [
            ...invalidNumber(`rows[${index}].limit`, 'error.limit', positiveOf(inputs.upTo.value)),
            ...invalidPrice(inputs.above, `rows[${index}].above`, currency),
          ]
        : []),
    ]
  }
  return { made: fieldset, texts, read, faults }
}

/** Page for prices by season, day and energy. Each row is a period with its price. */
export const advancedPage = data => {
  const { currency_code: currency, tariff = {} } = data
  const standing = standingChargeField(data)
  const list = element('div', { class: 'periods' })
  let rows = []
  const showRows = values => {
    const remove = index => {
      showRows(rows.map(one => one.texts()).filter((_, rowIndex) => rowIndex !== index))
      // The removed button had the focus.
      addButton.focus()
    }
    rows = values.map((value, index) => rowFields(value, index, currency, remove))
    list.replaceChildren(...rows.map(({ made: fieldset }) => fieldset))
  }
  const known = rowsOf(tariff.schedule, currency)
  showRows(known.length > 0 ? known : [emptyRow])
  const add = () => showRows([...rows.map(one => one.texts()), emptyRow])
  const addButton = element('button', { type: 'button', class: 'second', onclick: add }, text('button.add_period'))
  return {
    title: text('advanced.title'),
    text: text('advanced.text'),
    fields: [list, addButton, ...standing.fields],
    faults: () => [...rows.flatMap(one => one.faults()), ...standing.faults()],
    read: () => ({
      tariff: { market_rates: false, schedule: scheduleOf(rows.map(one => one.read())) },
      ...standing.read(),
    }),
  }
}
