import { afterAll, beforeAll } from 'vitest'
import type { Sandbox } from '../../../services/platform/access/sandbox-file.ts'
import { doneExport } from '../exports/done-export.ts'
import { type DocumentedOperation, operationsOf, readDocument } from '../openapi/openapi.ts'
import { doneBatch } from '../statements/statement-batch.ts'
import { type ApiVersion, type Client, login } from '../system/client.ts'
import { startPrepared } from '../system/prepared-folder.ts'
import { dataFolder, loopbackWebhooks, type RunningSystem, removeData } from '../system/running-system.ts'
import { until } from '../system/until.ts'
import { createOtherAccount, openRecords } from './accounts.ts'
import {
  assignPlan,
  createCharge,
  createLocation,
  createObjectFixture,
  createPlan,
  flatSchedule,
  type ObjectFixture,
} from './object-fixture.ts'

/** Ids of one object of each kind, by prefix. */
export type Ids = Readonly<Record<string, string>>

export type IsolationFixtures = {
  readonly own: Ids
  readonly otherAccount: Ids
  readonly otherMode: Ids
  /** Deleted objects without records. */
  readonly deleted: Ids
  readonly unknown: Ids
}

/** Fixtures of the test file. `useIsolationFixtures` creates them. */
export let fixtures: IsolationFixtures | undefined
export const callers: Partial<Record<ApiVersion, Client>> = {}
export const documents: Partial<Record<ApiVersion, readonly DocumentedOperation[]>> = {}

const idsOf = (fixture: ObjectFixture, accountId: string): Ids => ({
  acc: accountId,
  cus: fixture.customer,
  loc: fixture.location,
  dev: fixture.device,
  trf: fixture.tariff,
  chg: fixture.charge,
  pln: fixture.plan,
  pla: fixture.assignment,
  cal: fixture.calendar,
  mrs: fixture.market,
  bat: fixture.batch,
  mre: fixture.record,
  evt: fixture.event,
  session: fixture.session,
})

/** Address without a server: an attempt fails at once. */
const closedPort = 'https://127.0.0.1:39999/'

/** Create a webhook endpoint with an attempted test event and a resend. Return their ids. */
const webhookIds = async (client: Client): Promise<Ids> => {
  const createOne = async (path: string, body: object) =>
    (await client.ask('POST', path, body)) as { readonly id: string; readonly event_id: string }
  const { id: whe } = await createOne('/webhooks', { url: closedPort, event_types: ['schedule.created'] })
  const { id: whd, event_id: evt } = await createOne(`/webhooks/${whe}/test`, {})
  const { id: whr } = await createOne(`/webhooks/${whe}/resends`, {
    start_time: '2025-09-14T00:00:00Z',
    end_time: '2025-09-15T00:00:00Z',
  })
  const path = `/webhooks/${whe}/deliveries/${whd}/attempts`
  const { data } = await until(
    async () => (await client.ask('GET', path)) as { readonly data: readonly { readonly id: string }[] },
    ({ data: attempts }) => attempts.length > 0,
  )
  return { whe, whd, whr, wha: assertDefined(data[0]).id, evt }
}

/** Create a plan and return its id. */
const scheduleIds = async (client: Client, { location, device }: ObjectFixture): Promise<Ids> => {
  const window = { device_id: device, start_time: '2025-09-14T18:00:00Z', end_time: '2025-09-14T20:00:00Z' }
  const data = [{ ...window, max_power: { units: 'KW', value: 2 }, energy: { units: 'KWH', value: 1 } }]
  return { sae: ((await client.ask('POST', `/schedules/amount/${location}`, { data })) as { readonly id: string }).id }
}

/** Request a statement and return its id. */
const statementIds = async (client: Client, location: string): Promise<Ids> => {
  const month = { start_date: '2025-09-01', end_date: '2025-10-01' }
  return { stm: ((await client.ask('POST', `/statements/${location}`, month)) as { readonly id: string }).id }
}

/** Calculate a batch of statements and return its id. */
const batchIds = async (client: Client, location: string): Promise<Ids> => {
  const month = { start_date: '2025-09-01', end_date: '2025-10-01' }
  // Two batches of an account can run. Earlier requests may have started them.
  const { json } = await until(
    () => client.send('POST', '/statements/batch', { object_ids: [location], ...month }),
    reply => reply.json['code'] !== 'too_many_batches',
  )
  const id = String(json['id'])
  await doneBatch(client, id)
  return { stb: id }
}

/** Request a simulation that is too large for an immediate answer. Return its id. */
const simulationIds = async (client: Client, location: string): Promise<Ids> => {
  const charges = Array.from({ length: 40 }, (_, index) => ({ kind: 'FIXED', name: `Fee ${index}`, price: 1 }))
  const candidates = Array.from({ length: 50 }, (_, index) => ({ name: `Candidate ${index}`, charges }))
  const days = { start_date: '2022-10-01', end_date: '2025-09-01' }
  const { id } = (await client.ask('POST', '/simulations', { object_ids: [location], ...days, candidates })) as {
    readonly id: string
  }
  return { sim: id }
}

/** Invite a user and return its id. */
const createUser = async (client: Client, address: string): Promise<string> =>
  ((await client.ask('POST', '/users', { address, role: 'read' })) as { readonly id: string }).id

const userIds = async (client: Client, name: string): Promise<Ids> => ({
  usr: await createUser(client, `${name}@example.com`),
})

/** Find the correction of a record and return its id. */
const correctionIds = async (client: Client, { record }: ObjectFixture): Promise<Ids> => {
  const { data } = (await client.ask('GET', `/meters/corrections?record_id=${record}`)) as {
    readonly data: readonly { readonly id: string }[]
  }
  return { mco: assertDefined(data[0]).id }
}

