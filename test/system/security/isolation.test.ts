import { describe, expect, it } from 'vitest'
import type { IdPath } from '../../support/openapi/id-paths.ts'
import type { DocumentedOperation } from '../../support/openapi/openapi.ts'
import {
  nameOf,
  needsNew,
  ownIdFor,
  type PlannedIdRequest,
  planRequests,
  queryOf,
  sendWith,
  visibleText,
} from '../../support/openapi/planned-requests.ts'
import {
  assertDefined,
  callers,
  documents,
  fixtures,
  newReference,
  useIsolationFixtures,
} from '../../support/registry/isolation-fixture.ts'
import { createObjectFixture } from '../../support/registry/object-fixture.ts'
import type { Reply } from '../../support/system/client.ts'

useIsolationFixtures()

/** Uses of the account's own deleted objects: their costs, statements, records and events, and cursors of lists. */
const keepsDeleted = ({ id }: DocumentedOperation, idPath: IdPath): boolean =>
  id === 'interval_cost_calculate' ||
  id === 'session_cost_calculate' ||
  id === 'statement_create' ||
  id === 'export_create' ||
  (id === 'statement_batch_create' && idPath.prefix === 'loc') ||
  (idPath.in === 'query' &&
    (id === 'meter_record_list' ||
      id === 'statement_list' ||
      id === 'meter_correction_list' ||
      ['object_id', 'starting_after', 'ending_before'].includes(idPath.name)))

/** Providers belong to the operator and are the same for all accounts. */
const shared = ['prv']

const differences = async (planned: PlannedIdRequest): Promise<readonly string[]> => {
  const { own, otherAccount, otherMode, deleted, unknown } = assertDefined(fixtures)
  const { operation, idPath } = planned
  const foreign = Object.entries({
    unknown,
    otherAccount,
    otherMode,
    ...(keepsDeleted(operation, idPath) ? {} : { deleted }),
  })
  const requests = foreign.flatMap(([fixture, ids]) =>
    ids[idPath.prefix] === undefined ? [] : [{ fixture, id: assertDefined(ids[idPath.prefix]) }],
  )
  const [reference, ...replies] = await Promise.all(requests.map(({ id }) => sendWith(planned, own, id)))
  const { text, status } = assertDefined(reference)
  const unlike = replies.filter(reply => visibleText(reply) !== visibleText(assertDefined(reference)))
  const faults = unlike.map(
    reply => `${requests[replies.indexOf(reply) + 1]?.fixture} ${reply.text} differs from ${status} ${text}`,
  )
  const reply = await sendWith(planned, own, await ownIdFor(planned))
  if (reply.status >= 300) faults.push(`its own gives ${reply.text}`)
  if (visibleText(reply) === visibleText(assertDefined(reference))) faults.push(`its own is like none ${reply.text}`)
  for (const id of [...Object.values(otherAccount), ...Object.values(otherMode)]) {
    if (reply.text.includes(id)) faults.push(`shows ${id} of another fixture`)
  }
  return faults.map(fault => `${nameOf(planned)}: ${fault}`)
}

/** Reads run first, because changes write events with the requested ids. */
const phases = [
  ['reads', 'current'],
  ['reads', 'earlier'],
  ['changes', 'current'],
  ['changes', 'earlier'],
] as const

describe('an object of another account, of the other mode, deleted or unknown', () => {
  it.each(['current', 'earlier'] as const)('is in no list of the %s API version', async apiVersion => {
    const isList = (one: DocumentedOperation) =>
      one.method === 'GET' && one.id.endsWith('_list') && !one.path.includes('{')
    const lists = assertDefined(documents[apiVersion]).filter(isList)
    expect(lists.length).toBeGreaterThan(5)
    const { own, otherAccount, otherMode } = assertDefined(fixtures)
    for (const operation of lists) {
      const query = new URLSearchParams([...queryOf(operation, own), ['limit', '100']])
      const { status, text } = await assertDefined(callers[apiVersion]).send('GET', `${operation.path}?${query}`)
      expect(status, text).toBe(200)
      for (const id of [...Object.values(otherAccount), ...Object.values(otherMode)])
        expect(text, operation.path).not.toContain(id)
    }
  })

  it.each(phases)('has byte-identical answers at every id of %s, in the %s API version', async (phase, apiVersion) => {
    const isChange = ({ operation }: PlannedIdRequest) =>
      operation.method !== 'GET' && !operation.path.startsWith('/costs/')
    const plans = planRequests(apiVersion).filter(
      one => isChange(one) === (phase === 'changes') && !shared.includes(one.idPath.prefix),
    )
    expect(plans.length).toBeGreaterThan(15)
    const faults: string[] = []
    for (const planned of plans) faults.push(...(await differences(planned)))
    expect(faults.join('\n')).toBe('')
  })
})

const referencesOf = (session: string): Readonly<Record<string, string>> => ({
  cus: `household of ${session}`,
  loc: `home of ${session}`,
  dev: `charger of ${session}`,
})

const kindsOf = { cus: 'customers', loc: 'locations', dev: 'devices' } as const

/** Create an object with a new reference, and return the reference. */
const newObject = async (prefix: 'cus' | 'loc' | 'dev'): Promise<string> => {
  const reference = newReference()
  const locationBody = prefix === 'loc' ? { timezone: 'Europe/Berlin', currency_code: 'EUR' } : {}
  await assertDefined(callers.current).ask('POST', `/${kindsOf[prefix]}`, { reference_id: reference, ...locationBody })
  return reference
}

