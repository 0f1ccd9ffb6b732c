import type { Sandbox } from '../../../services/platform/access/sandbox-file.ts'
import { type DocumentedOperation, operationsOf, readDocument } from '../openapi/openapi.ts'
import { assertDefined, createIds, type Ids, importSession } from '../registry/isolation-fixture.ts'
import { createLocation, createPlan } from '../registry/object-fixture.ts'
import { type ApiVersion, login } from '../system/client.ts'
import { bought } from '../system/home.ts'

/** Call of an operation with the example of its OpenAPI document, and with ids of existing objects. */
export type ExampleCall = {
  readonly id: string
  readonly path: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, string>>
  /** Text of the body, so that its numbers stay exact. */
  readonly body: string | null
  /** Media type other than JSON, for an operation without an answer in JSON. */
  readonly accept: string | null
}

/** Operations that delete, in an order in which no object is in use. */
const deletions = [
  'export_delete',
  'statement_void',
  'statement_batch_stop',
  'plan_assignment_delete',
  'plan_version_delete',
  'plan_delete',
  'charge_delete',
  'tariff_delete',
  'webhook_delete',
  'market_delete',
  'calendar_delete',
  'user_password_delete',
  'user_provider_login_delete',
  'user_delete',
  'device_delete',
  'location_delete',
  'customer_delete',
]

/** Operations that need a location without a tariff. */
const needsLocation = ['tariff_create', 'tariff_import', 'plan_assign']

/** Operations that test mode refuses, because they change both modes. */
const liveOnly = ['account_brand_update']

/** Query parameters that describe a CSV body, or that exclude another filter. */
const isLeftOut = ({ id }: DocumentedOperation, name: string): boolean =>
  id === 'meter_submit' || (id === 'meter_record_list' && (name === 'device_id' || name === 'batch_id'))

const withIds = (text: string, ids: Ids): string =>
  text
    .replace(/\b([a-z]{3})_0198c0ffee00112233445566(?:778899aa)?/g, (id, prefix: string) => ids[prefix] ?? id)
    .replace(/\bsession-17\b/g, assertDefined(ids['session']))
    // An address belongs to one user of the installation.
    .replace(/@example\.com\b/g, `@${ids['session']?.replaceAll('_', '-')}.example.com`)

const callOf = (operation: DocumentedOperation, ids: Ids): ExampleCall => {
  const named = (place: 'path' | 'query'): Readonly<Record<string, string>> =>
    Object.fromEntries(
      operation.parameters
        .filter(one => one.in === place && one.example !== undefined && !isLeftOut(operation, one.name))
        .map(one => [one.name, withIds(String(one.example), ids)]),
    )
  const { mediaTypes } = operation.success
  return {
    id: operation.id,
    path: named('path'),
    query: named('query'),
    body: operation.body?.example === undefined ? null : withIds(JSON.stringify(operation.body.example), ids),
    accept: mediaTypes.includes('application/json') ? null : assertDefined(mediaTypes[0]),
  }
}

const orderOf = ({ id }: ExampleCall): number => deletions.indexOf(id)

/**
 * Create the objects that the examples of an API version need, and return a call for each operation of its document.
 * The calls change and delete the objects, so they run once and in this order.
 */
export const exampleCalls = async (
  account: Sandbox,
  mode: 'test' | 'live',
  apiVersion: ApiVersion,
): Promise<readonly ExampleCall[]> => {
  const session = `session-${account.account_id}-${apiVersion}`
  const ids = await createIds(account, mode, session)
  const client = await login(account, mode)
  const token = (await client.ask('POST', '/connect/token', {
    connect_url: 'https://app.example.com/connect',
    callback_url: 'https://app.example.com/done',
    postal_address: { country_code: 'GB' },
  })) as { readonly connect_token: string }
  // The example of an undo names this import.
  const hour = bought(assertDefined(ids['loc']), 1, '2025-09-16T10:00:00Z', '2025-09-16T11:00:00Z')
  await client.ask('PUT', '/meters/interval?import_id=january-readings', [hour])
  const finished = await importSession(await login(account, mode, 'earlier'))
  const operations = operationsOf(await readDocument(account.base_url, apiVersion))
  const unordered = operations.filter(({ id, method }) => method.toUpperCase() === 'DELETE' && !deletions.includes(id))
  if (unordered.length > 0)
    throw new Error(`Add ${unordered.map(({ id }) => id).join(', ')} to the order of deletions.`)
  const calls: ExampleCall[] = []
  for (const operation of operations) {
    if (mode === 'test' && liveOnly.includes(operation.id)) continue
    const pln = operation.id === 'plan_delete' ? await createPlan(client) : assertDefined(ids['pln'])
    // The tariff of a session is readable after its end.
    const { connect_token: cot } = operation.id === 'connect_token_retrieve' ? finished : token
    const loc = needsLocation.includes(operation.id) ? await createLocation(client) : assertDefined(ids['loc'])
    calls.push(callOf(operation, { ...ids, loc, pln, cot }))
  }
  return calls.toSorted((a, b) => orderOf(a) - orderOf(b))
}
