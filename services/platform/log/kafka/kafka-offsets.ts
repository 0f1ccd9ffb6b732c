import { Admin } from '@platformatic/kafka'
import { groupCommit } from '../group-commit.ts'
import { clientOptions, requestTimeoutMs, waitUpTo, withLogTimeout } from './kafka-client.ts'
import type { KafkaAddress } from './kafka-settings.ts'

/** First offset, end and committed offset of a group in a partition; `committed` is at least `begin`. */
export type Offsets = { readonly begin: number; readonly end: number; readonly committed: number }

export type OffsetReader = {
  /** Return the offsets of all partitions of a topic, read after the call. Concurrent calls share a request. */
  readonly offsetsOf: (topic: string, partitions: number, group: string) => Promise<readonly Offsets[]>
  readonly close: () => Promise<void>
}

type OffsetsByPartition = ReadonlyMap<number, number>

const latest = -1n
const earliest = -2n

/** Create a reader of offsets. */
export const openOffsetReader = (address: KafkaAddress): OffsetReader => {
  const admin = new Admin({ ...clientOptions(address, 'offsets'), retries: 3, retryDelay: 200 })
  const batchers = new Map<string, ReturnType<typeof groupCommit<null, readonly Offsets[]>>>()
  const openBatcher = (topic: string, partitions: number, group: string) =>
    groupCommit<null, readonly Offsets[]>(async items => {
      const reading = readOffsets(admin, topic, partitions, group)
      const offsets = await withLogTimeout(2 * requestTimeoutMs, 'reading offsets', reading)
      return items.map(() => offsets)
    }, 10_000)
  return {
    offsetsOf: (topic, partitions, group) => {
      const name = `${topic} ${group}`
      const batcher = batchers.get(name) ?? openBatcher(topic, partitions, group)
      batchers.set(name, batcher)
      return batcher.submit(null)
    },
    close: async () => {
      await waitUpTo(1_000, admin.close())
    },
  }
}

const readOffsets = async (
  admin: Admin,
  topic: string,
  partitions: number,
  group: string,
): Promise<readonly Offsets[]> => {
  // The end is read last, so that it is not before the committed offset.
  const [begins, committed] = await Promise.all([
    listOffsetsAt(admin, topic, partitions, earliest),
    listCommitted(admin, topic, partitions, group),
  ])
  const ends = await listOffsetsAt(admin, topic, partitions, latest)
  return Array.from({ length: partitions }, (_, index) => {
    const begin = begins.get(index) ?? 0
    return { begin, end: ends.get(index) ?? begin, committed: Math.max(begin, committed.get(index) ?? 0) }
  })
}

const listOffsetsAt = async (
  admin: Admin,
  topic: string,
  partitions: number,
  timestamp: bigint,
): Promise<OffsetsByPartition> => {
  const indexes = Array.from({ length: partitions }, (_, partitionIndex) => ({ partitionIndex, timestamp }))
  const [found] = await admin.listOffsets({ topics: [{ name: topic, partitions: indexes }] })
  return new Map(found?.partitions.map(({ partitionIndex, offset }) => [partitionIndex, Number(offset)]))
}

const listCommitted = async (
  admin: Admin,
  topic: string,
  partitions: number,
  group: string,
): Promise<OffsetsByPartition> => {
  const partitionIndexes = Array.from({ length: partitions }, (_, index) => index)
  const [found] = await admin.listConsumerGroupOffsets({
    groups: [{ groupId: group, topics: [{ name: topic, partitionIndexes }] }],
  })
  const entries = found?.topics.find(({ name }) => name === topic)?.partitions ?? []
  return new Map(entries.map(({ partitionIndex, committedOffset }) => [partitionIndex, Number(committedOffset)]))
}
