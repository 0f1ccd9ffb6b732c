import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { openAppender } from '../../services/platform/log/kafka/kafka-appender.ts'
import { freePorts } from '../support/kafka/java-process.ts'
import { plainAddress } from '../support/kafka/test-log.ts'

const away = { code: 'log_away', retriable: true }

describe('appends without a broker', () => {
  /** Open an appender whose address has no server. */
  const open = async () => {
    const [port] = await freePorts(1)
    const options = { appendTimeoutMs: 100, sendTimeoutMs: 900, maxWaitingBytes: 1_000 }
    const appender = openAppender({ address: plainAddress([`127.0.0.1:${port}`]), ...options })
    return {
      append: (bytes: number, partition = 0) =>
        appender.append('topic', partition, { key: '', value: Buffer.alloc(bytes), headers: {} }, 1_000),
      close: appender.close,
    }
  }

  it('fail at their time limit, use capacity while they are retried, and are abandoned at last', async () => {
    const { append, close } = await open()
    const requestedAt = performance.now()
    await expect(append(600)).rejects.toMatchObject(away)
    expect(performance.now() - requestedAt).toBeLessThan(800)
    await expect(append(600)).rejects.toMatchObject({ code: 'log_full', retriable: true })
    await sleep(requestedAt + 1_500 - performance.now())
    await expect(append(600)).rejects.toMatchObject(away)
    await close()
  })

  it('refuse other appends to the partition at once until their result is known', async () => {
    const { append, close } = await open()
    const appendMs = async (bytes: number, partition?: number): Promise<number> => {
      const requestedAt = performance.now()
      await expect(append(bytes, partition)).rejects.toMatchObject(away)
      return performance.now() - requestedAt
    }
    const startedAt = performance.now()
    expect(await appendMs(100)).toBeGreaterThan(90)
    const refusals: number[] = []
    for (let count = 0; count < 5; count += 1) refusals.push(await appendMs(100))
    // On a busy machine one of them can be late. An append that waits takes 100 ms each time.
    expect(Math.min(...refusals)).toBeLessThan(50)
    expect(await appendMs(100, 1)).toBeGreaterThan(90)
    await sleep(startedAt + 1_500 - performance.now())
    expect(await appendMs(100)).toBeGreaterThan(90)
    await close()
  })
})
