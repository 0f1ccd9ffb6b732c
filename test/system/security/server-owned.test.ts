import { beforeAll, describe, expect, it } from 'vitest'
import { generateValue } from '../../support/fuzz/generate-value.ts'
import type { JsonSchema } from '../../support/openapi/json-schema.ts'
import { type DocumentedOperation, operationsOf, readDocument } from '../../support/openapi/openapi.ts'
import { seededRandom } from '../../support/random.ts'
import { createLocation, createObjectFixture, type ObjectFixture } from '../../support/registry/object-fixture.ts'
import type { ApiVersion, Client } from '../../support/system/client.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'

const system = useSharedSystem()
type Fixture = ObjectFixture & { readonly webhook: string; readonly user: string }
let fixture: Fixture | undefined
const clients: Partial<Record<ApiVersion, Client>> = {}
const documents: Partial<Record<ApiVersion, readonly DocumentedOperation[]>> = {}

const given = <T>(value: T | undefined): T => {
  if (value === undefined) throw new Error('the system is not ready')
  return value
}

beforeAll(async () => {
  for (const apiVersion of ['current', 'earlier'] as const) {
    clients[apiVersion] = await system.login('test', apiVersion)
    documents[apiVersion] = operationsOf(await readDocument(system.sandbox().base_url, apiVersion))
  }
  const client = given(clients.current)
  const { id: webhook } = (await client.ask('POST', '/webhooks', { url: 'https://example.com' })) as { id: string }
  await client.ask('PATCH', `/webhooks/${webhook}`, { status: 'DISABLED' })
  const invitation = { address: 'ada@example.org', role: 'read' }
  const { id: user } = (await client.ask('POST', '/users', invitation)) as { id: string }
  fixture = { ...(await createObjectFixture(client, 'session-17')), webhook, user }
})

const schemasIn = (value: unknown): Readonly<Record<string, JsonSchema>> =>
  typeof value === 'object' && value !== null ? (value as Record<string, JsonSchema>) : {}

/** Members of a schema, or of each of its alternatives. */
const propertiesOf = ({ properties, anyOf }: JsonSchema): Readonly<Record<string, JsonSchema>> => ({
  ...schemasIn(properties),
  ...(Array.isArray(anyOf) ? Object.assign({}, ...anyOf.map(propertiesOf)) : {}),
})

/** Allowed members of a body, or of each of its elements. */
const membersOf = (schema: JsonSchema): Readonly<Record<string, JsonSchema>> => ({
  ...propertiesOf(schemasIn(schema['items'])),
  ...propertiesOf(schema),
})

/** Members that only the service sets: members of answers and of rows. Callers of other APIs try to send them. */
const hidden = {
  revision: { type: 'integer' },
  version: { type: 'integer' },
  batch_id: { type: 'string' },
  deleted_at: { type: 'string' },
}

const ownedFields = ({ body, success }: DocumentedOperation): readonly (readonly [string, JsonSchema])[] => {
  const taken = membersOf(body?.schema ?? {})
  const all = {
    ...hidden,
    ...propertiesOf(success.schema),
    account_id: { type: 'string' },
    live_mode: { type: 'boolean' },
  }
  return Object.entries(all).filter(([name]) => taken[name] === undefined || taken[name]['readOnly'] === true)
}

const prefixes: Readonly<Record<string, keyof Fixture>> = {
  whe: 'webhook',
  usr: 'user',
  cus: 'customer',
  loc: 'location',
  dev: 'device',
  trf: 'tariff',
  pln: 'plan',
  pla: 'assignment',
  chg: 'charge',
  cal: 'calendar',
  mrs: 'market',
}

const withOwnIds = <T>(value: T): T => {
  const own = (text: string, prefix: string): string => given(fixture)[prefixes[prefix] ?? 'location'] ?? text
  return JSON.parse(JSON.stringify(value).replace(/\b([a-z]{3})_0198c0ffee00112233445566\b/g, own)) as T
}

const pathOf = (operation: DocumentedOperation): string =>
  operation.path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const example = operation.parameters.find(one => one.in === 'path' && one.name === name)?.example
    return withOwnIds(String(example))
  })

type RefusalBody = {
  readonly code?: string
  readonly field?: string
  readonly failed_records?: readonly { readonly error: string }[]
  readonly records_accepted?: number
  readonly failed?: readonly { readonly field: string | null }[]
  readonly data?: readonly unknown[]
}

