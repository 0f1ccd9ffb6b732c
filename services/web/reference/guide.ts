import { apiVersionDates } from '../../contract/api-version.ts'
import { eventTypes } from '../../contract/events/event-type.ts'
import { formatThousands } from '../../contract/message-text.ts'
import { submissionLimits } from '../../contract/registry/account.ts'
import { type Html, html } from '../ui-kit/html.ts'
import { baseAddress, codeBlock, jsonMarkup, jsonText, shellMarkup } from './code-markup.ts'
import type { Reference } from './document.ts'
import { schemaFields } from './field-list.ts'

/** Chapter of the guide. */
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
  text: html`<p class="lead">Send the energy records of meters, chargers and batteries, and get their exact cost.</p>
<p>Requests and responses are JSON in UTF-8. A location has a time zone, a currency and tariffs. The service calculates
the cost of each record when it arrives, and again if a tariff, a market price or a record changes.</p>
<p>The same reference is available as <a href="/openapi/${apiVersion}.json">OpenAPI 3.1</a>.</p>`,
  examples: html`${codeBlock('Base URL', html`<span class="base">${baseAddress}</span>`)}`,
})

const authentication: Chapter = {
  id: 'authentication',
  title: 'Authentication',
  text: html`<p>Send an API key with each request, as <code>Authorization: Bearer</code>.
<code>data/sandbox.json</code> of a new service has the keys of its first account. The console creates more keys.</p>
<p>The key determines the mode. Live and test mode have separate data. A key has a scope: <code>read</code> reads,
<code>metering</code> sends records, <code>all</code> has full access.</p>
<p>Objects of another account or mode return the same response as objects that do not exist.</p>`,
  examples: shellBlock(`KEY=$(node -p "require('./data/sandbox.json').test_key")

curl ${baseAddress}/account \\
  -H "Authorization: Bearer $KEY"`),
}

const versions: Chapter = {
  id: 'versions',
  title: 'Versions',
  text: html`<p>The API has two versions: <code>${apiVersionDates.current}</code> (current) and
<code>${apiVersionDates.earlier}</code> (earlier). Set the version in the <code>Api-Version</code> header. Without the
header the account’s default version applies. A path that only one version has selects that version. Each response
contains its version in <code>Api-Version</code>.</p>`,
  examples: shellBlock(`curl ${baseAddress}/account \\
  -H "Authorization: Bearer $KEY" \\
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
    text: html`<p>All errors have the same object. <code>code</code> is stable and for programs,
<code>message</code> is for people, and <code>request_id</code> identifies the request in the logs. Validation errors have the status ${status}.
After 429 and 503, wait for <code>Retry-After</code> and retry the request.</p>
${schemaFields(error, 'answer')}`,
    examples: codeBlock(`Response ${status}`, jsonMarkup(jsonText(errorExample))),
  }
}

const idempotency: Chapter = {
  id: 'idempotency',
  title: 'Idempotency',
  text: html`<p>Send your own <code>Idempotency-Key</code> with a POST that creates or changes objects. For 24 hours
the same key returns the same response with <code>Idempotent-Replayed: true</code>. The service refuses a key with another body, and
a key whose first request is still running. A refused request does not use its key.</p>
<p>Meter records need no key: a repeated record counts once.</p>`,
  examples: shellBlock(`curl ${baseAddress}/customers \\
  -H "Authorization: Bearer $KEY" \\
  -H 'Content-Type: application/json' \\
  -H 'Idempotency-Key: signup-17' \\
  -d '{ "reference_id": "household-17" }'`),
}

const lists: Chapter = {
  id: 'lists',
  title: 'Lists',
  text: html`<p>Lists return the newest objects first, up to <code>limit</code>. For the next page, send the last ID as
<code>starting_after</code>. For the previous page, send the first ID as <code>ending_before</code>.
<code>has_more</code> is true if more objects exist in this direction. Pages stay correct while objects are created and
deleted.</p>`,
  examples: shellBlock(`curl '${baseAddress}/customers?limit=100&starting_after=cus_0198c0ffee00112233445566' \\
  -H "Authorization: Bearer $KEY"`),
}

const references: Chapter = {
  id: 'own-references',
  title: 'Own references',
  text: html`<p>Instead of the ID of a location, device or customer you can send <code>reference:</code> and its
<code>reference_id</code>: in paths, query parameters, bodies and records. Percent-encode it in paths and queries.</p>
<p>If a field allows several kinds of objects and more than one has the reference, the service refuses the request with
<code>reference_ambiguous</code>. Then send <code>location:</code>, <code>device:</code> or <code>customer:</code>
instead of <code>reference:</code>.</p>
<p>Deleted objects never match. A record by reference is the same record as by ID. A changed reference applies within
5 seconds.</p>`,
  examples: shellBlock(`curl ${baseAddress}/locations/reference:depot-7 \\
  -H "Authorization: Bearer $KEY"`),
}

const values: Chapter = {
  id: 'values',
  title: 'Numbers, times, limits',
  text: html`<p>Money is in major units of the currency with up to 9 decimals, energy in WH with up to 6 decimals.
Parse both as decimals: a double can lose digits.</p>
<p>Times are RFC 3339 with <code>Z</code> or a UTC offset, in milliseconds. Intervals include their start and exclude
their end. Days and months use the time zone of the location.</p>
<p>Maximum sizes: ${formatThousands(submissionLimits.records)} records and ${submissionLimits.bytes / 2 ** 20} MiB per
submission, ${submissionLimits.recordBytes / 2 ** 10} KiB per record, ${submissionLimits.otherBodyBytes / 2 ** 20} MiB
for other bodies. A body has at most 150,000 values, 20,000 list elements, 100 members per object and 32 levels.
A number has at most 400 characters, a path 4 KiB, a path with query 8 KiB. Bodies can be compressed with
<code>Content-Encoding: gzip</code>. The service refuses unknown fields and parameters.</p>`,
  examples: null,
}

const events: Chapter = {
  id: 'event-types',
  title: 'Event types',
  text: html`<p>Each change creates an event. <a href="#event_list"><code>/events</code></a> lists events, and
<a href="#webhook_create">webhook endpoints</a> receive them. Select events by type, by group such as
<code>customer.*</code>, or all with <code>*</code>.</p>
<dl class="event-types">${eventTypes.map(
    ({ type, description: occurs }) => html`<div><dt><code>${type}</code></dt><dd>${occurs}</dd></div>`,
  )}</dl>`,
  examples: null,
}

/** Return the chapters of the guide for an API version. */
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
