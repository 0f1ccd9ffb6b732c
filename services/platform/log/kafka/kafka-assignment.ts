import { Failure } from '../../failure.ts'
import type { Assignment, ReadBounds, StoredMessage, TopicName } from '../log.ts'
import type { FetchedRecords } from './kafka-records.ts'

/** An assignment with the functions that its group and fetcher call. */
export type KafkaAssignment = {
  readonly assignment: Assignment
  readonly partition: number
  /** Return the next offset to fetch; null while enough messages are buffered. */
  readonly nextFetchOffset: () => number | null
  /**
   * Buffer the result of a fetch that started at `from`. The result is dropped if the assignment continues at another
   * offset, because it was rewound or another fetch was faster.
   */
  readonly deliver: (records: FetchedRecords, from: number) => void
  /** Continue at `offset`, because the brokers no longer have `from`. */
  readonly moveTo: (offset: number, from: number) => void
  readonly lose: () => void
}

/** Offset to commit for a partition. `lost` can abort while the commit waits. */
export type OffsetCommit = { readonly partition: number; readonly next: number; readonly lost: AbortSignal }

export type KafkaAssignmentOptions = {
  readonly topic: TopicName
  readonly partition: number
  readonly group: string
  readonly committed: number
  readonly commit: (offsetCommit: OffsetCommit) => Promise<void>
  /** Called when the buffer has space for more messages. */
  readonly requestMore: () => void
}

/** Approximate bytes that are fetched ahead of the reader. The buffer has at most this and one fetch. */
const prefetchBytes = 524_288

/** Messages that are fetched ahead of the reader. */
type MessageBuffer = {
  readonly isEmpty: () => boolean
  readonly isFull: () => boolean
  readonly add: (messages: readonly StoredMessage[]) => void
  /** Remove and return the first messages, within bounds. */
  readonly take: (bounds: ReadBounds) => readonly StoredMessage[]
  readonly clear: () => void
}

const createMessageBuffer = (): MessageBuffer => {
  let buffered: StoredMessage[] = []
  let bytes = 0
  return {
    isEmpty: () => buffered.length === 0,
    isFull: () => bytes >= prefetchBytes,
    add: messages => {
      buffered.push(...messages)
      for (const { value } of messages) bytes += value.length
    },
    take: ({ maxMessages, maxBytes }) => {
      let count = 0
      let size = 0
      for (const { value } of buffered) {
        if (count === maxMessages || (count > 0 && size + value.length > maxBytes)) break
        size += value.length
        count += 1
      }
      const taken = buffered.slice(0, count)
      buffered = buffered.slice(count)
      bytes -= size
      return taken
    },
    clear: () => {
      buffered = []
      bytes = 0
    },
  }
}

/** A wait that ends with `wake` or when a signal aborts. */
const createWaiter = () => {
  let wake: (() => void) | null = null
  return {
    wake: () => wake?.(),
    wait: (signals: readonly AbortSignal[]): Promise<void> =>
      new Promise(resolve => {
        const done = (): void => {
          wake = null
          for (const signal of signals) signal.removeEventListener('abort', done)
          resolve()
        }
        wake = done
        for (const signal of signals) signal.addEventListener('abort', done)
      }),
  }
}

/** Open an assigned partition at its committed offset. */
export const openKafkaAssignment = (options: KafkaAssignmentOptions): KafkaAssignment => {
  const { topic, partition, group, requestMore } = options
  const lost = new AbortController()
  const buffer = createMessageBuffer()
  const waiter = createWaiter()
  let { committed } = options
  let nextOffset = committed
  const assignment: Assignment = {
    topic,
    partition,
    lost: lost.signal,
    read: async bounds => {
      const signals = bounds.signal === undefined ? [lost.signal] : [lost.signal, bounds.signal]
      while (buffer.isEmpty() && !signals.some(signal => signal.aborted)) await waiter.wait(signals)
      if (signals.some(signal => signal.aborted)) return []
      const messages = buffer.take(bounds)
      if (!buffer.isFull()) requestMore()
      return messages
    },
    rewind: async () => {
      nextOffset = committed
      buffer.clear()
      requestMore()
    },
    commit: async next => {
      if (lost.signal.aborted) throw new Failure('lane_lost', `${group} no longer reads partition ${partition}.`)
      if (next <= committed) return
      await options.commit({ partition, next, lost: lost.signal })
      committed = Math.max(committed, next)
    },
  }
  return {
    assignment,
    partition,
    nextFetchOffset: () => (buffer.isFull() || lost.signal.aborted ? null : nextOffset),
    deliver: ({ messages, next }, from) => {
      if (from !== nextOffset || lost.signal.aborted) return
      nextOffset = next
      buffer.add(messages)
      if (messages.length > 0) waiter.wake()
    },
    moveTo: (offset, from) => {
      if (from === nextOffset) nextOffset = offset
    },
    lose: () => {
      buffer.clear()
      lost.abort()
    },
  }
}
