import { randomUUID } from 'node:crypto'
import { type KafkaLogOptions, openKafkaLog } from '../../../services/platform/log/kafka/kafka-log.ts'
import type { KafkaAddress } from '../../../services/platform/log/kafka/kafka-settings.ts'
import { ensureTopics } from '../../../services/platform/log/kafka/kafka-topics.ts'
import type { Log } from '../../../services/platform/log/log.ts'

/** Session timeout in ms: short for brokers of the tests, the default of Kafka for other brokers. */
export const sessionMs = process.env['KAFKA_BROKERS'] === undefined ? 3_000 : 45_000

export const plainAddress = (brokers: readonly string[]): KafkaAddress => ({
  brokers,
  tls: false,
  sasl: null,
  sessionTimeoutMs: sessionMs,
})

/**
 * Create topics with a unique prefix, so that tests share only the brokers. `open` opens another log on these topics.
 */
export const makeTopics = async (
  brokers: readonly string[],
  plan: { readonly replicas?: number; readonly minInSync?: number } = {},
) => {
  const address = plainAddress(brokers)
  const prefix = `test-${randomUUID()}.`
  await ensureTopics(address, { prefix, partitions: 8, replicas: 1, minInSync: 1, ...plan })
  const open = (options: Partial<KafkaLogOptions> = {}): Promise<Log> =>
    openKafkaLog({ address, prefix, now: () => Date.now(), ...options })
  return { address, prefix, open }
}