/** Return the fault of an answer to a body that sets a member of the service; null if there is none. */
const faultOf = async (
  operation: DocumentedOperation,
  name: string,
  value: unknown,
  client: Client,
): Promise<string | null> => {
  const example = withOwnIds(operation.body?.example ?? {})
  const body = Array.isArray(example)
    ? example.map((one: object) => ({ ...one, [name]: value }))
    : { ...example, [name]: value }
  const { status, json, text } = await client.send(operation.method, pathOf(operation), body)
  const {
    code,
    field = '',
    failed_records: failed,
    records_accepted: taken,
    failed: elements,
    data,
  }: RefusalBody = json
  // A submission refuses each record separately.
  if (failed !== undefined) return taken === 0 && failed.every(({ error }) => error.includes(name)) ? null : text
  // So does a request with assignments.
  if (elements !== undefined)
    return data?.length === 0 && elements.every(one => one.field?.endsWith(name)) ? null : text
  const isRefused = (status === 400 || status === 409) && (code === 'unknown_field' || code === 'field_immutable')
  return isRefused && field.endsWith(name) ? null : text
}

/** Read all objects that the caller created. */
const everything = async (client: Client): Promise<string> => {
  const { location, market, batch, record } = given(fixture)
  const lists = [
    '/customers',
    '/locations',
    '/devices',
    '/markets',
    `/tariffs?location_id=${location}`,
    '/charges',
    '/calendars',
    '/users',
    `/meters/records?location_id=${location}`,
  ]
  const objects = [`/meters/batch?batch_id=${batch}`, `/meters/records/${record}`, '/account']
  const prices = `/markets/${market}/prices?start_time=2025-09-01T00:00:00Z&end_time=2025-10-01T00:00:00Z`
  const replies = await Promise.all([...lists, ...objects, prices].map(path => client.send('GET', path)))
  expect(replies.map(({ status }) => status)).toEqual(replies.map(() => 200))
  return replies.map(({ text }) => text).join('\n')
}

describe.each(['current', 'earlier'] as const)(
  'members that only the service sets, in the %s API version',
  apiVersion => {
    it('are refused by name in every body, and nothing is stored', async () => {
      const client = given(clients[apiVersion])
      const random = seededRandom(17)
      const before = await everything(given(clients.current))
      // Clients of the Connect flow send members of their own, which the service ignores. Imported files are reported.
      const free = ['connect_step', 'tariff_import']
      const bodies = given(documents[apiVersion]).filter(({ body, id }) => body !== null && !free.includes(id))
      expect(bodies.length).toBeGreaterThan(12)
      const faults: string[] = []
      for (const operation of bodies) {
        const fields = ownedFields(operation)
        expect(fields.length, operation.id).toBeGreaterThan(2)
        const tried = fields.map(async ([name, schema]) => {
          // An update accepts an unchanged member.
          const value = operation.method === 'PATCH' ? 'another value' : generateValue(schema, new Map(), random)
          const fault = await faultOf(operation, name, value, client)
          return fault === null ? [] : [`${operation.id} ${name}: ${fault}`]
        })
        faults.push(...(await Promise.all(tried)).flat())
      }
      expect(faults.join('\n')).toBe('')
      expect(await everything(given(clients.current))).toBe(before)
    })

    it('are refused as a parameter of every operation', async () => {
      const client = given(clients[apiVersion])
      for (const operation of given(documents[apiVersion])) {
        // A Connect session reads no parameters and ignores them.
        if (operation.path === '/login' || operation.path === '/connect') continue
        for (const name of ['account_id', 'live_mode']) {
          const query = operation.parameters
            .filter(one => one.in === 'query' && one.required)
            .map(one => `${one.name}=x`)
          const { json, text } = await client.send(
            operation.method,
            `${pathOf(operation)}?${[...query, `${name}=true`].join('&')}`,
            operation.body === null ? undefined : '{}',
          )
          expect((json as RefusalBody).code, `${operation.id} ${text}`).toBe('unknown_parameter')
        }
      }
    })

    it('of a tariff are accepted unchanged, and refused otherwise', async () => {
      const client = given(clients[apiVersion])
      const path = apiVersion === 'current' ? '/tariffs' : '/tariffs/elements'
      const create = given(documents[apiVersion]).find(one => one.id === 'tariff_create')
      const body = { ...(create?.body?.example as object), location_id: await createLocation(given(clients.current)) }
      const codeOf = async (more: object) =>
        ((await client.send('POST', path, { ...body, ...more })).json as RefusalBody).code
      expect(await codeOf({ connection_type: 'DIRECT' })).toBe('field_invalid')
      expect(await codeOf({ timezone: 'Europe/London' })).toBe('field_invalid')
      const made = (await client.ask('POST', path, {
        ...body,
        connection_type: 'MANUAL',
        timezone: 'Europe/Berlin',
      })) as object
      expect(made).toMatchObject({
        connection_type: 'MANUAL',
        timezone: 'Europe/Berlin',
        status: 'CONNECTED',
        is_linked: false,
        live_mode: false,
      })
    })
  },
)
