import { type AccountOverviewWire, accountOverviewRetrieve } from '../../contract/registry/account-overview.ts'
import { type Content, html } from '../../web/ui-kit/html.ts'
import { type ConsoleRequest, type ConsoleRoute, getRoute } from '../console-request.ts'
import { energy, exactText, wholeNumber } from '../kit/amount.ts'
import { type Column, dataTable } from '../kit/data-table.ts'
import type { PageView } from '../page-frame.ts'
import { errorNotice, instant } from '../page-parts.ts'

/** List of an overview as a page. */
type Attention<Item> = {
  readonly id: string
  readonly title: string
  readonly lead: Content
  readonly columns: readonly Column<Item>[]
  readonly itemsOf: (overview: AccountOverviewWire) => readonly Item[]
  readonly empty: string
}

type Unpriced = AccountOverviewWire['unpriced'][number]
type FailedBatch = AccountOverviewWire['failed_batches'][number]
type WarnedBatch = AccountOverviewWire['warned_batches'][number]
type Ending = AccountOverviewWire['tariffs_ending'][number]

const locationColumn: Column<Pick<Unpriced, 'location_id' | 'location_reference_id' | 'location_display_name'>> = {
  key: 'location_id',
  name: 'Location',
  text: one => one.location_id,
  show: ({ location_id: id, location_reference_id: reference, location_display_name: name }) =>
    html`<a href="/console/locations/${id}">${name ?? reference ?? html`<code>${id}</code>`}</a>`,
}

const recordsOf = ({ location_id, first_start, last_start }: Unpriced): string => {
  const end_time = new Date(Date.parse(last_start) + 1).toISOString()
  return `/console/records?${new URLSearchParams({ location_id, start_time: first_start, end_time })}`
}

const unpriced: Attention<Unpriced> = {
  id: 'unpriced',
  title: 'Unpriced energy',
  lead: html`Locations with records without a price in the last 92 days. A record has no price if no tariff of its location covers
its time, or if a market price is missing. Add or extend a tariff: the records are then priced automatically.`,
  columns: [
    locationColumn,
    {
      key: 'energy_wh',
      name: 'Energy',
      isNumber: true,
      text: one => exactText(one.energy.value),
      show: one => energy(one.energy.value),
    },
    {
      key: 'records',
      name: 'Records',
      isNumber: true,
      text: one => String(one.records),
      show: one => html`<a href="${recordsOf(one)}">${wholeNumber(one.records)}</a>`,
    },
    {
      key: 'first_start',
      name: 'First',
      isNamed: true,
      text: one => one.first_start,
      show: one => instant(one.first_start, 'UTC', 'minute'),
    },
    {
      key: 'last_start',
      name: 'Last',
      isNamed: true,
      text: one => one.last_start,
      show: one => instant(one.last_start, 'UTC', 'minute'),
    },
    {
      key: 'tariffs',
      name: 'Tariffs',
      text: () => '',
      show: one => html`<a href="/console/tariffs?location_id=${one.location_id}">Check tariffs</a>`,
    },
  ],
  itemsOf: overview => overview.unpriced,
  empty: 'All records of the last 92 days have a price.',
}

const batchColumn: Column<{ readonly batch_id: string }> = {
  key: 'batch_id',
  name: 'Submission',
  text: one => one.batch_id,
  show: one => html`<a href="/console/batches/${one.batch_id}"><code>${one.batch_id}</code></a>`,
}

const failed: Attention<FailedBatch> = {
  id: 'failed',
  title: 'Failed records',
  lead: 'Submissions of the last 30 days with records that failed. A submission names each failed record and its error.',
  columns: [
    batchColumn,
    { key: 'failed_records', name: 'Failed records', isNumber: true, text: one => String(one.failed_records) },
    {
      key: 'dead_lettered_records',
      name: 'After acceptance',
      isNumber: true,
      text: one => String(one.dead_lettered_records),
    },
  ],
  itemsOf: overview => overview.failed_batches,
  empty: 'No record failed in the last 30 days.',
}

const warned: Attention<WarnedBatch> = {
  id: 'warned',
  title: 'Doubtful records',
  lead: `Submissions of the last 30 days with records that are stored with a warning, such as a mean power above 10 MW. A
submission names the records and what to do.`,
  columns: [
    batchColumn,
    { key: 'records_warned', name: 'Doubtful records', isNumber: true, text: one => String(one.records_warned) },
  ],
  itemsOf: overview => overview.warned_batches,
  empty: 'No record of the last 30 days has a warning.',
}

const ending: Attention<Ending> = {
  id: 'ending',
  title: 'Tariffs that end soon',
  lead: 'Tariffs whose contract ends in the next 30 days. After the end, its prices continue as a forecast.',
  columns: [
    {
      key: 'tariff_id',
      name: 'Tariff',
      text: one => one.display_name ?? one.tariff_id,
      show: one => html`<a href="/console/tariffs/${one.tariff_id}">${one.display_name ?? one.tariff_id}</a>`,
    },
    {
      key: 'contract_end_date',
      name: 'Ends',
      isNamed: true,
      text: one => one.contract_end_date,
      show: one => instant(one.contract_end_date, 'UTC', 'minute'),
    },
    locationColumn,
  ],
  itemsOf: overview => overview.tariffs_ending,
  empty: 'No tariff ends in the next 30 days.',
}

const showAttention =
  <Item>({ id, title, lead, columns, itemsOf, empty }: Attention<Item>) =>
  async (request: ConsoleRequest): Promise<PageView> => {
    const overview = await request.call(accountOverviewRetrieve, {})
    if (!overview.ok)
      return { title, status: overview.status, body: html`<h1>${title}</h1>${errorNotice(overview.fault)}` }
    const table = dataTable(request, {
      id,
      label: title,
      columns,
      items: itemsOf(overview.value),
      empty,
      isCompact: true,
    })
    return { title, tables: [table], body: html`<h1>${title}</h1><p class="lead">${lead}</p>${table.markup}` }
  }

/** Pages of the lists that need attention. */
export const attentionRoutes: readonly ConsoleRoute[] = [
  getRoute('/console/unpriced', showAttention(unpriced)),
  getRoute('/console/failed', showAttention(failed)),
  getRoute('/console/warned', showAttention(warned)),
  getRoute('/console/ending', showAttention(ending)),
]
