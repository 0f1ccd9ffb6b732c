import pg from 'pg'
import sql from 'sql-template-tag'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { currentInstant } from '../../../../../services/platform/clock.ts'
import {
  eraseObjects,
  findObjectsToErase,
  removeErasedLocations,
} from '../../../../../services/platform/postgres/registry/erase-objects.ts'
import { type Tenant, withOperator } from '../../../../../services/platform/postgres/transaction.ts'
import { makePerson } from '../../../../support/registry/erasure-traces.ts'
import { makeTenants, openTestDatabase } from '../../../../support/stores/postgres.ts'

const { database, address, ...opened } = await openTestDatabase()
/** Connection that sees all rows of all tables. */
const owner = new pg.Client(address)
afterAll(async () => {
  await owner.end()
  await opened[Symbol.asyncDispose]()
})
beforeAll(async () => {
  await owner.connect()
  await database.operator(
    sql`insert into providers (id, display_name, countries, time_created) values ('prv_test', 'Works', '{DE}', now())`,
  )
})

/**
 * Tables without personal data, with the reason. A table that is not listed here and not filled by `makePerson` fails
 * the first test.
 */
const tablesWithoutPersons: Readonly<Record<string, string>> = {
  accounts: 'the account itself stays',
  api_keys: 'keys of the account, which stay',
  audit_heads: 'hashes',
  calendar_fan_outs: 'progress of a change of a calendar, for minutes',
  calendars: 'days of the account',
  console_sessions: 'hashes of cookies',
  erasures: 'marks, which need the ids of erased objects',
  lane_generations: 'partitions',
  leases: 'processes',
  library_tariffs: 'public offers of providers',
  market_feeds: 'progress of outage events, for minutes',
  market_prices: 'markets',
  market_sources: 'markets',
  plan_tariffs: 'prices of the account, which stay',
  plan_turns: 'progress of a plan, for minutes',
  plan_versions: 'dates of plans',
  plans: 'names of plans of the account, which stay',
  price_fan_outs: 'progress of a price change, for minutes',
  providers: 'suppliers',
  schema_migrations: 'the schema',
  secret_fingerprints: 'hashes of the secrets of the installation',
  statement_batches: 'request and progress of a batch, for 30 days',
  webhook_deliveries: 'ids of events, which are erased',
  webhook_endpoints: 'settings of the account, which stay',
  webhook_resends: 'ids of events, which are erased',
}

const tables = async (): Promise<readonly string[]> => {
  const { rows } = await owner.query<{ name: string }>(
    "select relname as name from pg_class where relkind in ('r', 'p') and relnamespace = 'public'::regnamespace order by 1",
  )
  return rows.map(({ name }) => name)
}

/**
 * Rows of all tables that contain a text: `table: row`. Without recost requests in the outbox, which are published
 * within moments.
 */
const columnsWith = async (text: string): Promise<readonly string[]> => {
  const columns: string[] = []
  for (const table of await tables()) {
    const isOrder = table === 'outbox' ? "topic = 'meter.records.v1'" : 'false'
    const { rows } = await owner.query<{ row: string }>(
      `select to_jsonb(t)::text as row from ${table} t where strpos(to_jsonb(t)::text, $1) > 0 and not (${isOrder})`,
      [text],
    )
    columns.push(...rows.map(({ row }) => `${table}: ${row}`))
  }
  return columns
}

const tablesIn = (columns: readonly string[]): readonly string[] => [
  ...new Set(columns.map(column => column.split(':')[0] ?? '')),
]

/**
 * Erase completely and repeat, as the relay does. The audit log keeps the ids, because its chain of hashes covers them.
 */
const erase = async (tenant: Tenant, objectId: string): Promise<void> => {
  const at = currentInstant()
  await withOperator(database, async transaction => {
    const found = await findObjectsToErase(transaction, tenant, objectId, at)
    if (found === null) throw new Error(`there is no ${objectId}`)
    await eraseObjects(transaction, tenant, found, at)
    await eraseObjects(transaction, tenant, found, at)
    await removeErasedLocations(transaction, tenant, found)
  })
}

