import { apiVersionDates } from '../../contract/api-version.ts'
import { eventTypes } from '../../contract/events/event-type.ts'
import { formatThousands } from '../../contract/message-text.ts'
import { submissionLimits } from '../../contract/registry/account.ts'
import { type Html, html } from '../ui-kit/html.ts'
import type { Reference } from './document.ts'
import { schemaFields } from './field-list.ts'
import { jsonMarkup, jsonText } from './json-text.ts'
import { codeBlock, shellMarkup } from './operation-section.ts'
import { baseAddress } from './request-example.ts'

/** A chapter before the operations. */
export type Chapter = {
  readonly id: string
  readonly title: string
  readonly text: Html
  readonly examples: Html | null
}

const shellBlock = (command: string): Html => codeBlock('Shell', shellMarkup(command))

const overview = ({ apiVersion }: Reference): Chapter => ({
  id: 'overview',
  title: 'Wattledger API',
  text: html`<p class="lead">Send the energy that meters, chargers and batteries measure; get back what it costs, exact to the last digit.</p>
<p>Requests and answers are JSON in UTF-8. A location holds the time zone, the currency and the tariffs; its records are priced as they arrive, and priced again when a tariff, a market price or a record changes.</p>
<p>Machines read the same reference as <a href="/openapi/${apiVersion}.json">OpenAPI 3.1</a>.</p>`,
  examples: html`${codeBlock('Address', html`<span class="base">${baseAddress}</span>`)}`,
})

const authentication: Chapter = {
  id: 'authentication',
  title: 'Authentication',
  text: html`<p>Trade the account id and an API key for a bearer token at <a href="#account_login"><code>/login</code></a>, and send it with every request. A token lasts an hour; then log in again.</p>
<p>The key decides the mode: live and test are two separate worlds on the same addresses. A key may be limited to a scope: <code>read</code> reads, <code>metering</code> sends records, <code>all</code> may do everything.</p>
<p>An object of another account or mode is answered like one that never existed.</p>`,
  examples: shellBlock(`TOKEN=$(curl -s ${baseAddress}/login \\
  -u "$ACCOUNT_ID:$API_KEY" \\
  | sed 's/.*"bearer_token":"\\([^"]*\\)".*/\\1/')

curl ${baseAddress}/account \\
  -H "Authorization: Bearer $TOKEN"`),
}

const versions: Chapter = {
  id: 'versions',
  title: 'Versions',
  text: html`<p>The interface has two layouts: the current one, <code>${apiVersionDates.current}</code>, and the earlier one, <code>${apiVersionDates.earlier}</code>. Name the one you speak in <code>Api-Version</code>; without it the account’s default holds, and a path that only one layout has selects that layout. Every answer says in <code>Api-Version</code> which one it is in.</p>`,
  examples: shellBlock(`curl ${baseAddress}/account \\
  -H "Authorization: Bearer $TOKEN" \\
  -H 'Api-Version: ${apiVersionDates.current}'`),
}

const errorExample = {
  object: 'error',
  type: 'invalid_request',
  code: 'field_required',
  message: 'location_id is required.',
  field: 'location_id',
  live_mode: false,
  context: 'api.tariff_create',
  request_id: 'req_9f1c2ab04d5e6f7a8b9c0d1e',
  time_created: '2025-09-14T10:00:00.000Z',
}

const errors = ({ apiVersion, error }: Reference): Chapter => {
  const status = apiVersion === 'current' ? 400 : 409
  return {
    id: 'errors',
    title: 'Errors',
    text: html`<p>Every answer that is not a success is one object. <code>code</code> is for programs and never changes its meaning, <code>message</code> says in a sentence what to change, and <code>request_id</code> names the request in the logs. Validation errors are ${status}. After 429 and 503 wait for <code>Retry-After</code> and send the request again.</p>
${schemaFields(error, 'answer')}`,
    examples: codeBlock(`Answer ${status}`, jsonMarkup(jsonText(errorExample))),
  }
}

