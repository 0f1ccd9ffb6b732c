import type { ApiVersion } from '../../contract/api-version.ts'
import type { DescribedOperation, Parameter } from './document.ts'
import { jsonText } from './json-text.ts'

/** Stands for the address of the service until the page knows where it was fetched from. */
export const baseAddress = 'http://localhost:8080'

const shellQuoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

const examplePath = ({ path, parameters }: DescribedOperation): string =>
  path.replace(/\{(\w+)\}/g, (whole, name: string) =>
    String(parameters.find(one => one.in === 'path' && one.name === name)?.example ?? whole),
  )

/** Lists that need one of several filters are shown with a location, and spans with both of their ends. */
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
  if ('basic' in first) return ['-u "$ACCOUNT_ID:$API_KEY"']
  return 'bearer' in first ? ['-H "Authorization: Bearer $TOKEN"'] : []
}

/**
 * Write a request that can be pasted into a shell, with TOKEN (for the login: ACCOUNT_ID and API_KEY) set before.
 * `version` is named where the account would not choose it by itself.
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