/** Tables that still name a person: a customer outlives its location, and a device belongs to neither. */
const ofDevice = ['audit_log', 'events', 'idempotency_keys', 'outbox', 'users', 'webhook_attempts']
const ofCustomer = [...ofDevice, 'connect_sessions', 'customers', 'tariff_credentials', 'tariff_reports']
const left = {
  account: [],
  customer: [...ofDevice, 'devices'],
  location: [...ofCustomer, 'devices'],
  device: [...ofCustomer, 'charges', 'locations', 'tariffs'],
  user: [
    ...ofCustomer.filter(table => table !== 'users'),
    ...['charges', 'devices', 'locations', 'simulations', 'tariffs'],
  ],
}

describe('the data of a person', () => {
  it('is in every table that may have personal data', async () => {
    const { live } = await makeTenants(database)
    const person = await makePerson(database, live, 'Ada-of-all')
    const texts = [
      'Ada-of-all',
      person.customer,
      person.location,
      person.device,
      person.tariff,
      person.charge,
      person.user,
    ]
    const filled = tablesIn((await Array.fromAsync(texts, columnsWith)).flat())
    expect([...filled, ...Object.keys(tablesWithoutPersons)].toSorted()).toEqual(await tables())
  })

  it.each(['customer', 'location', 'device', 'user', 'account'] as const)(
    'is in no table after the %s was erased, and other data stays unchanged',
    async kind => {
      const { live, test } = await makeTenants(database)
      const [name, neighbour] = [`Bob-${kind}`, `Eve-${kind}`]
      const person = await makePerson(database, live, name)
      const other = kind === 'account' ? test : live
      await makePerson(database, other, neighbour)
      const before = (await columnsWith(neighbour)).toSorted()
      await erase(live, kind === 'account' ? live.accountId : person[kind])

      const { customer, location, tariff, charge, device, user } = person
      const ofLocation = [location, tariff, charge]
      const ids = { customer: [customer, ...ofLocation], location: ofLocation, device: [device], user: [user] }
      const erased = kind === 'account' ? [...ids.customer, device, user] : ids[kind]
      for (const id of erased)
        expect(tablesIn(await columnsWith(id)).filter(table => table !== 'audit_log')).toEqual([])
      if (kind !== 'account' && kind !== 'user') expect(await columnsWith(`${kind} ${name}`)).toEqual([])
      expect(tablesIn(await columnsWith(name)).toSorted()).toEqual(left[kind].toSorted())
      expect((await columnsWith(neighbour)).toSorted()).toEqual(before)
    },
  )

  it('leaves no id of an erased device in the audit entries of charges', async () => {
    const { live } = await makeTenants(database)
    const person = await makePerson(database, live, 'Kim-of-charges')
    await erase(live, person.device)
    const entries = (await columnsWith(person.charge)).filter(row => row.includes('"charge.create"'))
    expect(entries).toHaveLength(1)
    expect(entries[0]).not.toContain(person.device)
  })

  it('is found among more events than one statement reads', async () => {
    const { live } = await makeTenants(database)
    const person = await makePerson(database, live, 'Zoe-of-many')
    await owner.query(
      `insert into events (account_id, live_mode, id, type, object_id, data, time_created)
       select $1, true, 'evt_' || lpad(n::text, 24, '0'), 'x.update', null,
         json_build_object('location_id', case when n % 2500 = 0 then $2 else 'loc_other' end, 'n', n), now()
       from generate_series(1, 5000) as n`,
      [live.accountId, person.location],
    )
    await erase(live, person.location)
    expect(tablesIn(await columnsWith(person.location))).toEqual(['audit_log'])
    const { rows } = await owner.query<{ kept: number }>(
      "select count(*)::int as kept from events where account_id = $1 and type = 'x.update'",
      [live.accountId],
    )
    expect(rows).toEqual([{ kept: 4998 }])
  })
})
