import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Role } from '../../services/platform/config.ts'
import { openKafkaLog } from '../../services/platform/log/kafka/kafka-log.ts'
import { type Client, login } from '../support/client.ts'
import { bought, makeHome } from '../support/home.ts'
import { type Post, postOf, type Stopped } from '../support/kafka/post.ts'
import { openProcesses, openProxy } from '../support/kafka/processes.ts'
import { sharedBrokers, skippedWithout } from '../support/kafka/shared-broker.ts'
import { plainAddress } from '../support/kafka/test-log.ts'
import { faultsOf } from '../support/ledger/audit.ts'
import { openLedger } from '../support/ledger/ledger.ts'
import { seeded } from '../support/ledger/random.ts'
import { until } from '../support/until.ts'

/** How long the load goes on between two faults, in ms. */
const betweenMs = Number(process.env['WATTLEDGER_TEST_FAULT_MS'] ?? 1_000)
const limitMs = 240_000 + 4 * betweenMs
const drainMs = 15_000
const topic = 'meter.records.v1'

/** Start everything; whatever was started by then ends with `stack`. */
const openWorld = async (stack: AsyncDisposableStack) => {
  const processes = stack.use(await openProcesses(await sharedBrokers(), `test-${randomUUID()}.`))
  const post = (...roles: readonly Role[]): Post => postOf(roles, of => processes.start(...of))
  const query = post('query-service', 'webhook-worker')
  const gateways = [post('ingest-gateway'), post('ingest-gateway')]
  const workers = [post('cost-worker'), post('cost-worker')]
  await query.start()
  await Promise.all([...gateways, ...workers].map(one => one.start()))
  const proxy = stack.use(
    await openProxy(
      () => gateways.map(one => one.process()),
      () => query.process(),
    ),
  )
  const client = await login({ ...processes.sandbox(), base_url: proxy.url })
  return { processes, query, gateways, workers, client }
}

describe.skipIf(skippedWithout('any broker') !== null)('several processes on shared parts', () => {
  const stack = new AsyncDisposableStack()
  let world: Awaited<ReturnType<typeof openWorld>>
  beforeAll(async () => {
    world = await openWorld(stack)
  }, limitMs)
  afterAll(() => stack.disposeAsync())

  /** Send records while something happens, and a moment before and after; gives what an audit of them finds. */
  const sendThrough = async (seed: number, happen: () => Promise<void>) => {
    const { client } = world
    const size = { locations: 3, mostRecords: 40, mostInAll: 1_500, restMs: 200 }
    const file = join(world.processes.folder, `ledger-${seed}.ndjson`)
    await using ledger = await openLedger({ file, random: seeded(seed), target: () => client, ...size })
    const enough = new AbortController()
    const load = ledger.run(3, enough.signal)
    await sleep(betweenMs)
    await happen()
    await sleep(betweenMs)
    enough.abort()
    await load
    const verdict = await ledger.audit(client)
    process.stdout.write(`sent and audited: ${JSON.stringify(verdict.seen)}\n`)
    expect(verdict.seen.records).toBeGreaterThan(50)
    return verdict
  }

  it('lose and double nothing while gateways and workers are killed and started', { timeout: limitMs }, async () => {
    const verdict = await sendThrough(3, async () => {
      const { gateways, workers } = world
      await workers[0]?.kill()
      await sleep(betweenMs)
      await workers[0]?.start()
      await gateways[0]?.kill()
      await gateways[0]?.start()
    })
    expect(faultsOf(verdict)).toEqual([])
  })

  /** Read until `stop` aborts; gives the answers that were none or no success. */
  const readUntil = async (client: Client, stop: AbortSignal): Promise<readonly string[]> => {
    const faults: string[] = []
    for (; !stop.aborted; await sleep(20)) {
      const status = await client.send('GET', '/locations').then(
        reply => reply.status,
        error => String(error.cause ?? error),
      )
      if (status !== 200) faults.push(String(status))
    }
    return faults
  }

  it('answer every request while one of each role in its turn is asked to stop, and stop in time with nothing lost', {
    timeout: limitMs,
  }, async () => {
    const stopped: Stopped[] = []
    const enough = new AbortController()
    const reading = readUntil(world.client, enough.signal)
    const verdict = await sendThrough(4, async () => {
      const { gateways, workers, query } = world
      for (const post of [gateways[0], workers[0], query]) if (post !== undefined) stopped.push(await post.replace())
    })
    enough.abort()
    process.stdout.write(`stopped within ${stopped.map(({ ms }) => Math.round(ms)).join(', ')} ms\n`)
    expect(stopped.map(({ code }) => code)).toEqual([0, 0, 0])
    expect(Math.max(...stopped.map(({ ms }) => ms))).toBeLessThan(drainMs)
    expect(await reading).toEqual([])
    expect(faultsOf(verdict)).toEqual([])
    expect(verdict.seen.attempts).toMatchObject({ unknown: 0 })
  })

  it('put what cannot be read aside in every lane, and store what comes behind it within 5 seconds', { timeout: limitMs }, async () => {
    const { processes, client } = world
    const { WATTLEDGER_KAFKA_BROKERS: brokers, WATTLEDGER_KAFKA_PREFIX: prefix } = processes.variables
    const home = await makeHome(client, { import: 0.3 })
    const log = await openKafkaLog({ address: plainAddress(brokers.split(',')), prefix, now: () => Date.now() })
    const lanes = Array.from({ length: log.partitions(topic) }, (_, lane) => lane)
    await Promise.all(lanes.map(lane => log.append(topic, lane, { key: 'poison', value: Buffer.from('no chunk'), headers: {} })))
    await log.close()
    const laidAt = performance.now()
    await client.submit([bought(home, 2, '2025-06-02T10:00:00Z', '2025-06-02T11:00:00Z')])
    const storedMs = performance.now() - laidAt
    process.stdout.write(`behind poison: stored after ${Math.round(storedMs)} ms\n`)
    expect(storedMs).toBeLessThan(5_000)
    const key = { 'X-Operator-Key': processes.sandbox().operator_key }
    const aside = async () =>
      ((await client.ask('GET', '/operator/dead-letters?limit=100', undefined, key)) as { data: { lane: number; reason: string }[] }).data
    const letters = await until(aside, ({ length }) => length === lanes.length)
    expect(letters.map(({ lane }) => lane).sort((a, b) => a - b)).toEqual(lanes)
    for (const { reason } of letters) expect(reason).not.toBe('')
  })
})
