import { type Content, type Html, html } from '../../web/ui-kit/html.ts'
import type { Fault } from '../api.ts'
import type { ConsoleRequest } from '../console-request.ts'
import { form, type PageView } from '../page-frame.ts'
import { errorNotice, field } from '../page-parts.ts'

type Confirmation = {
  readonly title: string
  /** Effects of the action, in sentences. */
  readonly effects: Content
  /** Path that the form posts to. */
  readonly action: string
  readonly button: string
  readonly back: string
  /** Text that the user must type; null if the action can be undone. */
  readonly typed: string | null
  /** Further inputs of the form. */
  readonly inputs?: Content
  /** Further hidden fields. */
  readonly hidden?: Readonly<Record<string, string>>
  readonly fault?: Fault | null
  /** The API would refuse the action, as `effects` says. The page has no form. */
  readonly isRefused?: boolean
}

const notTyped = (typed: string): Fault => ({
  code: 'field_invalid',
  message: `Type "${typed}" to confirm.`,
  field: 'confirm',
})

/** Return the error of a confirmation without the expected text; null if the text is right. */
export const confirmationFault = (request: Pick<ConsoleRequest, 'form'>, typed: string): Fault | null =>
  request.form.get('confirm')?.trim() === typed ? null : notTyped(typed)

const confirmForm = (
  { csrf }: Pick<ConsoleRequest, 'csrf'>,
  { action, button, back, typed, inputs, hidden = {}, fault = null }: Confirmation,
): Html =>
  form(
    csrf,
    action,
    html`${Object.entries(hidden).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)}
${inputs}${typed === null ? null : field('confirm', `Type ${typed} to confirm`, { required: true, fault })}
<div class="actions"><button class="${typed === null ? 'primary' : 'danger'}" type="submit">${button}</button>
<a href="${back}">Cancel</a></div>`,
  )

/** Create a page that says what an action does and asks for confirmation. */
export const confirmPage = (request: Pick<ConsoleRequest, 'csrf'>, confirmation: Confirmation): PageView => {
  const { title, effects, back, fault = null, isRefused = false } = confirmation
  return {
    title,
    status: fault === null ? 200 : 400,
    body: html`<h1>${title}</h1>${fault === null || fault.field === 'confirm' ? null : errorNotice(fault)}
<div class="lead effects">${effects}</div>
${isRefused ? html`<p><a class="button" href="${back}">Back</a></p>` : confirmForm(request, confirmation)}`,
  }
}
