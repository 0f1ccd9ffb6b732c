import { type ApiVersion, apiVersionDates } from '../../contract/api-version.ts'
import { type Html, html } from '../../web/ui-kit/html.ts'

/** Request that a page sent to the API. */
export type ApiCall = {
  readonly method: string
  readonly path: string
  readonly body?: object | undefined
  /** Default: current. */
  readonly apiVersion?: ApiVersion
}

/** Quote a text for a shell. */
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`

/** Encoded mark of an id that the reader fills in, such as loc_…. */
const openMark = encodeURIComponent('…')

/** Write a request as a curl command. Its address and key are variables of the shell. */
const curlOf = ({ method, path, body, apiVersion = 'current' }: ApiCall): string =>
  [
    `curl -X ${method} "$WATTLEDGER_URL"${quoted(path.replaceAll(openMark, '…'))}`,
    `-H "Authorization: Bearer $WATTLEDGER_KEY" -H 'Api-Version: ${apiVersionDates[apiVersion]}'`,
    ...(body === undefined ? [] : [`-H 'Content-Type: application/json' -d ${quoted(JSON.stringify(body))}`]),
  ].join(' \\\n  ')

/** Show a request to paste into a shell. */
export const curlBlock = (call: ApiCall): Html =>
  html`<pre class="block" tabindex="0" role="group" aria-label="Request to paste">${curlOf(call)}</pre>`

const requestList = (calls: readonly ApiCall[], name: string): Html | null =>
  calls.length === 0
    ? null
    : html`<details class="requests"><summary>As curl: ${calls.length === 1 ? 'the request' : `the ${calls.length} requests`} of ${name}</summary>
<p class="hint">WATTLEDGER_URL is the address of this service, and WATTLEDGER_KEY is an API key.</p>
${calls.map(curlBlock)}</details>`

/** Show the requests of a part of a page to the API. */
export const partRequests = (calls: readonly ApiCall[]): Html => html`${requestList(calls, 'this part')}`

/** Show the requests of a page to the API, and those of the action that led to the page. */
export const apiRequests = (calls: readonly ApiCall[], action: readonly ApiCall[] = []): Html =>
  html`${requestList(action, 'your change')}${requestList(calls, 'this page')}`
