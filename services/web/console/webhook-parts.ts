import { type Html, html } from '../ui-kit/html.ts'
import { successNotice } from './page-parts.ts'

export type Endpoint = {
  readonly id: string
  readonly url: string
  readonly event_types: readonly string[]
  readonly description: string | null
  readonly api_version: string
  readonly status: 'ENABLED' | 'DISABLED'
  readonly disabled_reason: string | null
  readonly failing_since: string | null
  readonly time_created: string
}

const disabledReasons: Readonly<Record<string, string>> = {
  CALLER: 'by hand',
  GONE: 'it answered 410',
  FAILING: 'it only failed for five days',
}

/** Say how an endpoint is, in words and not by colour alone. */
export const endpointStatus = ({ status, disabled_reason: reason, failing_since: since }: Endpoint): Html => {
  if (status === 'DISABLED') return html`<span class="tag bad">disabled</span> ${disabledReasons[reason ?? ''] ?? ''}`
  return since === null ? html`<span class="tag good">enabled</span>` : html`<span class="tag warn">failing</span>`
}

/** Read event types as people write them: commas or spaces between. */
export const readEventTypes = (text: string): readonly string[] => text.split(/[\s,]+/).filter(type => type !== '')

export const eventTypesHint = '* for all, customer.* for a group; commas between'

export const secretNotice = (secret: string, addition = ''): Html =>
  html`<div class="notice good" role="status"><p>This secret signs what is sent. Keep it now: it is shown this once. ${addition}</p><p><code class="secret">${secret}</code></p></div>`

const doneTexts: Readonly<Record<string, string>> = {
  resent: 'It is being sent again. Look again in a moment to see what came of it.',
  changed: 'The endpoint was changed.',
  tested: 'A test event is on its way; it is among the deliveries below.',
  enabled: 'The endpoint takes events again. What it has missed is sent only where you send a range again.',
  disabled: 'The endpoint takes no more events.',
  range: 'The events of this span are being sent again.',
}

/** Say what an action has done: its page is loaded anew after it, so that loading the page again does nothing twice. */
export const doneNotice = (query: URLSearchParams): Html | null => {
  const doneText = doneTexts[query.get('done') ?? '']
  return doneText === undefined ? null : successNotice(doneText)
}
