import { Failure } from '../../failure.ts'
import type { Lane, ReadBounds, StoredMessage, TopicName } from '../log.ts'
import type { ReadRecords } from './kafka-records.ts'

/** A lane and what its group keeps of it. */
export type KafkaLane = {
  readonly lane: Lane
  readonly partition: number
  /** The next offset to fetch; null while there is enough. */
  readonly wanted: () => number | null
  /**
   * Take what a fetch brought that asked for `from` on. Where the lane goes on from another offset by now (it was rewound, or another fetch
   * came first), it is dropped.
   */
  readonly give: (records: ReadRecords, from: number) => void
  /** Go on from an offset that the partition has: `from`, which was asked for, is gone. */
  readonly moveTo: (offset: number, from: number) => void
  readonly lose: () => void
}

/** How far a lane is read; it may be lost while its commit waits. */
export type Place = { readonly partition: number; readonly next: number; readonly lost: AbortSignal }

export type LaneOptions = {
  readonly topic: TopicName
  readonly partition: number
  readonly group: string
  readonly committed: number
  readonly commit: (place: Place) => Promise<void>
  /** Called when there is room for more. */
  readonly wantsMore: () => void
}

/** What is fetched ahead of the reader, about. A lane holds at most this and one fetch. */
const aheadBytes = 524_288

/** Open the lane of an assigned partition at its committed offset. */
export const openKafkaLane = ({ topic, partition, group, committed: start, commit, wantsMore }: LaneOptions): KafkaLane => {
  const lost = new AbortController()
  let committed = start
  let position = start
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
    if (bytes < aheadBytes) wantsMore()
    return taken
  }

  const woken = (signals: readonly AbortSignal[]): Promise<void> =>
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
    if (lost.signal.aborted) throw new Failure('lane_lost', `${group} reads partition ${partition} no more`, { retriable: false })
  }

  const lane: Lane = {
    topic,
    partition,
    lost: lost.signal,
    read: async bounds => {
      const signals = bounds.signal === undefined ? [lost.signal] : [lost.signal, bounds.signal]
      while (!signals.some(signal => signal.aborted)) {
        if (buffered.length > 0) return take(bounds)
        await woken(signals)
      }
      return []
    },
    rewind: async () => {
      position = committed
      buffered = []
      bytes = 0
      wantsMore()
    },
    commit: async next => {
      refuseLost()
      if (next <= committed) return
      await commit({ partition, next, lost: lost.signal })
      committed = Math.max(committed, next)
    },
  }
  return {
    lane,
    partition,
    wanted: () => (bytes < aheadBytes && !lost.signal.aborted ? position : null),
    give: ({ messages, next }, from) => {
      if (from !== position || lost.signal.aborted) return
      position = next
      buffered.push(...messages)
      for (const { value } of messages) bytes += value.length
      if (messages.length > 0) wake?.()
    },
    moveTo: (offset, from) => {
      if (from === position) position = offset
    },
    lose: () => {
      buffered = []
      bytes = 0
      lost.abort()
    },
  }
}
