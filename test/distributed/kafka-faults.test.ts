import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { type Assignment, type Log, recordTopic } from '../../services/platform/log/log.ts'
import { startCluster } from '../support/kafka/cluster.ts'
import { verifyLog, writeUntil } from '../support/kafka/log-ledger.ts'
import { sharedBrokers, skippedWithout } from '../support/kafka/shared-broker.ts'
import { makeTopics } from '../support/kafka/test-log.ts'
import { partitions, printLedger, rounds, writeDuring } from '../support/kafka/write-through.ts'

const none = { lost: [], doubled: [], disordered: [] }
/** Tests of one kind run concurrently, each with its own brokers or topics. */
const limitMs = 90_000 * rounds

describe.skipIf(skippedWithout('own broker') !== null)('acknowledged messages', () => {
  it.concurrent('survive kill -9 of the only broker, each once and in order', { timeout: limitMs }, async () => {
    await using cluster = await startCluster({ nodes: 1 })
    const [node] = cluster.nodes
    const { open } = await makeTopics(cluster.brokers)
    const log = await open()
    const ledger = await writeDuring(log, async () => {
      node?.kill('SIGKILL')
      await node?.exited()
      await sleep(300)
      await node?.start()
      await sleep(1_500)
    })
    printLedger('one broker killed', ledger)
    expect(ledger.acknowledged.size).toBeGreaterThan(20)
    expect(ledger.longestPauseMs).toBeGreaterThan(300)
    expect(await verifyLog(log, partitions, ledger)).toEqual(none)
    const [[text, offset] = ['', 0]] = ledger.acknowledged
    const wrong = new Map([...ledger.acknowledged, ['0 0 9999999', 0], [text, offset + 1]] as const)
    expect((await verifyLog(log, partitions, { ...ledger, acknowledged: wrong })).lost).toEqual([text, '0 0 9999999'])
    await log.close()
  })

  it.concurrent('survive a hanging broker: appends fail in time, messages in flight are written once and in order', {
    timeout: limitMs,
  }, async () => {
    await using cluster = await startCluster({ nodes: 1 })
    const [node] = cluster.nodes
    const { open } = await makeTopics(cluster.brokers)
    const log = await open({ appendTimeoutMs: 1_000 })
    const ledger = await writeDuring(log, async () => {
      node?.kill('SIGSTOP')
      await sleep(2_500)
      const requestedAt = performance.now()
      await expect(
        log.append(recordTopic, 7, { key: '', value: Buffer.from('7 0 0'), headers: {} }),
      ).rejects.toMatchObject({
        code: 'log_away',
      })
      expect(performance.now() - requestedAt).toBeLessThan(2_000)
      node?.kill('SIGCONT')
      await sleep(3_000)
    })
    printLedger('one broker frozen', ledger)
    expect(ledger.refused).toBeGreaterThan(0)
    expect(ledger.longestPauseMs).toBeGreaterThan(2_000)
    expect(await verifyLog(log, partitions, ledger)).toEqual(none)
    await log.close()
  })
})

describe.skipIf(skippedWithout('any broker') !== null)('assignments of a group', () => {
  /** Read and commit all assignments in small steps; `seen` counts each message. */
  const consume = async (log: Log, seen: Map<string, number>) => {
    const follow = async (assignment: Assignment): Promise<void> => {
      while (!assignment.lost.aborted) {
        const messages = await assignment.read({ maxMessages: 20, maxBytes: 1_000_000 })
        await sleep(1)
        for (const { value } of messages) seen.set(value.toString(), (seen.get(value.toString()) ?? 0) + 1)
        const last = messages.at(-1)
        if (last !== undefined) await assignment.commit(last.offset + 1)
      }
    }
    return await log.subscribe(recordTopic, 'members', assignment => void follow(assignment).catch(() => undefined))
  }

  it.concurrent('miss nothing while members join and leave', { timeout: limitMs }, async () => {
    const { open } = await makeTopics(await sharedBrokers())
    const [writer, steady, guest] = await Promise.all([open(), open(), open()])
    const seen = new Map<string, number>()
    const reading = await consume(steady, seen)
    const stop = new AbortController()
    const written = writeUntil(writer, partitions, 2, stop.signal)
    for (let round = 0; round < 2 * rounds; round += 1) {
      await sleep(1_000)
      const joined = await consume(guest, seen)
      await sleep(2_000)
      await joined.close()
    }
    stop.abort()
    const { acknowledged } = await written
    const isAllSeen = () => [...acknowledged.keys()].every(text => seen.has(text))
    for (const end = performance.now() + 15_000; !isAllSeen() && performance.now() < end; ) await sleep(50)
    const twice = [...seen.values()].filter(times => times > 1).length
    process.stdout.write(`members join and leave: ${acknowledged.size} acknowledged, ${twice} read twice\n`)
    expect([...acknowledged.keys()].filter(text => !seen.has(text))).toEqual([])
    for (let partition = 0; partition < partitions; partition += 1) {
      const { end, committed } = await writer.lag(recordTopic, partition, 'members')
      expect(committed).toBeLessThanOrEqual(end)
    }
    await reading.close()
    await Promise.all([writer.close(), steady.close(), guest.close()])
  })

  it.concurrent('are lost if the reader sleeps past its session: its late commit is refused and decreases no offset', {
    timeout: limitMs,
  }, async () => {
    const brokers = await sharedBrokers()
    const { prefix, open } = await makeTopics(brokers)
    const log = await open()
    for (let count = 0; count < 10; count += 1)
      await log.append(recordTopic, 0, { key: 'k', value: Buffer.from(`m ${count}`), headers: {} })
    const args = [join(import.meta.dirname, 'kafka-reader-process.ts'), brokers.join(','), prefix, 'sleepers']
    const sleeper = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] })
    const lines = createInterface({ input: sleeper.stdout })
    expect((await once(lines, 'line'))[0]).toBe('read 0')
    sleeper.kill('SIGSTOP')
    const { promise: taken, resolve } = Promise.withResolvers<Assignment>()
    const reading = await log.subscribe(
      recordTopic,
      'sleepers',
      assignment => assignment.partition === 0 && resolve(assignment),
    )
    const assignment = await taken
    expect((await assignment.read({ maxMessages: 100, maxBytes: 1_000_000 })).map(({ offset }) => offset)[0]).toBe(0)
    await assignment.commit(10)
    sleeper.kill('SIGCONT')
    sleeper.stdin.write('commit\n')
    expect((await once(lines, 'line'))[0]).toBe('lane_lost')
    expect((await log.lag(recordTopic, 0, 'sleepers')).committed).toBe(10)
    sleeper.kill('SIGKILL')
    await reading.close()
    await log.close()
  })

  it.concurrent('are requested again if joining took longer than the session', {
    timeout: limitMs,
  }, async () => {
    const { address, open } = await makeTopics(await sharedBrokers())
    const messages: string[] = []
    const log = await open({ address: { ...address, sessionTimeoutMs: 25 }, log: text => messages.push(text) })
    const reading = await log.subscribe(recordTopic, 'hasty', () => undefined)
    await expect.poll(() => messages.length, { timeout: 20_000 }).toBeGreaterThan(3)
    await reading.close()
    await log.close()
    expect(messages).toContain('Group could not be joined')
  })
})
