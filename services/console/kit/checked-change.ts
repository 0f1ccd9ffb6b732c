import { callRequest, type ParametersOf, type SentBodyOf } from '../../contract/call.ts'
import type { DryRunWire } from '../../contract/dry-run.ts'
import type { AnswerOf, Operation } from '../../contract/operation.ts'
import { type Content, html } from '../../web/ui-kit/html.ts'
import type { ApiResult } from '../api.ts'
import type { ConsoleRequest } from '../console-request.ts'
import type { PageView } from '../page-frame.ts'
import { counted } from './amount.ts'
import { curlBlock } from './api-requests.ts'
import { confirmationFault, confirmPage } from './confirm.ts'

/** Change with a dry run. */
type CheckedChange<O extends Operation> = {
  readonly operation: O
  readonly parameters: ParametersOf<O>
  readonly body?: SentBodyOf<O>
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

/** Return whether a change is refused as a whole. An error of one location does not stop the other locations. */
export const isRefused = ({ errors }: DryRunWire): boolean =>
  errors.some(({ location_id: id, number }) => id === null && number === null)

/** Say what a change does to stored costs. */
export const dryRunText = (effect: DryRunWire): Content =>
  html`${isRefused(effect) ? null : html`<p>Priced again: ${counted(effect.stored_rows, 'stored record')} of ${counted(effect.locations, 'location')}.</p>`}
${
  effect.errors.length === 0
    ? null
    : html`<div class="notice bad" role="alert"><p>${isRefused(effect) ? 'The change is refused for these reasons:' : 'These locations cannot change:'}</p><ul>${effect.errors
        .slice(0, 20)
        .map(
          ({ location_id: id, number, message }) =>
            html`<li>${id === null ? (number === null ? null : `Location ${number}: `) : html`<code>${id}</code>: `}${message}</li>`,
        )}</ul></div>`
}`

/**
 * Show what a change does to stored costs and ask for confirmation; after the confirmation, make the change and return
 * its result. A refused dry run returns its refusal.
 */
export const checkedChange = async <O extends Operation>(
  request: ConsoleRequest,
  { operation, parameters, body, typed, fields, effects, ...page }: CheckedChange<O>,
): Promise<PageView | ApiResult<AnswerOf<O>>> => {
  const { form: sent, call, dryRun } = request
  const isChecked = sent.has('checked')
  const fault = isChecked && typed !== null ? confirmationFault(request, typed) : null
  if (isChecked && fault === null) return call(operation, parameters, body)
  const effect = await dryRun(operation, parameters, body)
  if (!effect.ok) return effect
  const hidden = Object.fromEntries(fields.map(name => [name, sent.get(name) ?? '']))
  return confirmPage(request, {
    ...page,
    effects: html`${effects}${dryRunText(effect.value)}<details><summary>As curl</summary>${curlBlock(callRequest(operation, parameters, body))}</details>`,
    typed,
    fault,
    isRefused: isRefused(effect.value),
    hidden: { checked: 'true', ...hidden },
  })
}
