import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { login } from '../support/client.ts'
import { openProcesses, openProxy } from '../support/kafka/processes.ts'
import { sharedBrokers, skippedWithout } from '../support/kafka/shared-broker.ts'
import { faultsOf } from '../support/ledger/audit.ts'
import { openLedger } from '../support/ledger/ledger.ts'
import { seeded } from '../support/ledger/random.ts'

/** How long the load goes on between two faults, in ms. */
const betweenMs = Number(process.env['WATTLEDGER_TEST_FAULT_MS'] ?? 1_500)

describe.skipIf(skippedWithout('any broker') !== null)('several processes on shared parts', { timeout: 120_000 + 6 * betweenMs }, () => {
  it('lose and double nothing while gateways and workers are killed and started', async () => {
    await using world = await openProcesses(await sharedBrokers(), `test-${randomUUID()}.`)
    const query = await world.start('query-service', 'webhook-worker')
    const gateways = await Promise.all([world.start('ingest-gateway'), world.start('ingest-gateway')])
    const workers = await Promise.all([world.start('cost-worker'), world.start('cost-worker')])
    await using proxy = await openProxy(
      () => gateways,
      () => query,
    )
    const client = await login({ ...world.sandbox(), base_url: proxy.url })
    const size = { locations: 3, mostRecords: 40, mostInAll: 1_500, restMs: 100 }
    await using ledger = await openLedger({ file: join(world.folder, 'ledger.ndjson'), random: seeded(3), target: () => client, ...size })
    const enough = new AbortController()
    const load = ledger.run(3, enough.signal)
    await sleep(betweenMs)
    await workers[0]?.end('SIGKILL')
    await sleep(betweenMs)
    workers[0] = await world.start('cost-worker')
    await gateways[0]?.end('SIGKILL')
    gateways[0] = await world.start('ingest-gateway')
    await sleep(betweenMs)
    await workers[1]?.end('SIGTERM')
    await sleep(betweenMs)
    enough.abort()
    await load
    const verdict = await ledger.audit(client)
    process.stdout.write(`processes killed: ${JSON.stringify(verdict.seen)}\n`)
    expect(faultsOf(verdict)).toEqual([])
    expect(verdict.seen.records).toBeGreaterThan(50)
  })
})
