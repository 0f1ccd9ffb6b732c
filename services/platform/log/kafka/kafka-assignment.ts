import { Failure } from '../../failure.ts'
import type { Assignment, ReadBounds, StoredMessage, TopicName } from '../log.ts'
import type { FetchedRecords } from './kafka-records.ts'

/** A lane and what its group keeps of it. */
export type KafkaAssignment = {
  readonly assignment: Assignment
  readonly partition: number
  /** The next offset to fetch; null while there is enough. */
  readonly nextFetchOffset: () => number | null
  /**
   * Take what a fetch brought that asked for `from` on. Where the lane goes on from another offset by now (it was rewound, or another fetch
   * came first), it is dropped.
   */
  readonly deliver: (records: FetchedRecords, from: number) => void
  /** Go on from an offset that the partition has: `from`, which was asked for, is gone. */
  readonly moveTo: (offset: number, from: number) => void
  readonly lose: () => void
}

/** How far a lane is read; it may be lost while its commit waits. */
export type OffsetCommit = { readonly partition: number; readonly next: number; readonly lost: AbortSignal }

export type KafkaAssignmentOptions = {
  readonly topic: TopicName
  readonly partition: number
  readonly group: string
  readonly committed: number
  readonly commit: (place: OffsetCommit) => Promise<void>
  /** Called when there is room for more. */
  readonly requestMore: () => void
}

/** What is fetched ahead of the reader, about. A lane holds at most this and one fetch. */
const prefetchBytes = 524_288

/** Open the lane of an assigned partition at its committed offset. */
export const openKafkaAssignment = ({
  topic,
  partition,
  group,
  committed: start,
  commit,
  requestMore,
}: KafkaAssignmentOptions): KafkaAssignment => {
  const lost = new AbortController()
  let committed = start
  let nextOffset = start
  let buffered: StoredMessage[] = []
  let bytes = 0
  let wake: (() => void) | null = null

  const take = (bounds: ReadBounds): readonly StoredMessage[] => {
    let count = 0
    let size = 0
    for (const { value } of buffered) {
      if (count === bounds.maxMessages || (count > 0 && size + value.length > bounds.maxBytes)) break
      size += value.length
      count += 1
    }
    const taken = buffered.slice(0, count)
    buffered = buffered.slice(count)
    bytes -= size
    if (bytes < prefetchBytes) requestMore()
    return taken
  }

  const waitForWake = (signals: readonly AbortSignal[]): Promise<void> =>
    new Promise(resolve => {
      const done = (): void => {
        wake = null
        for (const signal of signals) signal.removeEventListener('abort', done)
        resolve()
      }
      wake = done
      for (const signal of signals) signal.addEventListener('abort', done)
    })

  const refuseLost = (): void => {
    if (lost.signal.aborted)
      throw new Failure('lane_lost', `${group} reads partition ${partition} no more`, { retriable: false })
  }

  const assignment: Assignment = {
    topic,
    partition,
    lost: lost.signal,
    read: async bounds => {
      const signals = bounds.signal === undefined ? [lost.signal] : [lost.signal, bounds.signal]
      while (!signals.some(signal => signal.aborted)) {
        if (buffered.length > 0) return take(bounds)
        await waitForWake(signals)
      }
      return []
    },
    rewind: async () => {
      nextOffset = committed
      buffered = []
      bytes = 0
      requestMore()
    },
    commit: async next => {
      refuseLost()
      if (next <= committed) return
      await commit({ partition, next, lost: lost.signal })
      committed = Math.max(committed, next)
    },
  }
  return {
    assignment,
    partition,
    nextFetchOffset: () => (bytes < prefetchBytes && !lost.signal.aborted ? nextOffset : null),
    deliver: ({ messages, next }, from) => {
      if (from !== nextOffset || lost.signal.aborted) return
      nextOffset = next
      buffered.push(...messages)
      for (const { value } of messages) bytes += value.length
      if (messages.length > 0) wake?.()
    },
    moveTo: (offset, from) => {
      if (from === nextOffset) nextOffset = offset
    },
    lose: () => {
      buffered = []
      bytes = 0
      lost.abort()
    },
  }
}
