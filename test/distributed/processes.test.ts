import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openKafkaLog } from '../../services/platform/log/kafka/kafka-log.ts'
import { recordTopic } from '../../services/platform/log/log.ts'
import { betweenMs, type ManyProcesses, openManyProcesses } from '../support/kafka/many-processes.ts'
import { sharedBrokers, skippedWithout } from '../support/kafka/shared-broker.ts'
import { plainAddress } from '../support/kafka/test-log.ts'
import { faultsOf } from '../support/ledger/audit.ts'
import { bought, makeHome } from '../support/system/home.ts'
import { until } from '../support/system/until.ts'

const limitMs = 240_000 + 4 * betweenMs

describe.skipIf(skippedWithout('any broker') !== null)('several processes on shared stores', () => {
  const stack = new AsyncDisposableStack()
  let fixture: ManyProcesses
  beforeAll(async () => {
    fixture = stack.use(await openManyProcesses(await sharedBrokers(), { replicas: 1, queries: 1 }))
  }, limitMs)
  afterAll(() => stack.disposeAsync())

  it('lose and duplicate nothing while gateways and workers are killed and started', { timeout: limitMs }, async () => {
    const { gateways, workers, sendDuring } = fixture
    const { verdict } = await sendDuring(3, async () => {
      await workers[0].kill()
      await sleep(betweenMs)
      await workers[0].start()
      await gateways[0].kill()
      await gateways[0].start()
    })
    expect(faultsOf(verdict)).toEqual([])
  })

  it('refuse to write an export without a folder that they share, and name the setting', async () => {
    const span = { start_time: '2025-06-01T00:00:00Z', end_time: '2025-07-01T00:00:00Z' }
    const refused = await fixture.client.send('POST', '/exports', { kind: 'records', format: 'csv', ...span })
    expect([refused.status, (refused.json as { code: string }).code]).toEqual([422, 'export_folder_missing'])
    expect(refused.text).toContain('Set WATTLEDGER_EXPORT_DIR')
    expect(await fixture.client.ask('GET', '/exports')).toMatchObject({ data: [] })
  })

  it('dead-letter unreadable messages in every partition, and store later records within 5 s', {
    timeout: limitMs,
  }, async () => {
    const { processes, client } = fixture
    const { WATTLEDGER_KAFKA_BROKERS: brokers, WATTLEDGER_KAFKA_PREFIX: prefix } = processes.variables
    const home = await makeHome(client, { import: 0.3 })
    const log = await openKafkaLog({ address: plainAddress(brokers.split(',')), prefix, now: () => Date.now() })
    const partitions = Array.from({ length: log.partitions(recordTopic) }, (_, partition) => partition)
    await Promise.all(
      partitions.map(partition =>
        log.append(recordTopic, partition, { key: 'poison', value: Buffer.from('no chunk'), headers: {} }),
      ),
    )
    await log.close()
    const appendedAt = performance.now()
    await client.submit([bought(home, 2, '2025-06-02T10:00:00Z', '2025-06-02T11:00:00Z')])
    const storedMs = performance.now() - appendedAt
    process.stdout.write(`After a poison message: stored after ${Math.round(storedMs)} ms\n`)
    expect(storedMs).toBeLessThan(5_000)
    const key = { 'X-Operator-Key': processes.sandbox().operator_key }
    const deadLettered = async () =>
      (
        (await client.ask('GET', '/operator/dead-letters?limit=100', undefined, key)) as {
          data: { lane: number; reason: string }[]
        }
      ).data
    const deadLetters = await until(deadLettered, ({ length }) => length === partitions.length)
    expect(deadLetters.map(({ lane }) => lane).sort((a, b) => a - b)).toEqual(partitions)
    for (const { reason } of deadLetters) expect(reason).not.toBe('')
  })
})
