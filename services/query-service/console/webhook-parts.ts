import { type Html, html } from '../reference/html.ts'

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

const reasons: Readonly<Record<string, string>> = { CALLER: 'by hand', GONE: 'it answered 410', FAILING: 'it only failed for five days' }

/** Say how an endpoint is, in words and not by colour alone. */
export const stateOf = ({ status, disabled_reason: reason, failing_since: since }: Endpoint): Html => {
  if (status === 'DISABLED') return html`<span class="tag bad">disabled</span> ${reasons[reason ?? ''] ?? ''}`
  return since === null ? html`<span class="tag good">enabled</span>` : html`<span class="tag warn">failing</span>`
}

/** Read event types as people write them: commas or spaces between. */
export const typesOf = (text: string): readonly string[] => text.split(/[\s,]+/).filter(type => type !== '')

export const secretNotice = (secret: string): Html =>
  html`<div class="notice good" role="status"><p>This secret signs what is sent. Keep it now: it is shown this once.</p><p><code class="secret">${secret}</code></p></div>`
