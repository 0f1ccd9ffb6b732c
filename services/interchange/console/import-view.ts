import { counted, energyInKwh, wholeNumber } from '../../console/kit/amount.ts'
import { errorNotice, facts, instant, row, successNotice, table } from '../../console/page-parts.ts'
import { asMarkup, type Html, html } from '../../web/ui-kit/html.ts'
import { type PreviewedReading, type ReadingPreview, registersRemark } from '../reading-import/preview-readings.ts'
import { messageForPage, undoPagePath } from './import-form.ts'
import type { OpenedFile } from './open-upload.ts'
import type { ImportRun, ShownRefusal } from './run-import.ts'

/** Refused rows of the table, and bytes of the downloaded file. Browsers refuse larger links. */
const [shownRefusals, maxFileBytes] = [100, 1_000_000]

const quoted = (cell: string): string => (/[",\n\r]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)

/** Write refused rows as CSV, as many as the link to the file can have. */
const refusedCsv = (rows: readonly ShownRefusal[]): { readonly text: string; readonly count: number } => {
  const lines = ['line,field,code,message,row']
  let bytes = 0
  for (const { line, field, code, message, cells } of rows) {
    const text = [String(line), field ?? '', code, message, cells.map(quoted).join(',')].map(quoted).join(',')
    bytes += Buffer.byteLength(text) + 1
    if (bytes > maxFileBytes) break
    lines.push(text)
  }
  return { text: `${lines.join('\n')}\n`, count: lines.length - 1 }
}

const refusedRows = ({ refused, refusedCount }: ImportRun): Html | null => {
  if (refusedCount === 0) return null
  const file = refusedCsv(refused)
  const link = `data:text/csv;charset=utf-8;base64,${Buffer.from(file.text).toString('base64')}`
  const some = file.count < refusedCount ? `first ${wholeNumber(String(file.count))} ` : ''
  return html`<h3>Refused rows</h3>
<p><a download="refused.csv" href="${asMarkup(link)}">Download the ${some}refused rows</a></p>${table(
    'Refused rows',
    ['Line', 'Column', 'Reason', 'Row'],
    refused
      .slice(0, shownRefusals)
      .map(({ line, field, message, cells }) =>
        row(String(line), field ?? '', messageForPage(message), cells.join(', ').slice(0, 200)),
      ),
    '',
  )}`
}

const directionNames: Readonly<Record<string, string>> = { IMPORT: 'bought', EXPORT: 'sold', LOCAL: 'own generation' }

const nameOf = (direction: string): string => directionNames[direction] ?? direction

const firstRow = (reading: PreviewedReading, zone: string) => {
  const isRegister = reading.kind === 'register'
  const value = reading.value === null ? 'withdrawn' : `${reading.value} ${reading.units}`
  return row(
    String(reading.line),
    reading.object,
    isRegister ? '' : instant(reading.start_time, zone),
    instant(reading.end_time, zone),
    isRegister ? `register: ${value}` : value,
    nameOf(reading.direction),
    reading.confidence === null ? 'actual' : `estimate, ${reading.confidence}`,
  )
}

const sums = ({ days, totals, summed, has_registers: hasRegisters, is_complete: isComplete }: ReadingPreview): Html => {
  const part = isComplete ? null : html`<p>The sums are those of the first ${wholeNumber(String(summed))} readings.</p>`
  return html`<h3>Sums of the days</h3>${part}${table(
    'Sums of the days',
    ['Day', 'Direction', 'Energy'],
    [
      ...days.map(({ day, direction, kwh }) => row(day, nameOf(direction), energyInKwh(kwh))),
      ...totals.map(({ direction, kwh }) => row('all days', nameOf(direction), energyInKwh(kwh))),
    ],
    'The file has no accepted interval.',
  )}${hasRegisters ? html`<p>${registersRemark}</p>` : null}`
}

const countsOf = ({ source }: OpenedFile, { accepted, refusedCount }: ImportRun): Html => {
  const { rows, blank, unselected = 0 } = source.counts()
  return facts(
    ['Rows', wholeNumber(String(rows))],
    ['Accepted readings', wholeNumber(String(accepted))],
    ['Refused rows', wholeNumber(String(refusedCount))],
    ['Rows without a value', wholeNumber(String(blank + unselected))],
  )
}

const remarksOf = ({ source }: OpenedFile): readonly Html[] =>
  [...(source.remarks ?? []), ...source.notes().noted.map(({ path, message }) => `${path.slice(1)}: ${message}`)]
    .slice(0, 20)
    .map(text => html`<p>${messageForPage(text)}</p>`)

const guessNotice = ({ guess }: OpenedFile): Html | null =>
  guess === null
    ? null
    : html`<p class="notice">The first rows gave the columns and the options that are not set. Check them and the preview, then import.</p>${guess.map(
        text => html`<p>${messageForPage(text)}</p>`,
      )}`

/** Ask for the options that the first rows do not prove. */
export const importQuestions = (questions: readonly string[]): Html =>
  html`${errorNotice({ code: 'import', message: 'The first rows do not say how to read the file. Answer below, then make a new preview', field: null })}
<ul>${questions.map(text => html`<li>${messageForPage(text)}</li>`)}</ul>`

/** Show the preview of a file. */
export const previewResult = (file: OpenedFile, run: ImportRun, preview: ReadingPreview): Html => {
  const zone = preview.zone ?? 'UTC'
  return html`<h2>Preview</h2>
<p>Nothing is stored yet. Times are in ${zone}.${
    preview.time_label === null ? null : html` The time of a row is read as the ${preview.time_label} of its interval.`
  } The sums are those of the first and the last days, and of all days.</p>
${guessNotice(file)}${countsOf(file, run)}${remarksOf(file)}
<h3>First readings as they would be stored</h3>${table(
    'First readings',
    ['Line', 'Location or device', 'Start', 'End', 'Value', 'Direction', 'Quality'],
    preview.first.map(one => firstRow(one, zone)),
    'No reading is accepted.',
  )}
${sums(preview)}${refusedRows(run)}`
}

/** Show the result of an import. */
export const importResult = (file: OpenedFile, run: ImportRun, importId: string): Html => {
  const { pending, replaced } = run.receipts
  return html`<h2>Result</h2>
${successNotice(`Import ended: ${counted(String(run.accepted), 'reading')} accepted.`)}
${countsOf(file, run)}${remarksOf(file)}
${
  replaced === null || replaced === 0
    ? null
    : html`<p>${counted(String(replaced), 'stored record')} replaced with another value. <a href="/console/corrections">Corrections</a> has the values before and after.</p>`
}
${pending === 0 ? null : html`<p>${counted(String(pending), 'batch')} will be priced later.</p>`}
${
  run.unknown === 0
    ? null
    : html`<p>Whether ${counted(String(run.unknown), 'register reading')} failed later is unknown. Look at the failed records.</p>`
}
${run.accepted === 0 ? null : html`<p><a href="${undoPagePath(importId)}">Undo this import</a> is possible for 24 hours.</p>`}${refusedRows(run)}`
}

/** Show a running import. */
export const progressLine = (file: OpenedFile, run: ImportRun): Html =>
  html`<p>${wholeNumber(String(file.source.counts().rows))} rows read, ${wholeNumber(String(run.accepted))} accepted, ${wholeNumber(String(run.refusedCount))} refused…</p>`

/** Show why an import or a preview ended early. Rows that were sent before are stored. */
export const importFault = (message: string, run: ImportRun | null, isPreview: boolean): Html =>
  html`${errorNotice({ code: 'import', message: messageForPage(message), field: null })}${
    isPreview || run === null || run.accepted === 0
      ? null
      : html`<p>${counted(String(run.accepted), 'reading')} before the fault are stored. Import the file again: each reading counts once.</p>`
  }`
