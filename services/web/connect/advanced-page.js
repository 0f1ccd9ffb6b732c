import { element, field, numberInput } from './element.js'
import { priceText, priceUnit, readNumber, readPrice } from './money.js'

const monthNames = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']
const dayChoices = ['All', 'Weekdays', 'Weekend', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun']
const dayTitles = { All: 'Every day', Weekdays: 'Monday to Friday', Weekend: 'Saturday and Sunday' }

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

const rowFields = (row, index, currency, remove) => {
  const months = Object.fromEntries(monthNames.map(name => [name, name]))
  const inputs = {
    from: select(monthNames, months, row.from),
    to: select(monthNames, months, row.to),
    days: select(dayChoices, dayTitles, row.days),
    validFrom: element('input', { type: 'time', value: row.validFrom }),
    validTo: element('input', { type: 'time', value: row.validTo }),
    price: numberInput(row.price === 0 ? '' : row.price),
    upTo: numberInput(row.upTo),
    above: numberInput(row.above === 0 ? '' : row.above),
  }
  const fieldset = element(
    'fieldset',
    { class: 'period' },
    element('legend', {}, `Period ${index + 1}`),
    field('First month', inputs.from),
    field('Last month', inputs.to),
    field('Days', inputs.days),
    field('From', inputs.validFrom),
    field('To', inputs.validTo),
    field('Price', inputs.price, { name: `rows[${index}].price`, unit: priceUnit(currency) }),
    field('Monthly limit of this price (optional)', inputs.upTo, { unit: 'kWh' }),
    field('Price above the limit', inputs.above, { name: `rows[${index}].above`, unit: priceUnit(currency) }),
    element(
      'button',
      { type: 'button', class: 'link', onclick: () => remove(index), 'aria-label': `Remove period ${index + 1}` },
      'Remove',
    ),
  )
  const texts = () => Object.fromEntries(Object.entries(inputs).map(([name, input]) => [name, input.value]))
  const read = () => ({
    ...texts(),
    price: readPrice(inputs.price.value, currency) ?? 0,
    upTo: readNumber(inputs.upTo.value),
    above: readPrice(inputs.above.value, currency) ?? 0,
  })
  /** Missing prices would become zero. The API's error does not name the row, so the page checks it. */
  const fault = () => {
    const isTiered = inputs.upTo.value.trim() !== ''
    const missing = [
      ['price', true],
      ['above', isTiered],
    ].find(([name, isRequired]) => isRequired && readPrice(inputs[name].value, currency) === undefined)
    if (missing !== undefined)
      return { field: `rows[${index}].${missing[0]}`, message: 'Enter a price, such as 24.55.' }
  }
  return { made: fieldset, texts, read, fault }
}

/** Page for prices by season, day and energy. Each row is a period with its price. */
export const advancedPage = ({ currency_code: currency, tariff = {} }) => {
  const list = element('div', { class: 'periods' })
  let rows = []
  const showRows = values => {
    const remove = index => showRows(rows.map(one => one.texts()).filter((_, rowIndex) => rowIndex !== index))
    rows = values.map((value, index) => rowFields(value, index, currency, remove))
    list.replaceChildren(...rows.map(({ made: fieldset }) => fieldset))
  }
  const known = rowsOf(tariff.schedule, currency)
  showRows(known.length > 0 ? known : [emptyRow])
  const add = () => showRows([...rows.map(one => one.texts()), emptyRow])
  return {
    title: 'Your prices',
    text: 'Enter prices for the whole year. If two periods overlap, the more specific period applies.',
    fields: [list, element('button', { type: 'button', class: 'second', onclick: add }, 'Add period')],
    fault: () => rows.map(one => one.fault()).find(Boolean),
    read: () => ({ tariff: { market_rates: false, schedule: scheduleOf(rows.map(one => one.read())) } }),
  }
}
