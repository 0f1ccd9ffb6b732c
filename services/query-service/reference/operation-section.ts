import { thousands } from '../../contract/thousands.ts'
import type { Described, Parameter, Reference } from './document.ts'
import { exampleChart } from './example-chart.ts'
import { fieldList, schemaFields } from './field-list.ts'
import { type Html, html } from './html.ts'
import { jsonMarkup, jsonText } from './json-text.ts'
import { prose } from './prose.ts'
import { baseAddress, curlOf } from './request-example.ts'

/** Let a long path break after its slashes, and set its parameters apart. */
const pathMarkup = (path: string): Html =>
  html`${path
    .split(/(?<=\/)/)
    .map((part, index) => html`${index > 0 ? html`<wbr>` : null}${/^\{/.test(part) ? html`<var>${part}</var>` : part}`)}`

const methodMark = (method: string): Html => html`<span class="method ${method.toLowerCase()}">${method}</span>`

const routeLine = ({
  method,
  path,
  others,
}: Described): Html => html`<p class="route">${methodMark(method)} <code>${pathMarkup(path)}</code></p>
${others.map(one => html`<p class="route also">also ${methodMark(one.method)} <code>${pathMarkup(one.path)}</code></p>`)}`

const callerOf = (way: Readonly<Record<string, readonly string[]>>): Html => {
  if ('basic' in way) return html`account id and API key (Basic)`
  if ('operator' in way) return html`the operator’s key (<code>X-Operator-Key</code>)`
  if (!('bearer' in way)) return html`anyone, no token needed`
  const [scope] = way['bearer'] ?? []
  if (scope === undefined) return html`any valid token`
  return scope === 'all' ? html`a token with scope <code>all</code>` : html`a token with scope <code>${scope}</code> or <code>all</code>`
}

const facts = ({ security, takesIdempotencyKey }: Described): Html => {
  const callers = security.map((way, index) => html`${index > 0 ? ', or ' : null}${callerOf(way)}`)
  return html`<dl class="facts"><div><dt>Who may call</dt><dd>${callers}</dd></div>${
    takesIdempotencyKey ? html`<div><dt>Safe to repeat</dt><dd>with an <a href="#idempotency">Idempotency-Key</a></dd></div>` : null
  }</dl>`
}

const parameterList = (title: string, parameters: readonly Parameter[]): Html | null =>
  parameters.length === 0
    ? null
    : html`<h4>${title}</h4>
${fieldList(
  parameters.map(({ required, ...parameter }) => ({ ...parameter, required: required === true })),
  'request',
)}`

const bodyPart = ({ body }: Described): Html | null => {
  if (body === null) return null
  const { schema } = body.media
  const isList = schema.items !== undefined
  const most = schema.maxItems === undefined ? '' : ` of up to ${thousands(schema.maxItems)}`
  const types = body.mediaTypes.map((type, index) => html`${index > 0 ? ' or ' : null}<code>${type}</code>`)
  const fields = schemaFields(schema, 'request')
  return html`<h4>Body</h4>
<p class="limits">${types}${body.required ? null : ', may be left out'}${isList ? html` · a list${most} elements, each with` : null}</p>
${fields ?? (schema.properties === undefined ? null : html`<p class="limits">No fields.</p>`)}`
}

const answerPart = ({ answer }: Described): Html =>
  html`<details class="part"><summary><span class="status ok">${answer.status}</span> Answer: ${answer.name}</summary>${schemaFields(answer.schema, 'answer')}</details>`

const errorsPart = ({ errors }: Described): Html => html`<details class="part"><summary><span class="status">4xx 5xx</span> Errors</summary>
<dl class="errors">${errors.map(
  ({ status, codes }) => html`<div><dt>${status}</dt><dd>${codes.map(code => html`<code>${code}</code> `)}</dd></div>`,
)}</dl></details>`

/** A block of code with a title and a button that copies it. */
export const codeBlock = (title: string, code: Html): Html => html`<figure class="code">
<figcaption>${title}<button type="button" class="copy" hidden>Copy</button></figcaption>
<pre tabindex="0"><code>${code}</code></pre></figure>`

/** Mark the address of the service in a command, so that the page can put in the one it was fetched from. */
export const shellMarkup = (command: string): Html => {
  const [first = '', ...rest] = command.split(baseAddress)
  return html`${first}${rest.map(part => html`<span class="base">${baseAddress}</span>${part}`)}`
}

/** Show one operation: what it does, who may call it, what it takes and gives, and an example of each. */
export const operationSection = (operation: Described, { layout, version }: Reference): Html => {
  const { id, summary, description, parameters, answer } = operation
  const at = (place: Parameter['in']): readonly Parameter[] => parameters.filter(one => one.in === place)
  return html`<section class="operation" id="${id}" aria-labelledby="${id}-title">
<div class="text">
<h3 id="${id}-title"><a class="anchor" href="#${id}">${summary}</a></h3>
${routeLine(operation)}
<p>${prose(description)}</p>
${facts(operation)}
${parameterList('Path', at('path'))}
${parameterList('Query', at('query'))}
${bodyPart(operation)}
${answerPart(operation)}
${errorsPart(operation)}
</div>
<div class="examples">
${codeBlock('Request', shellMarkup(curlOf(operation, layout, version)))}
${exampleChart(operation)}
${answer.example === undefined ? null : codeBlock(`Answer ${answer.status}`, jsonMarkup(jsonText(answer.example)))}
</div>
</section>`
}
