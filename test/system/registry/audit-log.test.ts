import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findEmbeddedServer } from '../../../services/platform/postgres/embedded/embedded-server.ts'
import { createCharge, createLocation, flatSchedule } from '../../support/registry/object-fixture.ts'
import { type Client, login } from '../../support/system/client.ts'
import { runCommand } from '../../support/system/run-command.ts'
import { useSystem } from '../../support/system/use-system.ts'

const system = useSystem()
let superuser: pg.Client | undefined

beforeAll(async () => {
  const address = await findEmbeddedServer(system.folder)
  if (address === null || 'url' in address) throw new Error('no server runs')
  superuser = new pg.Client({ ...address })
  await superuser.connect()
})

afterAll(async () => {
  await superuser?.end()
})

const account = (): string => system.sandbox().account_id
const run = (...args: readonly string[]) => runCommand(args, { WATTLEDGER_DATA_DIR: system.folder })
const json = async <T>(...args: readonly string[]): Promise<T> => {
  const { out, err } = await run(...args, '--json')
  if (out === '') throw new Error(err)
  return JSON.parse(out) as T
}

type Chain = {
  readonly live_mode: boolean
  readonly entries: number
  readonly hash: string
  readonly faults: readonly { readonly what: string }[]
}
type ChainVerification = { readonly chains: readonly Chain[]; readonly holds: boolean }

const testChain = async (): Promise<Chain> => {
  const { chains } = await json<ChainVerification>('audit-log', 'verify', '--account', account())
  const chain = chains.find(one => !one.live_mode)
  if (chain === undefined) throw new Error('there is no chain of the test mode')
  return chain
}

type Entry = { readonly action: string; readonly object_id: string; readonly actor: string; readonly detail: unknown }
const entries = async (mode: 'live' | 'test'): Promise<readonly Entry[]> =>
  (await json<readonly Entry[]>('audit-log', 'list', account(), '--mode', mode, '--limit', '1000')).toReversed()

/** Make changes that the audit log must contain, and record them: action and object. */
const work = async (client: Client): Promise<readonly (readonly [string, string])[]> => {
  const ledger: [string, string][] = []
  const made = async (path: string, body: object) =>
    ((await client.ask('POST', path, body)) as { readonly id: string }).id
  const done = async (action: string, id: string, change: Promise<unknown>) => {
    await change
    ledger.push([action, id])
  }
  const { id: key } = await json<{ readonly id: string }>(
    'keys',
    'create',
    account(),
    '--mode',
    'test',
    '--scope',
    'read',
  )
  ledger.push(['api_key.create', key])
  const customer = await made('/customers', {})
  ledger.push(['customer.create', customer])
  const [location, other] = [await createLocation(client), await createLocation(client, { customer_id: customer })]
  ledger.push(['location.create', location], ['location.create', other])
  for (const direction of ['IMPORT', 'EXPORT']) {
    const tariff = await made('/tariffs', {
      location_id: location,
      direction,
      type: 'COMMODITY',
      schedule: flatSchedule,
    })
    ledger.push(['tariff.create', tariff])
    await done('tariff.update', tariff, client.ask('PATCH', `/tariffs/${tariff}`, { display_name: direction }))
    const [action, query] = direction === 'IMPORT' ? ['tariff.delete', ''] : ['tariff.void', '?void=true']
    await done(action, tariff, client.ask('DELETE', `/tariffs/${tariff}${query}`))
  }
  const charge = await createCharge(client, location)
  ledger.push(['charge.create', charge])
  await done('charge.update', charge, client.ask('PATCH', `/charges/${charge}`, { name: 'Standing' }))
  await done('charge.delete', charge, client.ask('DELETE', `/charges/${charge}`))
  await client.send('DELETE', '/tariffs/none')
  await client.send('POST', '/tariffs', {})
  const endpoint = await made('/webhooks', { url: 'https://1.1.1.1/hooks', event_types: ['schedule.created'] })
  ledger.push(['webhook_endpoint.create', endpoint])
  await done(
    'webhook_endpoint.update',
    endpoint,
    client.ask('PATCH', `/webhooks/${endpoint}`, { description: 'audited' }),
  )
  await done('webhook_endpoint.rotate_secret', endpoint, client.ask('POST', `/webhooks/${endpoint}/secret`, {}))
  await done('webhook_endpoint.delete', endpoint, client.ask('DELETE', `/webhooks/${endpoint}`))
  const device = await made('/devices', { reference_id: 'audited' })
  ledger.push(['device.create', device])
  const market = await made('/markets', { display_name: 'audited', currency_code: 'EUR' })
  ledger.push(['market.create', market])
  await done('device.delete', device, client.ask('DELETE', `/devices/${device}`))
  await done('market.delete', market, client.ask('DELETE', `/markets/${market}`))
  await done('location.delete', location, client.ask('DELETE', `/locations/${location}`))
  ledger.push(['location.delete', other])
  await done('customer.delete', customer, client.ask('DELETE', `/customers/${customer}`))
  await run('keys', 'revoke', account(), key)
  ledger.push(['api_key.revoke', key])
  return ledger
}

const asSuperuser = async (statement: string): Promise<void> => {
  await superuser?.query(`set session_replication_role = replica; ${statement}; set session_replication_role = origin`)
}

