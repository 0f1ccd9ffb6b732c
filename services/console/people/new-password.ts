import { maxPasswordLength, minPasswordLength, type PasswordProblem, passwordProblem } from '../../domain/user/user.ts'
import { type Html, html } from '../../web/ui-kit/html.ts'
import type { Fault } from '../api.ts'
import { field } from '../page-parts.ts'

const problemTexts: Readonly<Record<PasswordProblem, string>> = {
  too_short: `The password must have at least ${minPasswordLength} characters.`,
  too_long: `The password must have at most ${maxPasswordLength} characters.`,
  is_address: 'The password must differ from the address.',
}

const faultOf = (field: string, message: string): Fault => ({ code: 'field_invalid', message, field })

/** Fields of a new password. */
export const newPasswordFields = (fault: Fault | null): Html =>
  html`${field('password', 'New password', {
    type: 'password',
    required: true,
    hint: `${minPasswordLength} to ${maxPasswordLength} characters`,
    fault,
  })}
${field('repeated', 'Repeat the new password', { type: 'password', required: true, fault })}`

/** Read the new password of a form, or its fault. */
export const readNewPassword = (
  form: URLSearchParams,
  address: string,
): { readonly ok: true; readonly value: string } | { readonly ok: false; readonly fault: Fault } => {
  const password = form.get('password') ?? ''
  const problem = passwordProblem(password, address)
  if (problem !== null) return { ok: false, fault: faultOf('password', problemTexts[problem]) }
  return password === form.get('repeated')
    ? { ok: true, value: password }
    : { ok: false, fault: faultOf('repeated', 'The two passwords differ.') }
}