/** Import a completed Connect session. The client uses the earlier API version. */
export const importSession = async (
  earlier: Client,
): Promise<{ readonly session_id: string; readonly connect_token: string }> => {
  const tariff = {
    type: 'FIXED',
    name: 'Imported',
    contract: { start_date: '2026-01-01T00:00:00Z', end_date: '2031-01-01T00:00:00Z' },
    data: flatSchedule,
  }
  const postal_address = { address_line1: 'Unter den Linden 1', city: 'Berlin', post_code: '10117', country_code: 'DE' }
  const body = { session: { direction: 'IMPORT', type: 'COMMODITY' }, postal_address, tariff }
  return earlier.ask('POST', '/connect/tariff/batch', body)
}

let spares = 0

/** Return a new reference. */
export const newReference = (): string => `reference-${++spares}`

/** Create another object of a kind, for a request that deletes or consumes the object. */
export const createSpare = async (client: Client, prefix: string): Promise<string> => {
  spares += 1
  const createOne = async (path: string, body: object) =>
    ((await client.ask('POST', path, body)) as { readonly id: string }).id
  if (prefix === 'cus') return createOne('/customers', {})
  if (prefix === 'loc') return createLocation(client)
  if (prefix === 'dev') return createOne('/devices', { reference_id: `spare-${spares}` })
  if (prefix === 'mrs') return createOne('/markets', { display_name: 'Spare', currency_code: 'EUR' })
  if (prefix === 'cal') return createOne('/calendars', { name: 'Spare' })
  if (prefix === 'usr') return createUser(client, `spare-${spares}@example.com`)
  if (prefix === 'whe') return createOne('/webhooks', { url: closedPort, event_types: ['schedule.created'] })
  if (prefix === 'exp') return doneExport(client)
  if (prefix === 'chg') return createCharge(client, await createLocation(client))
  if (prefix === 'pln') return createPlan(client)
  if (prefix === 'pla') return assignPlan(client, assertDefined(fixtures?.own['pln']), await createLocation(client))
  if (prefix === 'stm') return assertDefined((await statementIds(client, await createLocation(client)))['stm'])
  if (prefix === 'stb') return assertDefined((await batchIds(client, await createLocation(client)))['stb'])
  if (prefix !== 'trf') throw new Error(`Objects with the prefix ${prefix} cannot be created.`)
  return createOne('/tariffs', {
    location_id: await createLocation(client),
    direction: 'IMPORT',
    type: 'COMMODITY',
    schedule: flatSchedule,
  })
}

const deletable: Readonly<Record<string, string>> = {
  cus: 'customers',
  loc: 'locations',
  dev: 'devices',
  trf: 'tariffs',
  chg: 'charges',
  pln: 'plans',
  cal: 'calendars',
  mrs: 'markets',
  whe: 'webhooks',
  usr: 'users',
}

const deletedIds = async (client: Client): Promise<Ids> => {
  const ids: Record<string, string> = {}
  for (const [prefix, kind] of Object.entries(deletable)) {
    const id = await createSpare(client, prefix)
    await client.ask('DELETE', `/${kind}/${id}`)
    ids[prefix] = id
  }
  return ids
}

/** Return a value that the fixtures have set. Throws if it is undefined. */
export const assertDefined = <T>(value: T | undefined): T => {
  if (value === undefined) throw new Error('The fixtures are not created.')
  return value
}

/** Create one object of each kind, and return the ids. */
export const createIds = async (account: Sandbox, mode: 'test' | 'live', session: string): Promise<Ids> => {
  const caller = await login(account, mode)
  const fixture = await createObjectFixture(caller, session)
  return {
    ...idsOf(fixture, account.account_id),
    ...(await scheduleIds(caller, fixture)),
    ...(await statementIds(caller, fixture.location)),
    ...(await batchIds(caller, fixture.location)),
    ...(await simulationIds(caller, fixture.location)),
    ...(await webhookIds(caller)),
    ...(await correctionIds(caller, fixture)),
    ...(await userIds(caller, session)),
    exp: await doneExport(caller),
    fps: (await importSession(await login(account, mode, 'earlier'))).session_id,
  }
}

/** Start a system with objects of two accounts and both modes before the tests of a file. Stop it after the tests. */
export const useIsolationFixtures = (): void => {
  const folder = dataFolder()
  let system: RunningSystem | undefined
  let records: Awaited<ReturnType<typeof openRecords>> | undefined
  beforeAll(async () => {
    system = await startPrepared(folder, loopbackWebhooks)
    const { sandbox } = system
    records = await openRecords(folder)
    const otherAccountSandbox = await createOtherAccount(records, folder, sandbox)
    const client = await login(sandbox, 'test')
    callers.current = client
    callers.earlier = await login(sandbox, 'test', 'earlier')
    const own = await createIds(sandbox, 'test', 'session-own')
    const otherAccount = await createIds(otherAccountSandbox, 'test', 'session-stranger')
    const { acc: _, ...otherMode } = await createIds(sandbox, 'live', 'session-live')
    const unknown = Object.fromEntries(Object.keys(own).map(prefix => [prefix, `${prefix}_0198c0ffee00112233445566`]))
    fixtures = {
      own,
      otherAccount,
      otherMode,
      deleted: await deletedIds(client),
      unknown: { ...unknown, session: 'session-never' },
    }
    for (const apiVersion of ['current', 'earlier'] as const)
      documents[apiVersion] = operationsOf(await readDocument(sandbox.base_url, apiVersion))
  })

  afterAll(async () => {
    await records?.[Symbol.asyncDispose]()
    await system?.[Symbol.asyncDispose]()
    removeData(folder)
  })
}
