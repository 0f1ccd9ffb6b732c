import { Admin } from '@platformatic/kafka'
import { groupCommit } from '../lmdb/group-commit.ts'
import { clientOptions, type KafkaAddress, requestTimeoutMs, waitUpTo, withLogTimeout } from './kafka-client.ts'

/** Where a partition begins and ends, and what a group has committed of it (at the earliest its begin). */
export type Offsets = { readonly begin: number; readonly end: number; readonly committed: number }

export type OffsetReader = {
  /** The offsets of all partitions of a topic, as they are after the call; calls that come together share a request. */
  readonly offsetsOf: (topic: string, partitions: number, group: string) => Promise<readonly Offsets[]>
  readonly close: () => Promise<void>
}

const latest = -1n
const earliest = -2n

/** Make the book of offsets. */
export const openOffsetReader = (address: KafkaAddress): OffsetReader => {
  const admin = new Admin({ ...clientOptions(address, 'offsets'), retries: 3, retryDelay: 200 })
  const batchers = new Map<string, ReturnType<typeof groupCommit<null, readonly Offsets[]>>>()

  const listOffsetsAt = async (
    topic: string,
    partitions: number,
    timestamp: bigint,
  ): Promise<ReadonlyMap<number, number>> => {
    const indexes = Array.from({ length: partitions }, (_, partitionIndex) => ({ partitionIndex, timestamp }))
    const [found] = await admin.listOffsets({ topics: [{ name: topic, partitions: indexes }] })
    return new Map(found?.partitions.map(({ partitionIndex, offset }) => [partitionIndex, Number(offset)]))
  }

  const committedOf = async (
    topic: string,
    partitions: number,
    group: string,
  ): Promise<ReadonlyMap<number, number>> => {
    const partitionIndexes = Array.from({ length: partitions }, (_, index) => index)
    const [found] = await admin.listConsumerGroupOffsets({
      groups: [{ groupId: group, topics: [{ name: topic, partitionIndexes }] }],
    })
    const entries = found?.topics.find(({ name }) => name === topic)?.partitions ?? []
    return new Map(entries.map(({ partitionIndex, committedOffset }) => [partitionIndex, Number(committedOffset)]))
  }

  const readOffsets = async (topic: string, partitions: number, group: string): Promise<readonly Offsets[]> => {
    // The end is asked last: it must not lie before what was committed.
    const [begins, committed] = await Promise.all([
      listOffsetsAt(topic, partitions, earliest),
      committedOf(topic, partitions, group),
    ])
    const ends = await listOffsetsAt(topic, partitions, latest)
    return Array.from({ length: partitions }, (_, index) => {
      const begin = begins.get(index) ?? 0
      return { begin, end: ends.get(index) ?? begin, committed: Math.max(begin, committed.get(index) ?? 0) }
    })
  }

  return {
    offsetsOf: (topic, partitions, group) => {
      const name = `${topic} ${group}`
      const batcher =
        batchers.get(name) ??
        groupCommit<null, readonly Offsets[]>(async items => {
          const offsets = await withLogTimeout(
            2 * requestTimeoutMs,
            'asking for offsets',
            readOffsets(topic, partitions, group),
          )
          return items.map(() => offsets)
        }, 10_000)
      batchers.set(name, batcher)
      return batcher.submit(null)
    },
    close: async () => {
      await waitUpTo(1_000, admin.close())
    },
  }
}
