import { describe, expect, it } from 'vitest'
import type { Layout, Reply } from '../support/client.ts'
import { type IdPlace, idPlacesOf } from '../support/id-places.ts'
import type { DocumentedOperation } from '../support/openapi.ts'
import { makeSmallWorld } from '../support/small-world.ts'
import { callers, documents, given, type Ids, newReference, spare, useWorlds, worlds } from '../support/worlds.ts'

useWorlds()

/** Where an object of more than one kind may be named. */
const alsoOf: Readonly<Record<string, readonly string[]>> = { interval_cost_calculate: ['dev', 'cus', 'acc'] }

/** Where deleted objects of the account itself are still of use: their costs, records and events, and pages that go on behind them. */
const keepsDeleted = ({ id }: DocumentedOperation, place: IdPlace): boolean =>
  id === 'interval_cost_calculate' ||
  id === 'session_cost_calculate' ||
  (place.in === 'query' && (id === 'meter_record_list' || ['object_id', 'starting_after', 'ending_before'].includes(place.name)))

const put = (value: unknown, [step, ...rest]: readonly (string | number)[], id: string): unknown => {
  if (step === undefined) return id
  if (typeof step === 'number')
    return Array.isArray(value) ? value.map((one, index) => (index === step ? put(one, rest, id) : one)) : [put(undefined, rest, id)]
  const members = typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {}
  return { ...members, [step]: put(members[step], rest, id) }
}

const ownIds = (value: unknown, own: Ids): unknown =>
  JSON.parse(JSON.stringify(value), (_, member) => {
    const prefix = typeof member === 'string' ? /^([a-z]{3})_0198c0ffee00112233445566$/.exec(member)?.[1] : undefined
    return prefix === undefined ? member : own[prefix]
  })

/** A body that the operation takes, all its ids from the caller's own world; references are never used twice. */
const bodyOf = ({ body, id }: DocumentedOperation, own: Ids): unknown => {
  if (body === null) return undefined
  const example = ownIds(body.example ?? {}, own)
  if (id === 'market_price_put' || Array.isArray(example) || typeof example !== 'object' || example === null) return example
  // An id and a reference of the same kind exclude each other.
  if (id.startsWith('connect_'))
    return JSON.parse(JSON.stringify(example), (name, one) => (name.endsWith('_reference_id') ? undefined : one))
  return 'reference_id' in example ? { ...example, reference_id: newReference() } : example
}

/** The parameters that a request needs besides the one under test. */
const queryOf = ({ parameters, id }: DocumentedOperation, own: Ids): ReadonlyMap<string, string> => {
  const required = parameters.filter(one => one.in === 'query' && one.required)
  const query = new Map(required.map(one => [one.name, one.name.endsWith('_time') ? '' : String(ownIds(one.example ?? '', own))]))
  if (parameters.some(({ name }) => name === 'absolute')) query.set('absolute', '1')
  if (id === 'meter_record_list') query.set('location_id', given(own['loc']))
  if (query.has('start_time') || query.has('end_time')) query.set('start_time', '2025-09-14T00:00:00Z')
  if (query.has('end_time')) query.set('end_time', '2025-09-15T00:00:00Z')
  return query
}

type Planned = { readonly operation: DocumentedOperation; readonly place: IdPlace; readonly body: unknown; readonly layout: Layout }

const sendWith = ({ operation, place, body, layout }: Planned, own: Ids, id: string): Promise<Reply> => {
  const path = operation.path.replace(/\{(\w+)\}/g, (_, name: string) => {
    if (place.in === 'path' && place.name === name) return encodeURIComponent(id)
    const example = operation.parameters.find(one => one.in === 'path' && one.name === name)?.example
    return String(example).startsWith('session') ? given(own['session']) : String(ownIds(example, own))
  })
  const query = new Map(queryOf(operation, own))
  if (place.in === 'query') query.set(place.name, id)
  const search = query.size === 0 ? '' : `?${new URLSearchParams([...query])}`
  return given(callers[layout]).send(operation.method, path + search, place.in === 'body' ? put(body, place.path, id) : body)
}

/** What a caller sees of an answer, but for what names the request itself. */
const seen = ({ status, headers, text }: Reply): string => {
  const shown = [...headers].filter(([name]) => !['date', 'x-request-id'].includes(name))
  const body = text
    .replace(/"request_id":"[^"]*"/, '')
    .replace(/"time_created":"[^"]*"/, '')
    .replace(/"id":"(?:bat|ecs)_\w+"/, '')
  return JSON.stringify([status, shown.toSorted(), body])
}

const nameOf = ({ operation, place, layout }: Planned): string =>
  `${layout} ${operation.method} ${operation.path} ${place.in} ${place.in === 'body' ? place.path.join('.') : place.name} ${place.prefix}`

const plansOf = (layout: Layout): readonly Planned[] =>
  given(documents[layout]).flatMap(operation =>
    idPlacesOf(operation)
      .flatMap(place => [place, ...(place.in === 'path' ? (alsoOf[operation.id] ?? []).map(prefix => ({ ...place, prefix })) : [])])
      .map(place => ({ operation, place, body: bodyOf(operation, given(worlds).own), layout })),
  )

