import { type FinalStatementWire, statementList } from '../../contract/statements/statement-operations.ts'
import { type Html, html } from '../../web/ui-kit/html.ts'
import type { ListOf } from '../api.ts'
import type { ConsoleRequest } from '../console-request.ts'
import { exactText, money } from '../kit/amount.ts'
import { curlBlock } from '../kit/api-requests.ts'
import { dataTable, type TableView } from '../kit/data-table.ts'
import { firstStatement } from '../kit/first-requests.ts'
import { type LocationNames, locationColumn } from '../kit/location-names.ts'
import { field, hasOlderRows, instant, listParameters, pageLinks, showResult } from '../page-parts.ts'

const path = '/console/statements'

/** Query parameter of the page: show the FINAL statements of this location only. */
const locationParameter = 'final_of'

const links = (ids: readonly string[]): Html =>
  html`${ids.map((id, index) => html`${index === 0 ? null : ', '}<a href="${path}/${id}">an earlier statement</a>`)}`

const finalTable = (
  request: ConsoleRequest,
  names: LocationNames,
  list: ListOf<FinalStatementWire>,
  isFiltered: boolean,
): TableView =>
  dataTable(request, {
    id: 'final',
    label: 'Final statements',
    items: list.data,
    isCompact: true,
    hasMore: hasOlderRows(request.query, list),
    columns: [
      {
        key: 'start_date',
        name: 'Period',
        text: one => `${one.start_date} to ${one.end_date}`,
        show: one => html`<a href="${path}/${one.id}">${one.start_date} to ${one.end_date}</a>`,
      },
      locationColumn<FinalStatementWire>(names, one => one.location_id),
      {
        key: 'gross',
        name: 'Gross',
        isNumber: true,
        text: one => exactText(one.totals.gross),
        show: one => money(one.totals.gross, one.currency_code),
      },
      { key: 'currency', name: 'Currency', text: one => one.currency_code },
      { key: 'complete', name: 'Gaps', isNamed: true, text: one => (one.complete ? 'none' : 'accepted') },
      {
        key: 'adjusts',
        name: 'Adjusts',
        isNamed: true,
        text: one => one.adjusts.join(' '),
        show: one => links(one.adjusts),
      },
      {
        key: 'time_finalised',
        name: 'Finalised',
        isNamed: true,
        text: one => one.time_finalised,
        show: one => instant(one.time_finalised, 'UTC', 'minute'),
      },
    ],
    empty: isFiltered
      ? 'No final statement of this location.'
      : html`<p>No final statements yet. Calculate a statement, and finalise it when its days have ended. This request calculates one:</p>${curlBlock(firstStatement)}`,
  })

/** Path of the list of the FINAL statements of a location. */
export const finalStatementsPath = (locationId: string): string =>
  `${path}?${new URLSearchParams({ [locationParameter]: locationId })}#final-statements`

/** List the FINAL statements of the account or of a location. Nothing is calculated. */
export const finalStatements = async (
  request: ConsoleRequest,
  names: LocationNames,
): Promise<{ readonly content: Html; readonly tables: readonly TableView[] }> => {
  const { call, query } = request
  const location = query.get(locationParameter)?.trim() ?? ''
  const filter = location === '' ? {} : { location_id: location }
  const list = await call(statementList, { ...listParameters(query), ...filter })
  const table = list.ok ? finalTable(request, names, list.value, location !== '') : null
  return {
    tables: table === null ? [] : [table],
    content: html`<section aria-labelledby="final-statements"><h2 id="final-statements">Final statements</h2>
<form class="filter" method="get" action="${path}">
${field(locationParameter, 'Filter by location ID or reference', { value: location, list: 'known-locations' })}
<button class="quiet" type="submit">Filter</button></form>
${showResult(list, found => html`${table?.markup}${pageLinks(path, query, [locationParameter, 'sort-final'], found)}`)}
<p class="below"><a href="/console/events?event_type=statement.*">View finalised and voided statements as events</a></p></section>`,
  }
}

/** Read the FINAL statements of a location whose days share a day with [from, to); null is open. */
export const finalsBetween = async (
  { call }: Pick<ConsoleRequest, 'call'>,
  locationId: string,
  from: string | null,
  to: string | null,
): Promise<{ readonly found: readonly FinalStatementWire[]; readonly isAll: boolean } | null> => {
  const list = await call(statementList, { limit: 100, location_id: locationId })
  if (!list.ok) return null
  const found = list.value.data.filter(
    one => (to === null || one.start_date < to) && (from === null || one.end_date > from),
  )
  const earliest = list.value.data.at(-1)?.start_date ?? null
  // The list falls by date. Statements after the first page are earlier than all of it.
  return { found, isAll: !list.value.has_more || (from !== null && earliest !== null && earliest < from) }
}
