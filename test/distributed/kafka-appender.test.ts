import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { openAppender } from '../../services/platform/log/kafka/kafka-appender.ts'
import { freePorts } from '../support/kafka/java-process.ts'
import { plainAddress } from '../support/kafka/test-log.ts'

it('appends that no broker takes are answered at their limit, hold their room while they are tried, and are given up after all', async () => {
  const [port] = await freePorts(1)
  const options = { appendMs: 100, sendMs: 900, mostWaitingBytes: 1_000 }
  const appender = openAppender({ address: plainAddress([`127.0.0.1:${port}`]), ...options })
  const append = () => appender.append('topic', 0, { key: '', value: Buffer.alloc(600), headers: {} }, 1_000)
  const askedAt = performance.now()
  await expect(append()).rejects.toMatchObject({ code: 'log_away', retriable: true })
  expect(performance.now() - askedAt).toBeLessThan(800)
  await expect(append()).rejects.toMatchObject({ code: 'log_full', retriable: true })
  await sleep(askedAt + 1_500 - performance.now())
  await expect(append()).rejects.toMatchObject({ code: 'log_away', retriable: true })
  await appender.close()
})
