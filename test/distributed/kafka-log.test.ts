import { describe } from 'vitest'
import { describeLog } from '../suites/describe-log.ts'
import { sharedBrokers, skippedWithout } from '../support/kafka/shared-broker.ts'
import { makeTopics } from '../support/kafka/test-log.ts'

describe.skipIf(skippedWithout('any broker') !== null)('a real broker', () => {
  describeLog('Kafka log', async () => {
    const { open } = await makeTopics(await sharedBrokers())
    let log = await open()
    return {
      log,
      reopen: async () => {
        await log.close()
        log = await open()
        return log
      },
      dispose: () => log.close(),
    }
  })
})
