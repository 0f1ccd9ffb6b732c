import type { JsonNumber } from '../../contract/json/exact-number.ts'
import type { StatementWire } from '../../contract/statements/statement.ts'
import type { StatementLineWire } from '../../contract/statements/statement-line.ts'
import { type Content, html } from '../../web/ui-kit/html.ts'
import type { ConsoleRequest } from '../console-request.ts'
import { differenceOf, exactText, money, percent, separated } from '../kit/amount.ts'
import { type Column, dataTable, type TableView } from '../kit/data-table.ts'

/** Units with a plural. Units such as kWh, and those of an account, have none. */
const countedUnits: ReadonlySet<string> = new Set(['day', 'month', 'year', 'minute', 'session'])

/** Writes a number: exact for files, with separators for pages. */
type WriteNumber = (value: JsonNumber) => string

const quantity = (value: JsonNumber | null, unit: string | null, write: WriteNumber): string => {
  if (value === null) return ''
  const text = write(value)
  return unit === null ? text : `${text} ${unit}${countedUnits.has(unit) && text !== '1' ? 's' : ''}`
}

const boundTexts = {
  MEASURED: 'the measured power',
  ROLLING: 'the months before',
  RATCHET: 'the highest earlier month',
  FLOOR: 'the minimum power',
} as const

/** Write the months or years that a price per kW is paid for, if it is not one. */
const paidTime = (reason: StatementLineWire['reason'], write: WriteNumber): string => {
  const { months, years } = reason ?? {}
  if (months !== undefined) return ` × ${write(months)} months`
  return years === undefined ? '' : ` × ${write(years)} years`
}

/** Write the calculation of a line in words and figures. */
const calculationText = (line: StatementLineWire, write: WriteNumber): string => {
  const { kind, reason, unit_price: price, quantity: amount, unit } = line
  const { rate, base, limit, measured_kw: measured, bound_by: bound = null, left_out: leftOut = [] } = reason ?? {}
  const without = leftOut.length === 0 ? '' : `, without ${leftOut.join(', ')} (export)`
  if (rate !== undefined && base !== undefined) return `${percent(rate)} of ${write(base)}${without}`
  if (limit !== undefined && base !== undefined)
    return `${kind === 'MINIMUM' ? 'at least' : 'at most'} ${write(limit)}; the lines are ${write(base)}${without}`
  const product = price === null ? null : `${quantity(amount, unit, write)} × ${write(price)}`
  if (measured !== undefined) {
    const rule = bound === null ? 'several rules' : boundTexts[bound]
    return `${product ?? quantity(amount, unit, write)}${paidTime(reason, write)}; set by ${rule}, measured ${write(measured)} kW`
  }
  if (reason?.statement_id !== undefined) return `adjusts the final statement ${reason.statement_id}`
  return product ?? (kind === 'ENERGY' ? 'several prices' : '')
}

const calculationOf = (line: StatementLineWire): Content => {
  const id = line.reason?.statement_id
  return id === undefined
    ? calculationText(line, separated)
    : html`adjusts <a href="/console/statements/${id}">a final statement</a>`
}

const sourceOf = ({ tariff_id: tariff, charge_id: charge }: StatementLineWire): Content => {
  if (tariff !== null) return html`<a href="/console/tariffs/${tariff}">tariff</a>`
  return charge === null ? '' : html`<a href="/console/charges/${charge}">charge</a>`
}

const columnsOf = (currency: string): readonly Column<StatementLineWire>[] => [
  { key: 'name', name: 'Line', text: one => one.name },
  { key: 'component', name: 'Component', text: one => one.component },
  { key: 'kind', name: 'Kind', text: one => one.kind.toLowerCase() },
  {
    key: 'quantity',
    name: 'Quantity',
    isNumber: true,
    text: one => quantity(one.quantity, one.unit, exactText),
    show: one => quantity(one.quantity, one.unit, separated).replaceAll(' ', '\u00a0'),
  },
  {
    key: 'unit_price',
    name: 'Unit price',
    isNumber: true,
    text: one => (one.unit_price === null ? '' : exactText(one.unit_price)),
    show: one => (one.unit_price === null ? '' : separated(one.unit_price)),
  },
  {
    key: 'amount',
    name: 'Amount',
    isNumber: true,
    text: one => exactText(one.amount),
    show: one => money(one.amount, currency),
  },
  { key: 'calculation', name: 'Calculation', text: one => calculationText(one, exactText), show: calculationOf },
  { key: 'source', name: 'From', text: one => one.tariff_id ?? one.charge_id ?? '', show: sourceOf },
]

