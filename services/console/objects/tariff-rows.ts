import { type Html, html } from '../../web/ui-kit/html.ts'
import type { Fault } from '../api.ts'
import { rowNames, type ScheduleRow } from './schedule-rows.ts'

/** Maximum number of rows of a form. */
export const maxRows = 60

export const emptyRow = Object.fromEntries(rowNames.map(name => [name, ''])) as ScheduleRow

/** Read the rows of a form. Empty rows are left out. */
export const readRows = (form: URLSearchParams): readonly ScheduleRow[] =>
  Array.from(
    { length: maxRows },
    (_, index) =>
      Object.fromEntries(rowNames.map(name => [name, form.get(`${name}-${index}`)?.trim() ?? ''])) as ScheduleRow,
  ).filter(row => rowNames.some(name => row[name] !== ''))

const columns: readonly (readonly [name: keyof ScheduleRow, label: string, example: string])[] = [
  ['months', 'Months', 'All'],
  ['dates', 'Dates', 'all'],
  ['days', 'Days', 'All'],
  ['valid_from', 'From', '06:00'],
  ['valid_to', 'To', '22:00'],
  ['fixed', 'Price per kWh', ''],
  ['to_kwh', 'Up to kWh', 'no limit'],
  ['surcharge_fixed', 'Plus per kWh', '0'],
  ['surcharge_percentage', 'Plus percent', '0'],
]

/** Label of the input of a member of a schedule, such as `schedule[0].days_and_hours[0].days`; null without an input. */
export const labelOf = (path: string): string | null => {
  const name = path
    .split('.')
    .at(-1)
    ?.replace(/\[\d+\]$/, '')
  return columns.find(([column]) => column === name)?.[1] ?? null
}

/** Create the inputs of the rows of a schedule. Their names and ids begin with `prefix`. */
export const editorRows = (rows: readonly ScheduleRow[], fault: Fault | null, prefix = ''): Html =>
  html`<fieldset class="rows"><legend>Prices</legend>
<p class="hint" id="${prefix}rows-hint">Months: Jan, Feb … or All. Days: Mon, Tue … Weekdays, Weekend, Holidays or All. 00:00 as an end is midnight. Rows with the same time
are tiers: each but the last has an upper limit in kWh per month. Empty rows are ignored.</p>
${fault?.field === 'schedule' ? html`<p class="fault" id="${prefix}rows-fault">${fault.message}</p>` : null}
<div class="scroll" role="group" tabindex="0" aria-label="Prices"><table class="lines" aria-describedby="${prefix}rows-hint">
<thead><tr><th scope="col">Row</th>${columns.map(([, label]) => html`<th scope="col">${label}</th>`)}</tr></thead>
<tbody>${rows.map(
    (row, index) =>
      html`<tr><td data-name="Row">${index + 1}</td>${columns.map(
        ([name, label, example]) =>
          html`<td data-name="${label}"><input name="${prefix}${name}-${index}" value="${row[name]}" placeholder="${example}" aria-label="${label}, row ${index + 1}" autocomplete="off"></td>`,
      )}</tr>`,
  )}</tbody></table></div></fieldset>`
