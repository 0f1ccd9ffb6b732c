import { Consumer, ListOffsetTimestamps } from '@platformatic/kafka'
import type { Peek, ReadBounds, StoredMessage } from '../log.ts'
import { clientOptions, type KafkaAddress, requestTimeoutMs, waitUpTo, withLogTimeout } from './kafka-client.ts'
import { readRecords } from './kafka-records.ts'

/** Looks at messages beside all groups. */
export type Peeker = {
  readonly peek: (topic: string, partition: number, from: number, bounds: Omit<ReadBounds, 'signal'>) => Promise<Peek>
  readonly close: () => Promise<void>
}

const partitionBytes = 1_048_576

/** Make a peeker; it looks at one partition at a time. */
export const openPeeker = (address: KafkaAddress): Peeker => {
  const client = new Consumer({
    ...clientOptions(address, 'peek'),
    retries: 3,
    retryDelay: 200,
    groupId: 'wattledger-peek',
    isolationLevel: 0,
  })
  let last: Promise<unknown> = Promise.resolve()

  const offsetAt = async (topic: string, partition: number, timestamp: bigint): Promise<number> => {
    const offsets = await client.listOffsets({ topics: [topic], partitions: { [topic]: [partition] }, timestamp })
    return Number(offsets.get(topic)?.[partition] ?? 0n)
  }

  const readAt = async (topic: string, partition: number, from: number, maxBytes: number) => {
    const found = (await client.metadata({ topics: [topic] })).topics.get(topic)
    const node = found?.partitions[partition]?.leader ?? -1
    const wanted = {
      partition,
      fetchOffset: BigInt(from),
      currentLeaderEpoch: -1,
      lastFetchedEpoch: -1,
      partitionMaxBytes: maxBytes,
    }
    const topics = [{ topicId: found?.id ?? '', partitions: [wanted] }]
    const { responses } = await client.fetch({ node, topics, maxWaitTime: 0, minBytes: 0, maxBytes })
    const records = responses
      .flatMap(({ partitions }) => partitions)
      .find(({ partitionIndex }) => partitionIndex === partition)?.records
    return readRecords(records ?? [], from)
  }

  const peekOnce = async (
    topic: string,
    partition: number,
    from: number,
    bounds: Omit<ReadBounds, 'signal'>,
  ): Promise<Peek> => {
    const begin = await offsetAt(topic, partition, ListOffsetTimestamps.EARLIEST)
    const end = await offsetAt(topic, partition, ListOffsetTimestamps.LATEST)
    const seen: StoredMessage[] = []
    let bytes = 0
    for (let at = Math.max(from, begin); at < end; ) {
      const { messages, next } = await readAt(topic, partition, at, Math.min(partitionBytes, bounds.maxBytes))
      for (const message of messages) {
        bytes += message.value.length
        if (seen.length === bounds.maxMessages || (seen.length > 0 && bytes > bounds.maxBytes))
          return { messages: seen, begin, end }
        seen.push(message)
      }
      if (next === at) break
      at = next
    }
    return { messages: seen, begin, end }
  }

  return {
    peek: (topic, partition, from, bounds) => {
      const seen = last.then(() =>
        withLogTimeout(2 * requestTimeoutMs, `looking at ${topic}`, peekOnce(topic, partition, from, bounds)),
      )
      last = seen.catch(() => undefined)
      return seen
    },
    close: async () => {
      await waitUpTo(1_000, client.close(true))
    },
  }
}