/** Table of the lines of all periods. */
export const lineTable = (request: ConsoleRequest, { periods, currency_code, totals }: StatementWire): TableView =>
  dataTable(request, {
    id: 'lines',
    label: 'Lines',
    columns: columnsOf(currency_code),
    items: periods.flatMap(period => period.lines),
    empty: 'No lines. The location has no records and no charges in this time.',
    totals: ['Total', '', '', '', '', money(totals.gross, currency_code), '', ''],
  })

type PriceLine = {
  readonly name: string
  readonly price: JsonNumber
  readonly energy: JsonNumber
  readonly amount: JsonNumber
}

const maxPriceLines = 300

/** Table of the prices of each line of energy, of a statement with the detail PRICE. */
export const priceTable = (request: ConsoleRequest, { periods, currency_code: currency }: StatementWire): TableView => {
  const items = periods.flatMap(({ lines }) =>
    lines.flatMap(({ name, prices = [] }) => prices.map(one => ({ ...one, name }))),
  )
  const number = (key: 'price' | 'energy' | 'amount', name: string, show?: (one: PriceLine) => Content) => ({
    key,
    name,
    isNumber: true,
    text: (one: PriceLine) => exactText(one[key]),
    ...(show === undefined ? {} : { show }),
  })
  return dataTable<PriceLine>(request, {
    id: 'prices',
    label: 'Prices of the lines',
    empty: 'No line of energy has prices.',
    isCompact: true,
    items: items.slice(0, maxPriceLines),
    hasMore: items.length > maxPriceLines,
    columns: [
      { key: 'name', name: 'Line', text: one => one.name },
      number('energy', 'Energy', one => `${separated(one.energy)} kWh`),
      number('price', 'Price', one => `${exactText(one.price)} ${currency}/kWh`),
      number('amount', 'Amount', one => money(one.amount, currency)),
    ],
  })
}

type Compared = { readonly name: string; readonly before: string; readonly now: string }

/** Compare the lines of two statements by component and name. */
export const monthComparison = (
  request: ConsoleRequest,
  statement: StatementWire,
  before: StatementWire,
): TableView => {
  const { currency_code: currency } = statement
  const amounts = (one: StatementWire): ReadonlyMap<string, string> =>
    new Map(
      one.periods
        .flatMap(period => period.lines)
        .map(line => [`${line.component}: ${line.name}`, exactText(line.amount)]),
    )
  const [now, then] = [amounts(statement), amounts(before)]
  const items = [...new Set([...then.keys(), ...now.keys()])].map(name => ({
    name,
    before: then.get(name) ?? '0',
    now: now.get(name) ?? '0',
  }))
  const amount = (key: string, name: string, of: (one: Compared) => string): Column<Compared> => ({
    key,
    name,
    isNumber: true,
    text: of,
    show: one => money(of(one), currency),
  })
  const [first, second] = [exactText(before.totals.gross), exactText(statement.totals.gross)]
  return dataTable<Compared>(request, {
    id: 'months',
    label: 'Comparison with the month before',
    items,
    empty: 'No lines.',
    isCompact: true,
    columns: [
      { key: 'name', name: 'Line', text: one => one.name },
      amount('before', `From ${before.start_date}`, one => one.before),
      amount('now', `From ${statement.start_date}`, one => one.now),
      amount('difference', 'Difference', one => differenceOf(one.now, one.before)),
    ],
    totals: ['Total', money(first, currency), money(second, currency), money(differenceOf(second, first), currency)],
  })
}