describe('the audit log', () => {
  it('contains every change, and nothing else', async () => {
    const client = await login(system.sandbox())
    const [sandboxKey] = await entries('test')
    const ledger = await work(client)
    const written = await entries('test')
    expect(written.map(({ action, object_id }) => [action, object_id])).toEqual([
      ['api_key.create', sandboxKey?.object_id],
      ...ledger,
    ])
    expect(written.filter(({ actor }) => !/^(key_[0-9a-f]{24}|operator|system)$/.test(actor))).toEqual([])
    expect((await entries('live')).map(({ action }) => action)).toEqual(['api_key.create'])
    const { out, code } = await run('audit-log', 'verify')
    expect([code, out]).toEqual([0, expect.stringContaining('All entries are unchanged.')])
  })

  it('adds entries of concurrent requests to one chain', async () => {
    const client = await login(system.sandbox())
    const before = (await testChain()).entries
    const locations = await Promise.all(Array.from({ length: 12 }, () => createLocation(client)))
    await Promise.all(locations.map(id => client.ask('DELETE', `/locations/${id}`)))
    expect(await testChain()).toMatchObject({ entries: before + 24, faults: [] })
  })

  it('cannot be changed or shortened', async () => {
    for (const role of ['wattledger_tenant', 'wattledger_operator', 'postgres']) {
      for (const statement of [
        "update audit_log set action = 'x'",
        'delete from audit_log',
        'truncate audit_log',
        'delete from audit_heads',
      ]) {
        if (role === 'postgres' && statement.endsWith('audit_heads')) continue
        await superuser?.query('begin')
        if (role !== 'postgres') await superuser?.query(`set local role ${role}`)
        await expect(superuser?.query(statement), `${role}: ${statement}`).rejects.toMatchObject({ code: '42501' })
        await superuser?.query('rollback')
      }
    }
  })

  it('names an entry that a superuser has changed', async () => {
    const noted = await testChain()
    const index = 4
    const of = `from audit_log where account_id = '${account()}' and not live_mode and place = ${index}`
    const alterations: readonly (readonly [string, string, RegExp])[] = [
      ["action = 'tariff.none'", 'action', /^entry 4 \(tariff\.none of \w+\) was altered$/],
      ["actor = 'key_somebody_else'", 'actor', /^entry 4 .* was altered$/],
      ["object_id = 'trf_another'", 'object_id', /^entry 4 \(\S+ of trf_another\) was altered$/],
      ["time_created = time_created + interval '1 ms'", 'time_created', /^entry 4 .* was altered$/],
      ['detail = detail || \'{"x":1}\'', 'detail', /^the detail of entry 4 .* was altered$/],
      ["detail = '{}'", 'detail', /^the detail of entry 4 .* was altered$/],
    ]
    for (const [change, column, message] of alterations) {
      await superuser?.query(`create temporary table saved as select * ${of}`)
      await asSuperuser(
        `update audit_log set ${change} where account_id = '${account()}' and not live_mode and place = ${index}`,
      )
      const { faults } = await testChain()
      expect(faults.map(({ what }) => what)).toEqual([expect.stringMatching(message)])
      expect((await run('audit-log', 'verify')).code).toBe(1)
      await asSuperuser(
        `update audit_log a set ${column} = s.${column} from saved s where a.account_id = s.account_id and a.id = s.id`,
      )
      await superuser?.query('drop table saved')
      expect(await testChain()).toEqual(noted)
    }
  })

  it('finds a removed entry, in the middle and at the end', async () => {
    const whole = await testChain()
    for (const [index, what] of [
      [3, 'entry 3 is missing'],
      [whole.entries, `entries ${whole.entries} to ${whole.entries} are missing`],
    ] as const) {
      await superuser?.query(
        `create temporary table saved as select * from audit_log where account_id = '${account()}' and not live_mode and place = ${index}`,
      )
      await asSuperuser(`delete from audit_log a using saved s where a.account_id = s.account_id and a.id = s.id`)
      expect((await testChain()).faults.map(fault => fault.what)).toEqual([what])
      await asSuperuser('insert into audit_log overriding system value select * from saved')
      await superuser?.query('drop table saved')
      expect(await testChain()).toEqual(whole)
    }
  })

  it('contains a hash that was noted earlier, and a rewritten chain does not', async () => {
    const { hash } = await testChain()
    const client = await login(system.sandbox())
    await client.ask('DELETE', `/locations/${await createLocation(client)}`)
    expect(await run('audit-log', 'verify', '--holds', hash)).toMatchObject({ code: 0 })
    const never = await run('audit-log', 'verify', '--holds', 'a'.repeat(64))
    expect([never.code, never.out]).toEqual([1, expect.stringContaining(`No chain contains ${'a'.repeat(64)}`)])
    expect((await run('audit-log', 'verify', '--holds', 'short')).code).toBe(2)
  })

  it('keeps its chain after an erasure has emptied details', async () => {
    const client = await login(system.sandbox())
    const id = await createLocation(client)
    const { id: tariff } = (await client.ask('POST', '/tariffs', {
      location_id: id,
      direction: 'IMPORT',
      type: 'COMMODITY',
      schedule: flatSchedule,
    })) as { readonly id: string }
    await client.ask('DELETE', `/locations/${id}`)
    expect((await run('erase', id, '--account', account(), '--mode', 'test')).code).toBe(0)
    const about = (await entries('test')).filter(entry => [id, tariff].includes(entry.object_id))
    expect(about.map(({ action, detail }) => [action, JSON.stringify(detail) === '{}'])).toEqual([
      ['location.create', true],
      ['tariff.create', true],
      ['location.delete', true],
      ['location.erase', false],
    ])
    expect((await testChain()).faults).toEqual([])
  })
})
