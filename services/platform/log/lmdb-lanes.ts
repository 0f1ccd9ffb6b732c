import { Failure } from '../failure.ts'
import { committedOf, type Partition, readMessages } from './lmdb-partition.ts'
import type { Lane, Log, ReadBounds, StoredMessage } from './log.ts'

export type Lanes = { readonly subscribe: Log['subscribe']; readonly close: () => Promise<void> }

/** Commit an offset of a group durably. */
export type CommitOffset = (partition: Partition, group: string, next: number) => Promise<void>

/** Hand out the lanes of an embedded log: all partitions of a topic at once, to one reader per group. */
export const openLanes = (partitionsOf: (topic: Lane['topic']) => readonly Partition[], commit: CommitOffset): Lanes => {
  const taken = new Map<string, AbortController>()
  return {
    subscribe: async (topic, group, assigned) => {
      const name = `${topic} ${group}`
      if (taken.has(name)) throw new Failure('reader_taken', `${group} reads ${topic} already`, { retriable: false })
      const ended = new AbortController()
      taken.set(name, ended)
      for (const partition of partitionsOf(topic)) assigned(laneOf(partition, group, ended.signal, commit))
      return {
        close: async () => {
          ended.abort()
          if (taken.get(name) === ended) taken.delete(name)
        },
      }
    },
    close: async () => {
      for (const ended of taken.values()) ended.abort()
      taken.clear()
    },
  }
}

const laneOf = (partition: Partition, group: string, lost: AbortSignal, commit: CommitOffset): Lane => {
  let position = committedOf(partition, group)
  return {
    topic: partition.topic,
    partition: partition.index,
    lost,
    read: async bounds => {
      const messages = await nextMessages(partition, position, bounds, lost)
      const last = messages.at(-1)
      if (last !== undefined) position = last.offset + 1
      return messages
    },
    rewind: async () => {
      position = committedOf(partition, group)
    },
    commit: async next => {
      if (lost.aborted) throw new Failure('lane_lost', `${group} reads partition ${partition.index} no more`, { retriable: false })
      if (next > partition.extent.end) throw new RangeError(`offset ${next} lies behind the end ${partition.extent.end}`)
      if (next > committedOf(partition, group)) await commit(partition, group, next)
    },
  }
}

const nextMessages = async (
  partition: Partition,
  from: number,
  bounds: ReadBounds,
  lost: AbortSignal,
): Promise<readonly StoredMessage[]> => {
  const signals = bounds.signal === undefined ? [lost] : [lost, bounds.signal]
  while (!signals.some(signal => signal.aborted)) {
    const messages = readMessages(partition, from, bounds)
    if (messages.length > 0) return messages
    await woken(partition, signals)
  }
  return []
}

/** Wait for the next durable append, or for an abort. */
const woken = (partition: Partition, signals: readonly AbortSignal[]): Promise<void> =>
  new Promise(resolve => {
    const wake = (): void => {
      partition.waiting.delete(wake)
      for (const signal of signals) signal.removeEventListener('abort', wake)
      resolve()
    }
    partition.waiting.add(wake)
    for (const signal of signals) signal.addEventListener('abort', wake)
  })
