import { beforeAll, expect, it } from 'vitest'
import { isObject, type JsonSchema, resolveReference } from '../../support/openapi/json-schema.ts'
import { type OpenApiDocument, readDocument } from '../../support/openapi/openapi.ts'
import type { Client } from '../../support/system/client.ts'
import { makeOne } from '../../support/system/home.ts'
import { useSharedSystem } from '../../support/system/use-system.ts'

const system = useSharedSystem()
let client: Client
let document: OpenApiDocument
let ids: Readonly<Record<'location' | 'plan' | 'market' | 'calendar' | 'tariff' | 'webhook', string>>

const fixed = (rate: object) => [
  {
    months: ['All'],
    dates: [1],
    days_and_hours: [{ days: ['All'], hours: [{ valid_from: '00:00:00', valid_to: '00:00:00', rate: [rate] }] }],
  },
  { days_and_hours: [{ hours: [{ valid_from: '00:00:00', valid_to: '00:00:00', rate: [rate] }] }] },
]
const schedule = fixed({ fixed: 0.1 })
const hours = [{ valid_from: '08:00:00', valid_to: '10:00:00' }]
const windows = [{ months: ['Jan'], dates: [1], days: ['Mon'], hours }]
const base = { kinds: ['ENERGY'], components: ['energy'], directions: ['IMPORT'] }

/** A charge of each kind that has lists. */
const charges = [
  { kind: 'USAGE', name: 'c', schedule },
  { kind: 'DEMAND', name: 'c', windows, tiers: [{ price: 1 }], ratchet: { share: 0.5, months: 3, in_months: ['Jan'] } },
  { kind: 'DEMAND', name: 'c', steps: [{ from_kw: 0, amount: 1 }], history: [{ month: '2026-01', kw: 1 }] },
  { kind: 'SESSION', name: 'c', price: 1, per: 'SESSION', windows: [{ hours: [] }] },
  { kind: 'PERCENTAGE', name: 'c', rate: 0.1, base },
]
/** Charges with devices. The devices do not exist, which only the store finds. */
const withDevices = ['USAGE', 'DEMAND', 'SESSION'].map(kind => ({
  kind,
  name: 'd',
  price: 1,
  device_ids: ['dev_0198c0ffee00112233445566'],
  ...(kind === 'SESSION' ? { per: 'SESSION' } : {}),
}))

type Request = readonly [method: string, path: string, template: string, body: unknown]

const requests = (): readonly Request[] => {
  const { location, plan, market, calendar, tariff, webhook } = ids
  const dates = { start_date: '2026-01-01', end_date: '2026-03-01' }
  const periods = [{ start_date: '2026-01-01', end_date: '2026-03-01' }]
  const terms = { direction: 'IMPORT', type: 'COMMODITY', schedule }
  const record = { location_id: location, units: 'KWH', value: 1 }
  const time = { start_time: '2026-01-01T00:00:00Z', end_time: '2026-01-01T01:00:00Z' }
  const dayTypes = [{ name: 'Market day', dates: ['2026-01-05'] }]
  const days = { add: [{ date: '2026-01-02', name: 'x' }], remove: ['2026-01-01'], day_types: dayTypes }
  const all = [...charges, ...withDevices]
  const planBody = { tariffs: [terms], charges: all }
  const window = { device_id: 'dev_0198c0ffee00112233445566', ...time, amount: 1, max_power: { value: 1, unit: 'KW' } }
  return [
    ['POST', '/tariffs', '/tariffs', { location_id: location, ...terms }],
    ['PATCH', `/tariffs/${tariff}`, '/tariffs/{id}', { schedule }],
    ...all.map((one): Request => ['POST', '/charges', '/charges', { location_id: location, ...one }]),
    ['POST', '/plans', '/plans', { name: 'p', currency_code: 'EUR', ...planBody }],
    ['POST', `/plans/${plan}/versions`, '/plans/{id}/versions', { from: '2027-01-01', ...planBody }],
    ['PATCH', `/plans/${plan}/versions/1`, '/plans/{id}/versions/{version}', planBody],
    ['POST', `/plans/${plan}/assignments`, '/plans/{id}/assignments', [{ location_id: location }]],
    [
      'POST',
      '/simulations',
      '/simulations',
      { object_ids: [location], ...dates, candidates: [{ name: 'c', ...planBody }] },
    ],
    ['POST', '/calendars', '/calendars', { name: 'c', ...days }],
    ['PATCH', `/calendars/${calendar}`, '/calendars/{id}', days],
    ['POST', `/statements/${location}`, '/statements/{id}', { ...dates, periods }],
    ['POST', '/statements/batch', '/statements/batch', { object_ids: [location], ...dates, periods }],
    ['POST', '/webhooks', '/webhooks', { url: 'https://example.com', event_types: ['customer.create'] }],
    ['PATCH', `/webhooks/${webhook}`, '/webhooks/{id}', { event_types: ['customer.create'] }],
    ['PUT', '/meters/interval', '/meters/interval', [{ ...record, ...time }]],
    [
      'PUT',
      '/meters/cumulative/epoch',
      '/meters/cumulative/epoch',
      { location_id: location, units: 'KWH', data: [{ time: 1, value: 1 }] },
    ],
    ['POST', `/schedules/amount/${location}`, '/schedules/amount/{id}', { data: [window] }],
    ['PUT', `/markets/${market}/prices`, '/markets/{id}/prices', [{ ...time, value: 0.1 }]],
  ]
}