/** Providers are the operator's and the same for everybody. */
const shared = ['prv']

/** The caller's own id for a request; one that uses its object up, or needs it untouched, gets a spare one. */
const ownIdFor = async ({ operation, place }: Planned): Promise<string> => {
  const isFresh = operation.method === 'DELETE' || ['tariff_create', 'connect_batch_import'].includes(operation.id)
  return isFresh ? spare(given(callers.current), place.prefix) : given(given(worlds).own[place.prefix])
}

const differences = async (planned: Planned): Promise<readonly string[]> => {
  const { own, otherAccount, otherMode, deleted, never } = given(worlds)
  const { operation, place } = planned
  const foreign = Object.entries({ never, otherAccount, otherMode, ...(keepsDeleted(operation, place) ? {} : { deleted }) })
  const asked = foreign.flatMap(([world, ids]) => (ids[place.prefix] === undefined ? [] : [{ world, id: given(ids[place.prefix]) }]))
  const [reference, ...replies] = await Promise.all(asked.map(({ id }) => sendWith(planned, own, id)))
  const { text, status } = given(reference)
  const unlike = replies.filter(reply => seen(reply) !== seen(given(reference)))
  const faults = unlike.map(reply => `${asked[replies.indexOf(reply) + 1]?.world} ${reply.text} differs from ${status} ${text}`)
  const reply = await sendWith(planned, own, await ownIdFor(planned))
  if (reply.status >= 300) faults.push(`its own gives ${reply.text}`)
  if (seen(reply) === seen(given(reference))) faults.push(`its own is like none ${reply.text}`)
  for (const id of [...Object.values(otherAccount), ...Object.values(otherMode)]) {
    if (reply.text.includes(id)) faults.push(`shows ${id} of another world`)
  }
  return faults.map(fault => `${nameOf(planned)}: ${fault}`)
}

/** Changes leave events that name what was asked for, so reads come first. */
const phases = [
  ['reads', 'current'],
  ['reads', 'earlier'],
  ['changes', 'current'],
  ['changes', 'earlier'],
] as const

describe('an object of another account, of the other mode, deleted or never made', () => {
  it.each(['current', 'earlier'] as const)('is in no list of the %s layout', async layout => {
    const isList = (one: DocumentedOperation) => one.method === 'GET' && one.id.endsWith('_list') && !one.path.includes('{')
    const lists = given(documents[layout]).filter(isList)
    expect(lists.length).toBeGreaterThan(5)
    const { own, otherAccount, otherMode } = given(worlds)
    for (const operation of lists) {
      const query = new URLSearchParams([...queryOf(operation, own), ['limit', '100']])
      const { status, text } = await given(callers[layout]).send('GET', `${operation.path}?${query}`)
      expect(status, text).toBe(200)
      for (const id of [...Object.values(otherAccount), ...Object.values(otherMode)]) expect(text, operation.path).not.toContain(id)
    }
  })

  it.each(phases)('is answered alike in every byte at every place of %s that takes an id, in the %s layout', async (phase, layout) => {
    const isChange = ({ operation }: Planned) => operation.method !== 'GET' && !operation.path.startsWith('/costs/')
    const plans = plansOf(layout).filter(one => isChange(one) === (phase === 'changes') && !shared.includes(one.place.prefix))
    expect(plans.length).toBeGreaterThan(15)
    const faults: string[] = []
    for (const planned of plans) faults.push(...(await differences(planned)))
    expect(faults.join('\n')).toBe('')
  })
})

describe('what the account itself deleted', () => {
  it('keeps its costs, records and events', async () => {
    const client = given(callers.current)
    const world = await makeSmallWorld(client, 'session-deleted')
    for (const path of [`/devices/${world.device}`, `/customers/${world.customer}`]) await client.ask('DELETE', path)
    expect((await client.send('GET', `/locations/${world.location}`)).status).toBe(404)
    const span = { start_time: '2025-09-14T00:00:00Z', end_time: '2025-09-15T00:00:00Z' }
    const energyOf = async (path: string, body?: object) =>
      ((await client.ask('POST', path, body)) as { data: readonly { energy: { value: number } }[] }).data[0]?.energy.value
    expect(await energyOf(`/costs/interval/${world.location}?include_devices=true`, span)).toBe(1_250)
    expect(await energyOf(`/costs/interval/${world.device}`, span)).toBe(1_250)
    expect(await energyOf(`/costs/interval/${world.device}?location_id=${world.location}`, span)).toBe(1_250)
    expect(await energyOf(`/costs/session/${world.session}`)).toBe(1_250)
    for (const query of [`location_id=${world.location}`, `device_id=${world.device}`, `session_reference_id=${world.session}`]) {
      expect(((await client.ask('GET', `/meters/records?${query}`)) as { data: readonly unknown[] }).data, query).toHaveLength(1)
    }
    expect((await client.send('GET', `/meters/records/${world.record}`)).status).toBe(200)
    const { data } = (await client.ask('GET', `/events?object_id=${world.device}`)) as { data: readonly { type: string }[] }
    expect(data.map(({ type }) => type)).toEqual(['device.delete', 'device.create'])
  })
})
