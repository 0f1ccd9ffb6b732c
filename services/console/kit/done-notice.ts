import { type Html, html } from '../../web/ui-kit/html.ts'

/** Texts of the actions that a page can report after its redirect. */
const doneTexts: Readonly<Record<string, string>> = {
  resent: 'Resend requested. Refresh this page to see the result.',
  changed: 'Endpoint updated.',
  tested: 'Test event sent. It appears under Deliveries.',
  enabled: 'Endpoint enabled. Use Resend events to send the events that it missed.',
  disabled: 'Endpoint disabled.',
  range: 'Resend of the period requested.',
  created: 'Created.',
  saved: 'Changes saved.',
  deleted: 'Deleted.',
  finalised: 'The statement is final. To change it, void it first.',
  voided: 'The statement is a draft again.',
  removed: 'Endpoint deleted.',
}

/** Report an action after its redirect. Loading the page again does not repeat the action. */
export const doneNotice = (query: URLSearchParams): Html | null => {
  const done = query.get('done') ?? ''
  return Object.hasOwn(doneTexts, done) ? html`<p class="notice good" role="status">${doneTexts[done]}</p>` : null
}
