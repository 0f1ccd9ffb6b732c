import type { DryRunWire } from '../../../contract/dry-run.ts'
import { type Content, html } from '../../ui-kit/html.ts'
import type { ApiResult } from '../api.ts'
import type { ConsoleRequest } from '../console-request.ts'
import type { PageView } from '../page-frame.ts'
import { counted } from './amount.ts'
import { curlBlock } from './api-requests.ts'
import { confirmationFault, confirmPage } from './confirm.ts'

/** Change with a dry run. `path` is in the API, without a query. */
type CheckedChange = {
  readonly method: 'POST' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly body?: object
  readonly title: string
  readonly effects?: Content
  /** Path of the page that makes the change. */
  readonly action: string
  readonly button: string
  readonly back: string
  /** Text that the user must type; null if the change can be undone. */
  readonly typed: string | null
  /** Names of the fields of the form that the confirmation sends again. */
  readonly fields: readonly string[]
}

/** Say what a change does to stored costs. */
export const dryRunText = ({ locations, stored_rows: rows, errors }: DryRunWire): Content =>
  html`<p>Priced again: ${counted(rows, 'stored record')} of ${counted(locations, 'location')}.</p>
${
  errors.length === 0
    ? null
    : html`<div class="notice bad" role="alert"><p>The change is refused for these reasons:</p><ul>${errors
        .slice(0, 20)
        .map(
          ({ location_id: id, message }) => html`<li>${id === null ? null : html`<code>${id}</code>: `}${message}</li>`,
        )}</ul></div>`
}`

/**
 * Show what a change does to stored costs and ask for confirmation; after the confirmation, make the change and return
 * its result. A refused dry run returns its refusal.
 */
export const checkedChange = async <T>(
  request: ConsoleRequest,
  { method, path, body, typed, fields, effects, ...page }: CheckedChange,
): Promise<PageView | ApiResult<T>> => {
  const { form: sent, api } = request
  const isChecked = sent.has('checked')
  const fault = isChecked && typed !== null ? confirmationFault(request, typed) : null
  if (isChecked && fault === null) return api<T>(method, path, body)
  const effect = await api<DryRunWire>(method, `${path}?dry_run=true`, body)
  if (!effect.ok) return effect
  const hidden = Object.fromEntries(fields.map(name => [name, sent.get(name) ?? '']))
  return confirmPage(request, {
    ...page,
    effects: html`${effects}${dryRunText(effect.value)}<details><summary>As curl</summary>${curlBlock({ method, path, body })}</details>`,
    typed,
    fault,
    hidden: { checked: 'true', ...hidden },
  })
}
