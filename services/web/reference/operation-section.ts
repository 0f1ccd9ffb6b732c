import type { ApiVersion } from '../../contract/api-version.ts'
import { formatThousands } from '../../contract/message-text.ts'
import { type Html, html } from '../ui-kit/html.ts'
import { baseAddress, codeBlock, jsonMarkup, jsonText, markCode, shellMarkup } from './code-markup.ts'
import type { DescribedOperation, Parameter, Reference } from './document.ts'
import { exampleChart } from './example-chart.ts'
import { fieldList, schemaFields } from './field-list.ts'

/** Allow line breaks after slashes, and mark path parameters. */
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
  if ('basic' in securityScheme) return html`account ID and API key (Basic)`
  if ('operator' in securityScheme) return html`operator key (<code>X-Operator-Key</code>)`
  if (!('bearer' in securityScheme)) return html`no authentication`
  const [scope] = securityScheme['bearer'] ?? []
  if (scope === undefined) return html`key with any scope`
  return scope === 'all'
    ? html`key with scope <code>all</code>`
    : html`key with scope <code>${scope}</code> or <code>all</code>`
}

const operationFacts = ({ security, takesIdempotencyKey }: DescribedOperation): Html => {
  const callers = security.map(
    (securityScheme, index) => html`${index > 0 ? ', or ' : null}${callerText(securityScheme)}`,
  )
  return html`<dl class="facts"><div><dt>Access</dt><dd>${callers}</dd></div>${
    takesIdempotencyKey
      ? html`<div><dt>Idempotency</dt><dd>send an <a href="#idempotency">Idempotency-Key</a></dd></div>`
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
<p class="limits">${types}${body.required ? null : ', optional'}
${isList ? html` · list${maxItemsText} elements` : null}</p>
${fields ?? (schema.properties === undefined ? null : html`<p class="limits">No fields.</p>`)}`
}

const answerSection = ({ answer }: DescribedOperation): Html =>
  html`<details class="part"><summary><span class="status ok">${answer.status}</span> Response: ${answer.name}</summary>
${schemaFields(answer.schema, 'answer')}</details>`

const errorsSection = ({
  errors,
}: DescribedOperation): Html => html`<details class="part"><summary><span class="status">4xx 5xx</span> Errors</summary>
<dl class="errors">${errors.map(
  ({ status, codes }) => html`<div><dt>${status}</dt><dd>${codes.map(code => html`<code>${code}</code> `)}</dd></div>`,
)}</dl></details>`

const shellQuoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

const examplePath = ({ path, parameters }: DescribedOperation): string =>
  path.replace(/\{(\w+)\}/g, (whole, name: string) =>
    String(parameters.find(one => one.in === 'path' && one.name === name)?.example ?? whole),
  )

/** Return true for query parameters of the example: required ones, a location filter, and both ends of an interval. */
const isShown = ({ name, required }: Parameter, { method, parameters }: DescribedOperation): boolean => {
  const isInterval = parameters.some(one => one.name === 'end_time' && one.required === true)
  return required === true || (method === 'GET' && (name === 'location_id' || (name === 'start_time' && isInterval)))
}

const exampleQuery = (operation: DescribedOperation): string => {
  const shown = operation.parameters.filter(
    one => one.in === 'query' && one.example !== undefined && isShown(one, operation),
  )
  return shown.length === 0 ? '' : `?${shown.map(one => `${one.name}=${String(one.example)}`).join('&')}`
}

const credentials = ({ security }: DescribedOperation): readonly string[] => {
  const [first = {}] = security
  if ('basic' in first) return ['-u "$ACCOUNT_ID:$KEY"']
  return 'bearer' in first ? ['-H "Authorization: Bearer $KEY"'] : []
}

/**
 * Create a curl command. It uses the shell variable KEY, and ACCOUNT_ID for the login.
 * Commands of the earlier API version send the Api-Version header.
 */
export const curlCommand = (operation: DescribedOperation, apiVersion: ApiVersion, version: string): string => {
  const { method, body } = operation
  const example = body?.media.example
  const hasBody = example !== undefined
  const isMethodImplied = method === 'GET' || (method === 'POST' && hasBody)
  const query = exampleQuery(operation)
  const address = `${baseAddress}${examplePath(operation)}${query}`
  const lines = [
    `curl${isMethodImplied ? '' : ` -X ${method}`} ${query === '' ? address : shellQuoted(address)}`,
    ...credentials(operation),
    ...(apiVersion === 'earlier' ? [`-H 'Api-Version: ${version}'`] : []),
    ...(hasBody ? ["-H 'Content-Type: application/json'", `-d ${shellQuoted(jsonText(example))}`] : []),
  ]
  return lines.join(' \\\n  ')
}

/** Create the section of an operation: description, access, parameters, body, response, errors and examples. */
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
${answer.example === undefined ? null : codeBlock(`Response ${answer.status}`, jsonMarkup(jsonText(answer.example)))}
</div>
</section>`
}
