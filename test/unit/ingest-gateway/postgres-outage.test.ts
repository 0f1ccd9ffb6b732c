import sql from 'sql-template-tag'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ingestGatewayOperations } from '../../../services/ingest-gateway/operations.ts'
import { currentInstant } from '../../../services/platform/clock.ts'
import { createApp } from '../../../services/platform/http/app.ts'
import { openDatabase } from '../../../services/platform/postgres/database.ts'
import { createApiKey, revokeApiKey } from '../../../services/platform/postgres/registry/api-keys.ts'
import { withOperator } from '../../../services/platform/postgres/transaction.ts'
import { pricingCache } from '../../../services/platform/pricing-cache/pricing-cache.ts'
import { referenceChanges } from '../../../services/platform/role-module.ts'
import { timeZone } from '../../../services/platform/time-zone.ts'
import { openHttpAccess, secret } from '../../support/http/http-access.ts'
import { type Gateway, makeObjects, openGateway } from '../../support/metering/gateway.ts'
import { type Answer, caller } from '../../support/registry/service.ts'
import { makeTenants, openTestDatabase } from '../../support/stores/postgres.ts'
import { type Fault, severablePostgres } from '../../support/stores/severable-postgres.ts'
import { until } from '../../support/system/until.ts'

/** Both a key's state and a found object are believed for 30 s. */
const believedMs = 30_000

let stores: Gateway
beforeAll(async () => {
  stores = await openGateway()
})
afterAll(() => stores[Symbol.asyncDispose]())

/**
 * Gateway with the real check of tokens, and a PostgreSQL connection with faults. `pass` lets time go by for
 * its memory.
 */
const openFixture = async () => {
  const stack = new AsyncDisposableStack()
  const { address, database: straight } = stack.use(await openTestDatabase())
  const way = stack.use(await severablePostgres(address))
  const database = stack.use(openDatabase({ address: way.address }))
  const { dependencies, ports } = openHttpAccess(database)
  let passedMs = 0
  const at = (): number => currentInstant() + passedMs
  const none = () => undefined
  const counts = { accepted: none, refused: none, bytes: none, warned: none }
  const { log, codec, clickHouse } = stores
  const pricing = pricingCache(database, timeZone)
  const gateway = {
    database,
    log,
    codec,
    clickHouse,
    pricing,
    secret,
    generation: () => 1,
    accepts: () => true,
    counts,
    validateCsv: null,
    referenceChanges: referenceChanges(),
  }
  const app = createApp(ingestGatewayOperations(gateway), [], {
    ...ports,
    now: at,
    log: { warn: () => undefined, error: () => undefined },
  })
  const tenant = (await makeTenants(straight)).live
  const newKey = async () => {
    const { apiKey } = await createApiKey(
      straight.operator,
      tenant,
      { scope: 'metering', description: null },
      secret,
      at(),
    )
    return { id: apiKey.id, token: await dependencies.bearerTokens.sign({ ...tenant, keyId: apiKey.id }, at()) }
  }
  const send = (method: string, path: string) => (token: string, locationId: string) => {
    const start = currentInstant() - 3_600_000
    const times = { start_time: new Date(start).toISOString(), end_time: new Date(start + 1000).toISOString() }
    const record = { location_id: locationId, units: 'WH', value: 1, ...times }
    const body = JSON.stringify(method === 'PUT' ? [record] : record)
    // Without its length a body is counted as one of the largest, of which few may be under way.
    const headers = { authorization: `Bearer ${token}`, 'content-length': `${body.length}` }
    return caller(app, headers)(method, path, body)
  }
  const newLocation = async (name: string) => (await makeObjects({ database: straight }, tenant, name)).locationId
  const revoke = (id: string) => revokeApiKey(straight.operator, tenant, id, at())
  const pass = (ms: number): void => {
    passedMs += ms
  }
  const [put, cost] = [send('PUT', '/meters/interval'), send('POST', '/costs/instant')]
  return { way, newKey, newLocation, put, cost, revoke, pass, [Symbol.asyncDispose]: () => stack.disposeAsync() }
}

type TimedRequest = { readonly answer: readonly [status: number, what: unknown]; readonly tookMs: number }

