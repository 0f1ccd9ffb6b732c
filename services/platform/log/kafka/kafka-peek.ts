import { Consumer, ListOffsetTimestamps } from '@platformatic/kafka'
import type { Peek, ReadBounds, StoredMessage } from '../log.ts'
import { clientOptions, requestTimeoutMs, waitUpTo, withLogTimeout } from './kafka-client.ts'
import { type FetchedRecords, readRecords } from './kafka-records.ts'
import type { KafkaAddress } from './kafka-settings.ts'

type PeekBounds = Omit<ReadBounds, 'signal'>
type PartitionName = { readonly topic: string; readonly partition: number }

/** Reads messages outside all groups. */
export type Peeker = {
  readonly peek: (topic: string, partition: number, from: number, bounds: PeekBounds) => Promise<Peek>
  readonly close: () => Promise<void>
}

const partitionBytes = 1_048_576

/** Create a peeker. It reads one partition at a time. */
export const openPeeker = (address: KafkaAddress): Peeker => {
  const client = new Consumer({
    ...clientOptions(address, 'peek'),
    retries: 3,
    retryDelay: 200,
    groupId: 'wattledger-peek',
    isolationLevel: 0,
  })
  let last: Promise<unknown> = Promise.resolve()
  return {
    peek: (topic, partition, from, bounds) => {
      const what = `reading messages of ${topic}`
      const peeked = last.then(() =>
        withLogTimeout(2 * requestTimeoutMs, what, peekOnce(client, { topic, partition }, from, bounds)),
      )
      last = peeked.catch(() => undefined)
      return peeked
    },
    close: async () => {
      await waitUpTo(1_000, client.close(true))
    },
  }
}

const peekOnce = async (client: Consumer, name: PartitionName, from: number, bounds: PeekBounds): Promise<Peek> => {
  const begin = await offsetAt(client, name, ListOffsetTimestamps.EARLIEST)
  const end = await offsetAt(client, name, ListOffsetTimestamps.LATEST)
  const seen: StoredMessage[] = []
  let bytes = 0
  for (let offset = Math.max(from, begin); offset < end; ) {
    const { messages, next } = await fetchAt(client, name, offset, Math.min(partitionBytes, bounds.maxBytes))
    for (const message of messages) {
      bytes += message.value.length
      if (seen.length === bounds.maxMessages || (seen.length > 0 && bytes > bounds.maxBytes))
        return { messages: seen, begin, end }
      seen.push(message)
    }
    if (next === offset) break
    offset = next
  }
  return { messages: seen, begin, end }
}

const offsetAt = async (client: Consumer, { topic, partition }: PartitionName, timestamp: bigint): Promise<number> => {
  const offsets = await client.listOffsets({ topics: [topic], partitions: { [topic]: [partition] }, timestamp })
  return Number(offsets.get(topic)?.[partition] ?? 0n)
}

const fetchAt = async (
  client: Consumer,
  { topic, partition }: PartitionName,
  from: number,
  maxBytes: number,
): Promise<FetchedRecords> => {
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
