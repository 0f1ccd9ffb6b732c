import { Failure } from '../../failure.ts'
import type { Assignment, Log, ReadBounds, StoredMessage } from '../log.ts'
import { committedOf, type Partition, readMessages } from './lmdb-partition.ts'

export type LmdbAssignments = { readonly subscribe: Log['subscribe']; readonly close: () => Promise<void> }

/** Commit an offset of a group durably. */
export type CommitOffset = (partition: Partition, group: string, next: number) => Promise<void>

/** Create the assignments of an embedded log: one reader per group receives all partitions of a topic at once. */
export const openAssignments = (
  partitionsOf: (topic: Assignment['topic']) => readonly Partition[],
  commit: CommitOffset,
): LmdbAssignments => {
  const readers = new Map<string, AbortController>()
  return {
    subscribe: async (topic, group, onAssigned) => {
      const name = `${topic} ${group}`
      if (readers.has(name)) throw new Failure('reader_taken', `${group} already reads ${topic} in this process.`)
      const ended = new AbortController()
      readers.set(name, ended)
      for (const partition of partitionsOf(topic)) onAssigned(openAssignment(partition, group, ended.signal, commit))
      return {
        close: async () => {
          ended.abort()
          if (readers.get(name) === ended) readers.delete(name)
        },
      }
    },
    close: async () => {
      for (const ended of readers.values()) ended.abort()
      readers.clear()
    },
  }
}

const openAssignment = (partition: Partition, group: string, lost: AbortSignal, commit: CommitOffset): Assignment => {
  let nextOffset = committedOf(partition, group)
  return {
    topic: partition.topic,
    partition: partition.index,
    lost,
    read: async bounds => {
      const messages = await waitForMessages(partition, nextOffset, bounds, lost)
      const last = messages.at(-1)
      if (last !== undefined) nextOffset = last.offset + 1
      return messages
    },
    rewind: async () => {
      nextOffset = committedOf(partition, group)
    },
    commit: async next => {
      if (lost.aborted) throw new Failure('lane_lost', `${group} no longer reads partition ${partition.index}.`)
      if (next > partition.offsetRange.end)
        throw new RangeError(`Offset ${next} is after the end ${partition.offsetRange.end}.`)
      if (next > committedOf(partition, group)) await commit(partition, group, next)
    },
  }
}

const waitForMessages = async (
  partition: Partition,
  from: number,
  bounds: ReadBounds,
  lost: AbortSignal,
): Promise<readonly StoredMessage[]> => {
  const signals = bounds.signal === undefined ? [lost] : [lost, bounds.signal]
  while (!signals.some(signal => signal.aborted)) {
    const messages = readMessages(partition, from, bounds)
    if (messages.length > 0) return messages
    await waitForAppend(partition, signals)
  }
  return []
}

/** Wait for the next durable append, or for an abort. */
const waitForAppend = (partition: Partition, signals: readonly AbortSignal[]): Promise<void> =>
  new Promise(resolve => {
    const wake = (): void => {
      partition.waiting.delete(wake)
      for (const signal of signals) signal.removeEventListener('abort', wake)
      resolve()
    }
    partition.waiting.add(wake)
    for (const signal of signals) signal.addEventListener('abort', wake)
  })
