import { formatThousands } from '../../contract/message-text.ts'
import { type Html, html } from '../ui-kit/html.ts'
import type { DescribedOperation, Parameter, Reference } from './document.ts'
import { exampleChart } from './example-chart.ts'
import { fieldList, schemaFields } from './field-list.ts'
import { jsonMarkup, jsonText } from './json-text.ts'
import { markCode } from './mark-code.ts'
import { baseAddress, curlCommand } from './request-example.ts'

/** Let a long path break after its slashes, and set its parameters apart. */
const pathMarkup = (path: string): Html =>
  html`${path
    .split(/(?<=\/)/)
    .map(
      (part, index) => html`${index > 0 ? html`<wbr>` : null}${/^\{/.test(part) ? html`<var>${part}</var>` : part}`,
    )}`

const methodMark = (method: string): Html => html`<span class="method ${method.toLowerCase()}">${method}</span>`

const routeLine = ({
  method,
  path,
  otherRoutes,
}: DescribedOperation): Html => html`<p class="route">${methodMark(method)} <code>${pathMarkup(path)}</code></p>
${otherRoutes.map(one => html`<p class="route also">also ${methodMark(one.method)} <code>${pathMarkup(one.path)}</code></p>`)}`

const callerText = (securityScheme: Readonly<Record<string, readonly string[]>>): Html => {
  if ('basic' in securityScheme) return html`account id and API key (Basic)`
  if ('operator' in securityScheme) return html`the operator’s key (<code>X-Operator-Key</code>)`
  if (!('bearer' in securityScheme)) return html`anyone, no token needed`
  const [scope] = securityScheme['bearer'] ?? []
  if (scope === undefined) return html`any valid token`
  return scope === 'all'
    ? html`a token with scope <code>all</code>`
    : html`a token with scope <code>${scope}</code> or <code>all</code>`
}

const operationFacts = ({ security, takesIdempotencyKey }: DescribedOperation): Html => {
  const callers = security.map(
    (securityScheme, index) => html`${index > 0 ? ', or ' : null}${callerText(securityScheme)}`,
  )
  return html`<dl class="facts"><div><dt>Who may call</dt><dd>${callers}</dd></div>${
    takesIdempotencyKey
      ? html`<div><dt>Safe to repeat</dt><dd>with an <a href="#idempotency">Idempotency-Key</a></dd></div>`
      : null
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

const bodySection = ({ body }: DescribedOperation): Html | null => {
  if (body === null) return null
  const { schema } = body.media
  const isList = schema.items !== undefined
  const maxItemsText = schema.maxItems === undefined ? '' : ` of up to ${formatThousands(schema.maxItems)}`
  const types = body.mediaTypes.map((type, index) => html`${index > 0 ? ' or ' : null}<code>${type}</code>`)
  const fields = schemaFields(schema, 'request')
  return html`<h4>Body</h4>
<p class="limits">${types}${body.required ? null : ', may be left out'}${isList ? html` · a list${maxItemsText} elements, each with` : null}</p>
${fields ?? (schema.properties === undefined ? null : html`<p class="limits">No fields.</p>`)}`
}

const answerSection = ({ answer }: DescribedOperation): Html =>
  html`<details class="part"><summary><span class="status ok">${answer.status}</span> Answer: ${answer.name}</summary>${schemaFields(answer.schema, 'answer')}</details>`

const errorsSection = ({
  errors,
}: DescribedOperation): Html => html`<details class="part"><summary><span class="status">4xx 5xx</span> Errors</summary>
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
export const operationSection = (operation: DescribedOperation, { apiVersion, version }: Reference): Html => {
  const { id, summary, description, parameters, answer } = operation
  const parametersIn = (parameterIn: Parameter['in']): readonly Parameter[] =>
    parameters.filter(one => one.in === parameterIn)
  return html`<section class="operation" id="${id}" aria-labelledby="${id}-title">
<div class="text">
<h3 id="${id}-title"><a class="anchor" href="#${id}">${summary}</a></h3>
${routeLine(operation)}
<p>${markCode(description)}</p>
${operationFacts(operation)}
${parameterList('Path', parametersIn('path'))}
${parameterList('Query', parametersIn('query'))}
${bodySection(operation)}
${answerSection(operation)}
${errorsSection(operation)}
</div>
<div class="examples">
${codeBlock('Request', shellMarkup(curlCommand(operation, apiVersion, version)))}
${exampleChart(operation)}
${answer.example === undefined ? null : codeBlock(`Answer ${answer.status}`, jsonMarkup(jsonText(answer.example)))}
</div>
</section>`
}
