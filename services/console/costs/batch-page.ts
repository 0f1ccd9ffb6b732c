import { type MeterBatchWire, meterBatchRead } from '../../contract/metering/meter-batch.ts'
import type { WarningWire } from '../../contract/warning.ts'
import { html } from '../../web/ui-kit/html.ts'
import { type ConsoleRequest, type ConsoleRoute, getRoute } from '../console-request.ts'
import { wholeNumber } from '../kit/amount.ts'
import { type Column, dataTable } from '../kit/data-table.ts'
import type { PageView } from '../page-frame.ts'
import { errorNotice, facts, instant } from '../page-parts.ts'

const columns: readonly Column<MeterBatchWire['failed_records'][number]>[] = [
  { key: 'record_num', name: 'Number', isNumber: true, text: one => String(one.record_num) },
  { key: 'record_reference_id', name: 'Own reference', text: one => one.record_reference_id ?? '' },
  { key: 'error', name: 'Error', text: one => one.error },
]

/** Return the numbers of the records of a warning. The answer names the first 100. */
const numbersText = ({ records = 0, record_nums: numbers = [] }: WarningWire): string =>
  `${numbers.join(', ')}${records > numbers.length ? ' …' : ''}`

const warningColumns: readonly Column<WarningWire>[] = [
  { key: 'records', name: 'Records', isNumber: true, text: one => String(one.records ?? 0) },
  { key: 'message', name: 'Warning', text: one => one.message },
  { key: 'record_nums', name: 'Numbers', text: one => numbersText(one) },
]

/** Show the receipt of a submission. */
const showBatch = async (request: ConsoleRequest): Promise<PageView> => {
  const found = await request.call(meterBatchRead, { id: request.ids[0] })
  if (!found.ok)
    return { title: 'Submission', status: found.status, body: html`<h1>Submission</h1>${errorNotice(found.fault)}` }
  const batch = found.value
  const table = dataTable(request, {
    id: 'failed',
    label: 'Failed records',
    columns,
    items: batch.failed_records,
    empty: 'No record failed.',
  })
  const warnings = dataTable(request, {
    id: 'warnings',
    label: 'Warnings',
    columns: warningColumns,
    items: batch.warnings ?? [],
    empty: 'No record has a warning.',
  })
  return {
    title: 'Submission',
    tables: [table, warnings],
    body: html`<h1>Submission</h1>
${facts(
  ['ID', html`<code>${batch.id}</code>`],
  ['Status', batch.status.toLowerCase()],
  ['Received', instant(batch.time_created)],
  ['Submitted', wholeNumber(batch.records_submitted)],
  ['Accepted', wholeNumber(batch.records_accepted)],
  ['Stored', wholeNumber(batch.records_processed)],
)}
<p><a href="/console/records?batch_id=${batch.id}">Stored records of this submission</a></p>
<section aria-labelledby="failures"><h2 id="failures">Failed records</h2>${table.markup}</section>
<section aria-labelledby="warned"><h2 id="warned">Warnings</h2>${warnings.markup}</section>`,
  }
}

export const batchRoutes: readonly ConsoleRoute[] = [getRoute('/console/batches/:batch', showBatch)]