const isReferenced = (prefix: string): prefix is keyof typeof kindsOf => prefix in kindsOf

/** Return an answer without the requested reference and its length. */
const without = (reference: string, reply: Reply): string => {
  const headers = new Headers(reply.headers)
  headers.delete('content-length')
  return visibleText({
    ...reply,
    headers,
    text: reply.text.replaceAll(JSON.stringify(JSON.stringify(reference)).slice(1, -1), '…'),
  })
}

/** Return the current reference of an own object: earlier tests may have changed it. */
const createdReference = async (prefix: keyof typeof kindsOf): Promise<string> => {
  const { reference_id: reference } = (await assertDefined(callers.current).ask(
    'GET',
    `/${kindsOf[prefix]}/${assertDefined(fixtures).own[prefix]}`,
  )) as {
    readonly reference_id: string
  }
  return reference
}

const referenceDifferences = async (
  planned: PlannedIdRequest,
  deleted: Readonly<Record<string, string>>,
): Promise<readonly string[]> => {
  const { prefix } = planned.idPath
  if (!isReferenced(prefix)) return []
  const own = assertDefined(fixtures).own
  const ask = async (reference: string) => ({
    reference,
    reply: await sendWith(planned, own, `reference:${reference}`),
  })
  const foreign = ['session-none', 'session-stranger', 'session-live'].map(session =>
    assertDefined(referencesOf(session)[prefix]),
  )
  const unknown = await ask(assertDefined(foreign[0]))
  const faults: string[] = []
  for (const reference of [...foreign.slice(1), assertDefined(deleted[prefix])]) {
    const { reply } = await ask(reference)
    if (without(reference, reply) !== without(unknown.reference, unknown.reply)) {
      faults.push(`${reference}: ${reply.status} ${reply.text} differs from ${unknown.reply.text}`)
    }
  }
  const { reply } = await ask(needsNew(planned) ? await newObject(prefix) : await createdReference(prefix))
  if (reply.status >= 300) faults.push(`its own gives ${reply.text}`)
  if (visibleText(reply) === visibleText(unknown.reply)) faults.push(`its own is like none: ${reply.text}`)
  return faults.map(fault => `${nameOf(planned)}: ${fault}`)
}

describe('a reference of another account, of the other mode, of a deleted object or of no object', () => {
  it.each(phases)(
    'has identical answers at every reference of %s, in the %s API version',
    async (phase, apiVersion) => {
      const isChange = ({ operation }: PlannedIdRequest) =>
        operation.method !== 'GET' && !operation.path.startsWith('/costs/')
      const plans = planRequests(apiVersion).filter(
        one => isChange(one) === (phase === 'changes') && isReferenced(one.idPath.prefix),
      )
      expect(plans.length).toBeGreaterThan(10)
      const deleted: Record<string, string> = {}
      for (const prefix of ['cus', 'loc', 'dev'] as const) {
        deleted[prefix] = await newObject(prefix)
        const { status } = await assertDefined(callers.current).send(
          'DELETE',
          `/${kindsOf[prefix]}/reference:${deleted[prefix]}`,
        )
        expect(status).toBe(202)
      }
      const faults: string[] = []
      for (const planned of plans) faults.push(...(await referenceDifferences(planned, deleted)))
      expect(faults.join('\n')).toBe('')
    },
  )
})

describe('an object that the account itself deleted', () => {
  it('keeps its costs, records and events', async () => {
    const client = assertDefined(callers.current)
    const fixture = await createObjectFixture(client, 'session-deleted')
    for (const path of [`/devices/${fixture.device}`, `/customers/${fixture.customer}`])
      await client.ask('DELETE', path)
    expect((await client.send('GET', `/locations/${fixture.location}`)).status).toBe(404)
    const span = { start_time: '2025-09-14T00:00:00Z', end_time: '2025-09-15T00:00:00Z' }
    const energyOf = async (path: string, body?: object) =>
      ((await client.ask('POST', path, body)) as { data: readonly { energy: { value: number } }[] }).data[0]?.energy
        .value
    expect(await energyOf(`/costs/interval/${fixture.location}?include_devices=true`, span)).toBe(1_250)
    expect(await energyOf(`/costs/interval/${fixture.device}`, span)).toBe(1_250)
    expect(await energyOf(`/costs/interval/${fixture.device}?location_id=${fixture.location}`, span)).toBe(1_250)
    expect(await energyOf(`/costs/session/${fixture.session}`)).toBe(1_250)
    for (const query of [
      `location_id=${fixture.location}`,
      `device_id=${fixture.device}`,
      `session_reference_id=${fixture.session}`,
    ]) {
      expect(
        ((await client.ask('GET', `/meters/records?${query}`)) as { data: readonly unknown[] }).data,
        query,
      ).toHaveLength(1)
    }
    expect((await client.send('GET', `/meters/records/${fixture.record}`)).status).toBe(200)
    const { data } = (await client.ask('GET', `/events?object_id=${fixture.device}`)) as {
      data: readonly { type: string }[]
    }
    expect(data.map(({ type }) => type)).toEqual(['device.delete', 'device.create'])
  })
})