const timed = async (requested: () => Promise<Answer>): Promise<TimedRequest> => {
  const begun = performance.now()
  const { status, body } = await requested()
  return { answer: [status, body['records_accepted'] ?? body['code']], tookMs: performance.now() - begun }
}

const faults: readonly (readonly [string, Fault])[] = [
  ['refuses', { kind: 'refuse' }],
  ['hangs', { kind: 'hang' }],
  ['resets', { kind: 'reset' }],
  ['is slow', { kind: 'slow', ms: 7_000 }],
  ['is cut after a byte', { kind: 'cut', bytes: 1 }],
  ['is cut in the middle of an answer', { kind: 'cut', bytes: 30 }],
]

describe('a PostgreSQL that is away', () => {
  it.each(faults)(
    'and %s stops no metering of known tokens and locations; the rest is 503, and all goes on by itself',
    async (_, fault) => {
      await using fixture = await openFixture()
      const { way, newKey, newLocation, put, cost, revoke, pass } = fixture
      const [key, doomed, late] = [await newKey(), await newKey(), await newKey()]
      const [home, elsewhere] = [await newLocation('home'), await newLocation('elsewhere')]
      for (const { token } of [key, doomed]) expect((await timed(() => put(token, home))).answer).toEqual([200, 1])

      way.inflict(fault)
      await revoke(doomed.id)
      for (let round = 0; round < 2; round += 1) {
        pass(believedMs)
        const known = Array.from({ length: 10 }, () => timed(() => put(key.token, home)))
        const unknown =
          round > 0
            ? []
            : [
                timed(() => put(key.token, elsewhere)),
                timed(() => put(late.token, home)),
                timed(() => cost(key.token, home)),
              ]
        for (const { answer, tookMs } of await Promise.all(known)) {
          expect(answer).toEqual([200, 1])
          expect(tookMs).toBeLessThan(2_500)
        }
        // The gateway does not wait again for an unavailable store.
        const next = await timed(() => put(key.token, home))
        expect(next.answer).toEqual([200, 1])
        expect(next.tookMs).toBeLessThan(1_500)
        for (const { answer, tookMs } of await Promise.all(unknown)) {
          expect(answer).toEqual([503, 'unavailable'])
          expect(tookMs).toBeLessThan(8_000)
        }
      }

      await way.restore()
      await until(
        () => put(late.token, elsewhere),
        ({ status }) => status === 200,
        20_000,
      )
      await until(
        () => put(doomed.token, home),
        ({ status }) => status === 401,
        20_000,
      )
      expect((await timed(() => put(key.token, home))).answer).toEqual([200, 1])
    },
    60_000,
  )
})

describe('a connection on which nothing comes back', () => {
  it('fails what waits on it, is used no more, and neither is one from before', async () => {
    await using server = await openTestDatabase()
    using way = await severablePostgres(server.address)
    await using database = openDatabase({ address: way.address, statementTimeoutMs: 500 })
    const { operator, tenant } = database
    const look = (pool: typeof operator) => pool(sql`select 1 + ${1}::int as two`)
    // Two connections of one kind and three of the other are idle before the fault.
    await Promise.all([look(operator), look(operator), look(tenant), look(tenant), look(tenant)])
    way.inflict({ kind: 'hang' })
    const begun = performance.now()
    const working = withOperator(database, ({ query }) => look(query))
    await expect(look(operator)).rejects.toMatchObject({ code: 'postgres_away', retriable: true })
    expect(performance.now() - begun).toBeLessThan(4_000)
    await way.restore()
    for (let round = 0; round < 3; round += 1) expect(await Promise.all([look(operator), look(tenant)])).toHaveLength(2)
    await expect(working).rejects.toMatchObject({ code: 'postgres_away' })
    expect(performance.now() - begun).toBeLessThan(8_000)
  }, 20_000)

  it('does not keep a process from its end', async () => {
    await using server = await openTestDatabase()
    using way = await severablePostgres(server.address)
    const database = openDatabase({ address: way.address })
    await database.operator(sql`select 1`)
    way.inflict({ kind: 'hang' })
    const lost = expect(database.operator(sql`select 2`)).rejects.toMatchObject({ code: 'postgres_away' })
    const begun = performance.now()
    await database[Symbol.asyncDispose]()
    await lost
    expect(performance.now() - begun).toBeLessThan(8_000)
  }, 20_000)
})
