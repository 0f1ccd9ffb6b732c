import { beforeAll, describe, expect, it } from 'vitest'
import { recordTopic } from '../../services/platform/log/log.ts'
import { startContainer } from '../support/kafka/container.ts'
import { makeReapedFolder } from '../support/kafka/java-process.ts'
import { skippedWithout } from '../support/kafka/shared-broker.ts'
import { makeTopics } from '../support/kafka/test-log.ts'

describe.skipIf(skippedWithout('container') !== null)('a broker in a container', { timeout: 60_000 }, () => {
  let broker = ''
  beforeAll(async () => {
    broker = await startContainer(makeReapedFolder(process.pid))
  }, 420_000)

  it('stores and returns messages', async () => {
    const log = await (await makeTopics([broker])).open()
    expect(await log.append(recordTopic, 0, { key: 'k', value: Buffer.from('words'), headers: {} })).toBe(0)
    const { messages } = await log.peek(recordTopic, 0, 0, { maxMessages: 1, maxBytes: 100 })
    expect(messages.map(({ value }) => value.toString())).toEqual(['words'])
    await log.close()
  })
})
