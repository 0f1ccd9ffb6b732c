const exampleDigits = '0198c0ffee00112233445566'

/** Prefixes of ids by what names the parameter: its own name, or the word of the path before it. */
const idPrefixOf: Readonly<Record<string, string>> = {
  customers: 'cus',
  customer_id: 'cus',
  locations: 'loc',
  location_id: 'loc',
  devices: 'dev',
  device_id: 'dev',
  tariffs: 'trf',
  elements: 'trf',
  records: 'mre',
  batch: 'bat',
  batch_id: 'bat',
  markets: 'mrs',
  schedules: 'sae',
  events: 'evt',
  event_id: 'evt',
  webhooks: 'whe',
  deliveries: 'whd',
  resends: 'whr',
  token: 'fps',
}

const values: Readonly<Record<string, string>> = {
  session: 'session-17',
  connect_token: 'cot_0198c0ffee00112233445566778899aa',
  start_time: '2025-09-14T00:00:00Z',
  end_time: '2025-09-15T00:00:00Z',
}

/**
 * Give an example of a parameter, so that a request of the reference page has the right form.
 * `path` is the route of a path parameter; where its words name no kind, the parameter is the id of a location.
 * Undefined for query parameters that it does not know.
 */
export const parameterExample = (name: string, path?: string): string | undefined => {
  const before = path?.slice(0, path.indexOf(`{${name}}`)).split('/') ?? []
  const word = before.at(-2) ?? name
  const prefix = idPrefixOf[word] ?? (path === undefined ? undefined : 'loc')
  return values[word] ?? (prefix === undefined ? undefined : `${prefix}_${exampleDigits}`)
}