const idempotency: Chapter = {
  id: 'idempotency',
  title: 'Safe to repeat',
  text: html`<p>A POST that creates or changes something takes an <code>Idempotency-Key</code> of your own. The same key gives the same answer for 24 hours, marked <code>Idempotent-Replayed: true</code>; with another body it is refused, and so is a twin that is still running. A refused request burns no key.</p>
<p>Meter records need none: a record that is sent again counts once.</p>`,
  examples: shellBlock(`curl ${baseAddress}/customers \\
  -H "Authorization: Bearer $TOKEN" \\
  -H 'Content-Type: application/json' \\
  -H 'Idempotency-Key: signup-17' \\
  -d '{ "reference_id": "household-17" }'`),
}

const lists: Chapter = {
  id: 'lists',
  title: 'Lists',
  text: html`<p>Lists give the newest first, <code>limit</code> objects at a time. To go on, send the last id as <code>starting_after</code>; to go back, the first one as <code>ending_before</code>. <code>has_more</code> tells whether there is more in that direction. Pages stay true while objects come and go.</p>`,
  examples: shellBlock(`curl '${baseAddress}/customers?limit=100&starting_after=cus_0198c0ffee00112233445566' \\
  -H "Authorization: Bearer $TOKEN"`),
}

const references: Chapter = {
  id: 'own-references',
  title: 'Own references',
  text: html`<p>Where the id of a location, device or customer is taken, <code>reference:</code> before its <code>reference_id</code> works too: in paths, query parameters, bodies and records. Percent-encode it in paths and queries.</p>
<p>Where objects of several kinds may stand, and more than one has the reference, the request is refused with <code>reference_ambiguous</code>. Then write <code>location:</code>, <code>device:</code> or <code>customer:</code> in place of <code>reference:</code>.</p>
<p>A deleted object never matches. A record by reference is the same record as one by id. Each process that takes records learns of a changed reference within 5 seconds; the process that made the change knows at once.</p>`,
  examples: shellBlock(`curl ${baseAddress}/locations/reference:depot-7 \\
  -H "Authorization: Bearer $TOKEN"`),
}

const values: Chapter = {
  id: 'values',
  title: 'Numbers, times, limits',
  text: html`<p>Money is in major units of the currency with up to 9 decimals, energy in WH with up to 6. Read both as decimals: they are exact, and a double may not hold them.</p>
<p>Times are RFC 3339 with <code>Z</code> or an offset, to the millisecond. Intervals hold their start and not their end. Days and months are those of the location.</p>
<p>A submission holds up to ${formatThousands(submissionLimits.records)} records and ${submissionLimits.bytes / 2 ** 20} MiB, a record ${submissionLimits.recordBytes / 2 ** 10} KiB, any other body ${submissionLimits.otherBodyBytes / 2 ** 20} MiB. Any body holds up to 150,000 values, 20,000 entries in a list, 100 members in an object and 32 levels; a number has up to 400 characters, a path 4 KiB, and a path with its query 8 KiB. Bodies may be sent with <code>Content-Encoding: gzip</code>. Unknown fields and parameters are refused, never ignored.</p>`,
  examples: null,
}

const events: Chapter = {
  id: 'event-types',
  title: 'Event types',
  text: html`<p>An event is written with each change, listed at <a href="#event_list"><code>/events</code></a> and sent to <a href="#webhook_create">webhook endpoints</a>. Choose events by type, by group such as <code>customer.*</code>, or by <code>*</code>.</p>
<dl class="event-types">${eventTypes.map(({ type, description: occurs }) => html`<div><dt><code>${type}</code></dt><dd>${occurs}</dd></div>`)}</dl>`,
  examples: null,
}

/** The chapters that come before the operations of a layout. */
export const guide = (reference: Reference): readonly Chapter[] => [
  overview(reference),
  authentication,
  versions,
  errors(reference),
  idempotency,
  references,
  lists,
  events,
  values,
]