beforeAll(async () => {
  client = await system.login()
  document = await readDocument(system.sandbox().base_url, 'current')
  const location = await makeOne(client, '/locations', { timezone: 'Europe/Berlin', currency_code: 'EUR' })
  ids = {
    location,
    plan: await makeOne(client, '/plans', { name: 'p', currency_code: 'EUR', tariffs: [], charges: [] }),
    market: await makeOne(client, '/markets', { display_name: 'm', currency_code: 'EUR' }),
    calendar: await makeOne(client, '/calendars', { name: 'k' }),
    tariff: await makeOne(client, '/tariffs', {
      location_id: location,
      direction: 'EXPORT',
      type: 'COMMODITY',
      schedule,
    }),
    webhook: await makeOne(client, '/webhooks', { url: 'https://example.com', event_types: ['customer.create'] }),
  }
})

type Step = string | number
/** List in a body, with its schema. `name` is the component and the path in it. */
type Found = { readonly steps: readonly Step[]; readonly schema: JsonSchema; readonly name: string }
type Place = { readonly schema: JsonSchema; readonly name: string }

/** Resolve references and alternatives. A charge has the alternative of its kind. */
const alternativesOf = ({ schema, name }: Place, value: unknown): readonly Place[] => {
  const reference = schema['$ref']
  if (typeof reference === 'string')
    return alternativesOf(
      { schema: resolveReference(schema, document), name: reference.split('/').at(-1) ?? '' },
      value,
    )
  const options = (schema['anyOf'] ?? schema['oneOf']) as readonly JsonSchema[] | undefined
  if (options !== undefined) return options.flatMap(one => alternativesOf({ schema: one, name }, value))
  const properties = schema['properties']
  const kind = isObject(properties) && isObject(properties['kind']) ? properties['kind']['const'] : undefined
  return kind !== undefined && value !== undefined && (value as { kind?: unknown }).kind !== kind
    ? []
    : [{ schema, name }]
}

const propertyOf = (schema: JsonSchema, name: string): JsonSchema | undefined => {
  const properties = schema['properties']
  const property = isObject(properties) ? properties[name] : undefined
  return isObject(property) ? property : undefined
}

const listsIn = (value: unknown, place: Place, steps: readonly Step[] = []): readonly Found[] => {
  const places = alternativesOf(place, value)
  if (Array.isArray(value)) {
    const list = places.find(({ schema }) => isObject(schema['items']))
    if (list === undefined) return []
    const items = { schema: list.schema['items'] as JsonSchema, name: list.name }
    return [{ steps, ...list }, ...value.flatMap((one, index) => listsIn(one, items, [...steps, index]))]
  }
  if (!isObject(value)) return []
  return Object.entries(value).flatMap(([name, member]) =>
    places.flatMap(one => {
      const property = propertyOf(one.schema, name)
      return property === undefined
        ? []
        : listsIn(member, { schema: property, name: `${one.name}.${name}` }, [...steps, name])
    }),
  )
}

