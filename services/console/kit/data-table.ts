import { csvText } from '../../contract/costs/csv.ts'
import { asMarkup, type Content, type Html, html } from '../../web/ui-kit/html.ts'
import { compareTexts } from './amount.ts'

/** Column of a table. `key` names it in CSV and in `sort`. */
export type Column<Item> = {
  readonly key: string
  readonly name: string
  readonly isNumber?: boolean
  /** In a compact row the cell has the name of its column. Numbers always have it. */
  readonly isNamed?: boolean
  /** Exact text of the cell, for CSV and sorting. It is shown unless `show` is present. */
  readonly text: (item: Item) => string
  readonly show?: (item: Item) => Content
  /** The CSV file has the column, and the page has not. */
  readonly isInFileOnly?: boolean
}

type TableOptions<Item> = {
  /** Name of the table in the query and of its CSV file. */
  readonly id: string
  readonly label: string
  readonly columns: readonly Column<Item>[]
  readonly items: readonly Item[]
  readonly empty: Content
  /** Cells of a last row with totals, one for each column. */
  readonly totals?: readonly Content[]
  /** On phones each row has its first cell on a line, then the other cells one after the other. */
  readonly isCompact?: boolean
  /** False: the order of the items is fixed. */
  readonly isSortable?: boolean
  /** More rows exist than the table has. Its CSV file says so. Absent: unknown. */
  readonly hasMore?: boolean
  /** Id of a row, for the script of the page. */
  readonly rowId?: (item: Item) => string
}

/** Table of a page. `csv` returns its rows as CSV; `rows` are its rows without the table. */
export type TableView = {
  readonly id: string
  readonly markup: Html
  readonly rows: readonly Html[]
  readonly csv: () => string
  readonly hasMore: boolean | null
}

type Order = { readonly key: string; readonly isDescending: boolean }

const orderOf = (query: URLSearchParams, id: string): Order | null => {
  const sort = query.get(`sort-${id}`)
  return sort === null ? null : { key: sort.replace(/^-/, ''), isDescending: sort.startsWith('-') }
}

const isDecimal = /^-?\d+(?:\.\d{1,12})?$/

const compareCells = (a: string, b: string): number =>
  isDecimal.test(a) && isDecimal.test(b) ? compareTexts(a, b) : a.localeCompare(b, 'en', { numeric: true })

const sorted = <Item>(options: TableOptions<Item>, order: Order | null): readonly Item[] => {
  const column = options.columns.find(({ key }) => key === order?.key)
  if (column === undefined || order === null) return options.items
  const cells = options.items.map(item => ({ item, cell: column.text(item) }))
  const sign = order.isDescending ? -1 : 1
  return cells.sort((a, b) => sign * compareCells(a.cell, b.cell)).map(({ item }) => item)
}

/** Path and parameters of the page with a table. */
type Place = { readonly path: string; readonly query: URLSearchParams }

/** Return the address of the page with other parameters. Null removes a parameter. */
export const withParameters = ({ path, query }: Place, changes: Readonly<Record<string, string | null>>): string => {
  const parameters = new URLSearchParams(query)
  for (const [name, value] of Object.entries({ done: null, ...changes })) {
    if (value === null) parameters.delete(name)
    else parameters.set(name, value)
  }
  const text = parameters.toString()
  return text === '' ? path : `${path}?${text}`
}

const headCell = <Item>(
  request: Place,
  { id, isSortable = true }: TableOptions<Item>,
  { key, name, isNumber }: Column<Item>,
  order: Order | null,
): Html => {
  const className = isNumber === true ? asMarkup(' class="number"') : null
  if (!isSortable) return html`<th scope="col"${className}>${name}</th>`
  const isCurrent = order?.key === key
  const next = isCurrent && order?.isDescending === false ? `-${key}` : key
  const state = isCurrent ? html` aria-sort="${order.isDescending ? 'descending' : 'ascending'}"` : null
  const address = withParameters(request, { [`sort-${id}`]: next })
  return html`<th scope="col"${className}${state}><a href="${address}">${name}</a></th>`
}

const rowOf = <Item>({ rowId }: TableOptions<Item>, columns: readonly Column<Item>[], item: Item): Html =>
  html`<tr${rowId === undefined ? null : html` data-id="${rowId(item)}"`}>${columns.map(
    ({ name, isNumber, isNamed, show, text }) => {
      const className = isNumber === true ? asMarkup(' class="number"') : isNamed ? asMarkup(' class="named"') : null
      return html`<td data-name="${name}"${className}>${show === undefined ? text(item) : show(item)}</td>`
    },
  )}</tr>`

const totalsRow = <Item>({ columns, totals }: TableOptions<Item>): Html | null =>
  totals === undefined
    ? null
    : html`<tfoot><tr>${columns.map(({ name, isNumber }, index) => {
        const className = isNumber === true ? asMarkup(' class="number"') : null
        return html`<td data-name="${name}"${className}>${totals[index]}</td>`
      })}</tr></tfoot>`

/**
 * Create a table with sort links and a CSV link. On phones each row is a list of names and values.
 * The sort applies to the rows that the page shows.
 */
export const dataTable = <Item>(request: Place, options: TableOptions<Item>): TableView => {
  const { id, label, columns, items, empty } = options
  const order = orderOf(request.query, id)
  const sortedItems = sorted(options, order)
  const shown = columns.filter(({ isInFileOnly }) => isInFileOnly !== true)
  const rows = sortedItems.map(item => rowOf(options, shown, item))
  const csv = (): string =>
    csvText(
      columns.map(({ key }) => key),
      sortedItems.map(item => columns.map(({ text }) => text(item))),
    )
  const markup =
    items.length === 0
      ? html`<div class="empty">${empty}</div>`
      : html`<div class="scroll" role="group" tabindex="0" aria-label="${label}"><table class="${options.isCompact === true ? 'lines compact' : 'lines'}" id="${id}">
<thead><tr>${shown.map(column => headCell(request, options, column, order))}</tr></thead>
<tbody>${rows}</tbody>${totalsRow(options)}</table></div>
<p class="below"><a href="${withParameters(request, { csv: id })}" download>Download CSV</a></p>`
  return { id, markup, rows, csv, hasMore: options.hasMore ?? null }
}
