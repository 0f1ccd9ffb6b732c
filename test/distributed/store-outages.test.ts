import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Role, roles } from '../../services/platform/config/config.ts'
import { type Cluster, startCluster } from '../support/kafka/cluster.ts'
import { healthOf, verifyLogOutage } from '../support/kafka/log-outage.ts'
import { openProcesses, openProxy, type RoleProcess } from '../support/kafka/processes.ts'
import { skippedWithout } from '../support/kafka/shared-broker.ts'
import { login } from '../support/system/client.ts'
import { bought, makeHome } from '../support/system/home.ts'
import { until } from '../support/system/until.ts'

const stack = new AsyncDisposableStack()
let cluster: Cluster

/** One process per role, on a broker that can be stopped. */
const openFixture = async () => {
  cluster = stack.use(await startCluster({ nodes: 1 }))
  const parts = stack.use(await openProcesses(cluster.brokers, `test-${randomUUID()}.`))
  const query = await parts.start('query-service')
  const rest = roles.filter(role => role !== 'query-service')
  const started = await Promise.all(rest.map(role => parts.start(role)))
  const processes = [query, ...started]
  const of = (role: Role): RoleProcess => {
    const found = processes.find(one => one.roles.includes(role))
    if (found === undefined) throw new Error(`there is no ${role}`)
    return found
  }
  const gateways = [of('ingest-gateway')]
  const { url } = stack.use(
    await openProxy(
      () => gateways,
      () => query,
    ),
  )
  const sandbox = { ...parts.sandbox(), base_url: url }
  return { parts, processes, gateways, sandbox, client: await login(sandbox) }
}

describe.skipIf(skippedWithout('own broker') !== null)('processes of one role each', () => {
  let fixture: Awaited<ReturnType<typeof openFixture>>
  beforeAll(async () => {
    fixture = await openFixture()
  })
  afterAll(() => stack.disposeAsync())

  /** Return the roles that are ready, after all have answered. All are live. */
  const ready = async (): Promise<readonly Role[]> => {
    const health = await Promise.all(
      fixture.processes.map(async one => {
        expect(await healthOf(one, 'live')).toMatchObject({ status: 200 })
        const { status, checks } = await healthOf(one, 'ready')
        expect(status).toBe(Object.values(checks).every(Boolean) ? 200 : 503)
        return status === 200 ? one.roles : []
      }),
    )
    return health.flat().sort()
  }
  const allReady = () => until(ready, ({ length }) => length === roles.length)

  it('without ClickHouse: the cost worker is not ready, records are accepted, reads of costs are refused', async () => {
    const { client, sandbox, parts } = fixture
    const home = await makeHome(client, { import: 0.3 })
    await client.submit([bought(home, 2, '2025-06-02T09:00:00Z', '2025-06-02T10:00:00Z')])
    parts.clickHouse.fault = 'hang'
    expect(await ready()).toEqual(['ingest-gateway', 'query-service', 'webhook-worker'])
    parts.clickHouse.fault = 'refuse'
    const fresh = await login(sandbox)
    const { id } = await fresh.ask('PUT', '/meters/interval', [
      bought(home, 2, '2025-06-02T10:00:00Z', '2025-06-02T11:00:00Z'),
    ])
    expect(await fresh.send('GET', `/meters/records?location_id=${home}`)).toMatchObject({ status: 503 })
    const day = { start_time: '2025-06-02T00:00:00Z', end_time: '2025-06-03T00:00:00Z' }
    const { id: device }: { id: string } = await fresh.ask('POST', '/devices', { reference_id: 'a charger' })
    expect(await fresh.send('POST', `/costs/interval/${device}`, day)).toMatchObject({ status: 503 })
    expect(await fresh.send('POST', `/costs/interval/dev_${'0'.repeat(24)}`, day)).toMatchObject({ status: 404 })
    parts.clickHouse.fault = 'well'
    await until(
      (): Promise<{ records_processed: number }> => client.ask('GET', `/meters/batch?batch_id=${id}`),
      receipt => receipt.records_processed === 1,
    )
    await allReady()
  })

  it('without ClickHouse: all roles except the cost worker start, and records are accepted', async () => {
    const { client, parts, gateways } = fixture
    const home = await makeHome(client, { import: 0.3 })
    parts.clickHouse.fault = 'refuse'
    const all = await parts.start('ingest-gateway', 'query-service', 'webhook-worker')
    expect(await healthOf(all, 'ready')).toEqual({ status: 200, checks: { postgres: true, log: true, metering: true } })
    await expect(parts.start('cost-worker')).rejects.toThrow('memory limit')
    const [first] = gateways.splice(0, 1, all)
    await client.ask('PUT', '/meters/interval', [bought(home, 2, '2025-06-02T10:00:00Z', '2025-06-02T11:00:00Z')])
    if (first !== undefined) gateways.splice(0, 1, first)
    parts.clickHouse.fault = 'well'
    expect(await all.end('SIGTERM')).toBe(0)
  })

  it('without PostgreSQL: only the gateway is ready, and accepts records of known locations', async () => {
    const { client, parts } = fixture
    const home = await makeHome(client, { import: 0.3 })
    await client.submit([bought(home, 2, '2025-06-02T10:00:00Z', '2025-06-02T11:00:00Z')])
    parts.postgres.inflict({ kind: 'refuse' })
    expect(await ready()).toEqual(['ingest-gateway'])
    await client.ask('PUT', '/meters/interval', [bought(home, 2, '2025-06-02T11:00:00Z', '2025-06-02T12:00:00Z')])
    await parts.postgres.restore()
    await allReady()
  })

  it('without the log: only the query service is ready, others answer 503, all continue after the outage', async () => {
    const { client, processes } = fixture
    const [node] = cluster.nodes
    const health = await verifyLogOutage({ client, processes }, async () => {
      node?.kill('SIGKILL')
      await node?.exited()
      expect(await ready()).toEqual(['query-service'])
      return async () => node?.start()
    })
    process.stdout.write(`the only broker gone: ${health}\n`)
  })
})
