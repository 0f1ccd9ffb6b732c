import { Consumer, type Message } from '@platformatic/kafka'

/** Messages of a topic from the committed offsets of a group on, and their commit. */
export type TopicReader = {
  readonly messages: AsyncIterable<Message>
  /** Commit the offsets after these messages. */
  readonly commit: (messages: readonly Message[]) => Promise<void>
}

/** Join a consumer group and read a topic. */
export const readTopic = async (brokers: readonly string[], topic: string, groupId: string): Promise<TopicReader> => {
  const consumer = new Consumer({
    clientId: 'shape-writer',
    bootstrapBrokers: [...brokers],
    groupId,
    groupProtocol: 'consumer',
    autocommit: false,
    maxBytes: 1_048_576,
  })
  consumer.on('error', error => process.stderr.write(`${String(error)}\n`))
  const messages = await consumer.consume({
    topics: [topic],
    mode: 'committed',
    fallbackMode: 'earliest',
    autocommit: false,
  })
  messages.on('error', error => process.stderr.write(`${String(error)}\n`))
  return {
    messages,
    commit: async handled => {
      const lasts = new Map(handled.map(message => [message.partition, message]))
      const offsets = [...lasts.values()].map(({ partition, offset, leaderEpoch }) => ({
        topic,
        partition,
        leaderEpoch,
        offset: offset + 1n,
      }))
      if (offsets.length > 0) await consumer.commit({ offsets })
    },
  }
}

/**
 * Yield batches of items. A batch ends with `maxSize` items, or `ms` after its first item. The next item is requested
 * before a batch is yielded.
 */
export async function* inBatches<T>(
  items: AsyncIterable<T>,
  maxSize: number,
  ms: number,
): AsyncGenerator<readonly T[]> {
  const iterator = items[Symbol.asyncIterator]()
  let next = iterator.next()
  for (;;) {
    const first = await next
    if (first.done === true) return
    const batch = [first.value]
    const late = Promise.withResolvers<null>()
    const timer = setTimeout(() => late.resolve(null), ms)
    next = iterator.next()
    while (batch.length < maxSize) {
      const one = await Promise.race([next, late.promise])
      if (one === null || one.done === true) break
      batch.push(one.value)
      next = iterator.next()
    }
    clearTimeout(timer)
    yield batch
  }
}