/** List the names of all lists in a schema. */
const namesIn = (place: Place, seen: Set<string>): readonly string[] =>
  alternativesOf(place, undefined).flatMap(({ schema, name }) => {
    const items = schema['items']
    if (isObject(items)) return [name, ...namesIn({ schema: items, name }, seen)]
    const properties = schema['properties']
    if (!isObject(properties) || seen.has(name)) return []
    if (!name.includes('.')) seen.add(name)
    return Object.entries(properties).flatMap(([member, property]) =>
      isObject(property) ? namesIn({ schema: property, name: `${name}.${member}` }, seen) : [],
    )
  })

const schemaOf = (method: string, template: string): Place => {
  const operation = document.paths[template]?.[method.toLowerCase()]
  const schema = operation?.requestBody?.content['application/json']?.schema
  if (schema === undefined) throw new Error(`${method} ${template} has no body`)
  return { schema, name: `${method} ${template}` }
}

const replaceAt = (value: unknown, [step, ...rest]: readonly Step[], member: unknown): unknown => {
  if (step === undefined) return member
  if (Array.isArray(value)) return value.map((one, index) => (index === step ? replaceAt(one, rest, member) : one))
  const object = value as Readonly<Record<string, unknown>>
  return { ...object, [step]: replaceAt(object[step], rest, member) }
}

const valueAt = (value: unknown, steps: readonly Step[]): unknown =>
  steps.reduce<unknown>((at, step) => (at as Readonly<Record<Step, unknown>>)[step], value)

const fieldOf = (steps: readonly Step[]): string =>
  steps
    .map(step => (typeof step === 'number' ? `[${step}]` : `.${step}`))
    .join('')
    .replace(/^\./, '')

/** Longest list that the test sends, in elements. */
const mostElements = 10_001
/** Elements of a list without a documented maximum. */
const manyElements = 2_001

type Refusal = { readonly field?: string; readonly message?: string }

/** Send a body with another list. Returns the refusal of the list or of an element; null if it is not refused there. */
const refusalOf = async ([method, path, , body]: Request, { steps }: Found, list: unknown): Promise<Refusal | null> => {
  const { status, json } = await client.send(method, path, replaceAt(body, steps, list) as object)
  const refusal = json as Refusal
  const field = fieldOf(steps)
  return status >= 400 && (field === '' || refusal.field?.startsWith(field) === true) ? refusal : null
}

it('states the minimum and the maximum of each list of a request that the service refuses beyond them', async () => {
  const visited = new Set<string>()
  const wrong: string[] = []
  for (const request of requests()) {
    const [method, , template, body] = request
    for (const found of listsIn(body, schemaOf(method, template))) {
      const { schema, name, steps } = found
      if (visited.has(name)) continue
      visited.add(name)
      const label = `${name} of ${method} ${template}`
      const [min, max] = [Number(schema['minItems'] ?? 0), schema['maxItems'] as number | undefined]
      if (((await refusalOf(request, found, [])) !== null) !== min > 0) wrong.push(`minItems of ${label}`)
      const [element] = valueAt(body, steps) as readonly unknown[]
      const count = max === undefined ? manyElements : max + 1
      if (count > mostElements) continue
      const refusal = await refusalOf(
        request,
        found,
        Array.from({ length: count }, () => element),
      )
      const isLimited = max === undefined ? /at most|too many/i.test(refusal?.message ?? '') : refusal !== null
      if (isLimited !== (max !== undefined)) wrong.push(`maxItems of ${label}`)
    }
  }
  const all = Object.entries(document.paths).flatMap(([template, methods]) =>
    Object.entries(methods).flatMap(([method, operation]) =>
      operation.requestBody?.content['application/json'] === undefined
        ? []
        : namesIn(schemaOf(method.toUpperCase(), template), new Set()),
    ),
  )
  expect({ wrong, unvisited: [...new Set(all)].filter(name => !visited.has(name)) }).toEqual({
    wrong: [],
    unvisited: [],
  })
})
