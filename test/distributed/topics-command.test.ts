import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { openKafkaLog } from '../../services/platform/log/kafka/kafka-log.ts'
import { recordTopic } from '../../services/platform/log/log.ts'
import { readTopicGeneration } from '../../services/platform/postgres/topic-generation.ts'
import { sharedBrokers, skippedWithout } from '../support/kafka/shared-broker.ts'
import { plainAddress } from '../support/kafka/test-log.ts'
import { openTestDatabase } from '../support/stores/postgres.ts'
import { runCommand } from '../support/system/run-command.ts'

describe.skipIf(skippedWithout('any broker') !== null)('wattledger topics', { timeout: 60_000 }, () => {
  const open = async () => {
    const brokers = await sharedBrokers()
    const { database, address, ...rest } = await openTestDatabase()
    const prefix = `test-${randomUUID()}.`
    const postgres = `postgres://${address.user}@localhost/${address.database}?host=${encodeURIComponent(address.host)}`
    const variables = {
      WATTLEDGER_KAFKA_BROKERS: brokers.join(','),
      WATTLEDGER_KAFKA_PREFIX: prefix,
      WATTLEDGER_POSTGRES_URL: postgres,
    }
    return {
      run: (...args: readonly string[]) => runCommand(['topics', '--replicas', '1', ...args], variables),
      runWithDefaults: () => runCommand(['topics'], variables),
      generation: () => readTopicGeneration(database.operator, recordTopic),
      openLog: () => openKafkaLog({ address: plainAddress(brokers), prefix, now: () => Date.now() }),
      prefix,
      [Symbol.asyncDispose]: rest[Symbol.asyncDispose],
    }
  }

  it('creates the topics once, with generation 0, and changes nothing the next time', async () => {
    await using fixture = await open()
    const first = await fixture.run()
    expect([first.code, first.err]).toEqual([0, ''])
    expect(first.out).toContain(`created ${fixture.prefix}${recordTopic}`)
    expect(await fixture.generation()).toEqual({ generation: 0, partitions: 8 })
    const second = await fixture.run()
    expect([second.code, second.out]).toEqual([0, 'The topics match the plan.\n'])
    expect(await fixture.generation()).toEqual({ generation: 0, partitions: 8 })
  })

  it('names the option that fits if there are fewer brokers than replicas, and creates nothing', async () => {
    await using fixture = await open()
    const { code, err } = await fixture.runWithDefaults()
    expect([code, err]).toEqual([1, expect.stringContaining('Each partition gets 3 replicas, but there is 1 broker.')])
    expect(err).toContain('"--replicas 1"')
    expect(await fixture.generation()).toBe(null)
    expect((await fixture.run()).out).toContain(`created ${fixture.prefix}${recordTopic}`)
  })

  it('reports drift as a table, and changes nothing', async () => {
    await using fixture = await open()
    await fixture.run()
    const { code, out } = await fixture.run('--partitions', '12', '--json')
    expect(code).toBe(1)
    const found = { topic: fixture.prefix + recordTopic, setting: 'partitions', planned: '12', found: '8' }
    expect(JSON.parse(out)).toMatchObject({ created: [], drift: expect.arrayContaining([found]), generation: null })
    expect((await fixture.run('--partitions', '12')).out).toMatch(/TOPIC +SETTING +PLANNED +FOUND/)
    expect(await fixture.generation()).toEqual({ generation: 0, partitions: 8 })
  })

  it('adds partitions and raises the topic generation, but not while messages are unread', async () => {
    await using fixture = await open()
    await fixture.run()
    const log = await fixture.openLog()
    await log.append(recordTopic, 3, { key: 'k', value: Buffer.from('unread'), headers: {} })
    const refused = await fixture.run('--partitions', '9', '--add-partitions')
    expect([refused.code, refused.err]).toEqual([1, expect.stringContaining('cost-worker has 1 unread messages')])
    const { promise, resolve } = Promise.withResolvers<void>()
    const reading = await log.subscribe(recordTopic, 'cost-worker', assignment => {
      if (assignment.partition === 3) void assignment.commit(1).then(resolve)
    })
    await promise
    await reading.close()
    await log.close()
    expect(await fixture.run('--partitions', '9', '--add-partitions')).toMatchObject({ code: 0, err: '' })
    expect(await fixture.generation()).toEqual({ generation: 1, partitions: 9 })
  })

  it('names the setting if there are no brokers', async () => {
    expect(await runCommand(['topics'], {})).toMatchObject({
      code: 1,
      err: expect.stringContaining('WATTLEDGER_KAFKA_BROKERS'),
    })
  })
})
