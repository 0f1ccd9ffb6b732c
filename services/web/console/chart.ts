import { type Html, html } from '../ui-kit/html.ts'
import { instant } from './page-parts.ts'

/** One value over a half-open span; `shown` are the cells beside it in the table. */
export type ChartPoint = {
  readonly from: string
  readonly to: string
  readonly value: string
  readonly cells: readonly string[]
}

type Chart = {
  readonly id: string
  /** A line of steps, or a bar for each span. */
  readonly kind: 'steps' | 'bars'
  readonly label: string
  readonly unit: string
  readonly timezone: string
  readonly columns: readonly string[]
  readonly points: readonly ChartPoint[]
}

const seconds = (iso: string): number => Date.parse(iso) / 1_000

const pointRow = ({ from, to, value, cells }: ChartPoint, { timezone, kind }: Chart): Html =>
  html`<tr data-from="${seconds(from)}" data-to="${seconds(to)}" data-value="${value}"><th scope="row">${instant(from, timezone, kind === 'bars' ? 'day' : 'minute')}</th>${cells.map(cell => html`<td class="number">${cell}</td>`)}</tr>`

/**
 * Show values as a picture and, beside it, as a table with every digit. The picture is drawn from the table, so both say the same, and
 * whoever does not see pictures has all of it.
 */
export const chartWithTable = (chart: Chart): Html => {
  const { id, kind, label, unit, timezone, columns, points } = chart
  return points.length === 0
    ? html`<p class="empty">There is nothing to show in this time.</p>`
    : html`<div class="charted"><figure class="chart" data-of="${id}" data-kind="${kind}" data-unit="${unit}" data-zone="${timezone}" role="img" aria-label="${label}; the table beside it has the values"></figure>
<div class="scroll tall" role="region" tabindex="0" aria-label="${label}"><table id="${id}"><thead><tr><th scope="col">${kind === 'bars' ? 'Day' : 'From'} (${timezone})</th>${columns.map(name => html`<th scope="col" class="number">${name}</th>`)}</tr></thead><tbody>${points.map(point => pointRow(point, chart))}</tbody></table></div></div>`
}
