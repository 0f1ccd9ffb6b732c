import { Failure } from '../platform/failure.ts'
import { type Assignment, type Log, recordTopic, type StoredMessage, type Subscription } from '../platform/log/log.ts'
import type { FetchedMessages } from './step.ts'

/** What was read ahead of each lane, so that one step can take from all of them. Bounded per lane by twice what one read may bring. */
export type PartitionBuffer = {
  /**
   * Wait until something is there, then take up to about so many bytes of it, lane by lane; empty only when `signal` aborts.
   * Throws `lane_lost` (retriable) after a lane was taken away, until `rewind`: what was kept for it may be another reader's by now.
   */
  readonly take: (maxBytes: number, signal: AbortSignal) => Promise<readonly FetchedMessages[]>
  /** Tell whether a lane was taken away since the last `rewind`. */
  readonly hasLostPartition: () => boolean
  /**
   * Throw `lane_lost` (retriable) after a lane was taken away, until `rewind`: what a step has costed may be another reader's by now, who may
   * have erased its object.
   */
  readonly check: () => void
  /** How many lanes were assigned so far, those that are lost since included. */
  readonly assignmentCount: () => number
  /** Tell how many bytes `take` could give at once. */
  readonly readyBytes: () => number
  /** Commit how far steps came, in order, after all their effects. `onCommitted` gets each lane whose offset has moved, also where others' fail. */
  readonly commit: (commitPoints: readonly CommitPoint[], onCommitted?: (partition: number) => void) => Promise<void>
  /** Forget what was read and begin again at the committed offsets. */
  readonly rewind: () => Promise<void>
  readonly close: () => Promise<void>
}

/** How far what was taken goes in a lane: up to the offset of the next message. */
export type CommitPoint = { readonly assignment: Assignment; readonly nextOffset: number }

export const commitPointsOf = (fetched: readonly FetchedMessages[]): readonly CommitPoint[] =>
  fetched.flatMap(({ assignment, messages }) => {
    const last = messages.at(-1)
    return last === undefined ? [] : [{ assignment, nextOffset: last.offset + 1 }]
  })

type PartitionSource = {
  readonly assignment: Assignment
  messages: readonly StoredMessage[]
  reading: { readonly done: Promise<void>; readonly stop: AbortController } | null
  readError: unknown
}

const readLimits = { maxMessages: 64, maxBytes: 512 * 1024 }

const sizeOf = (message: StoredMessage): number => message.value.length

const isFull = ({ messages }: PartitionSource): boolean =>
  messages.length >= readLimits.maxMessages ||
  messages.reduce((bytes, message) => bytes + sizeOf(message), 0) >= readLimits.maxBytes

/** Take from the front of what was read of one lane. */
const takeFrom = (source: PartitionSource, remainingBytes: number): readonly StoredMessage[] => {
  let count = 0
  let bytes = 0
  for (const message of source.messages) {
    if (count > 0 && bytes + sizeOf(message) > remainingBytes) break
    bytes += sizeOf(message)
    count += 1
  }
  const fetched = source.messages.slice(0, count)
  source.messages = source.messages.slice(count)
  return fetched
}

/** Read the lanes of a group as they are assigned. */
export const openPartitionBuffer = async (log: Pick<Log, 'subscribe'>, group: string): Promise<PartitionBuffer> => {
  const sources: PartitionSource[] = []
  let wake = Promise.withResolvers<void>()
  let rotation = 0
  let hasLostPartition = false
  let assignmentCount = 0

  /** Go on reading until the bounds are full, so that a step finds all that came while the one before it worked. */
  const readAhead = (source: PartitionSource): void => {
    if (isFull(source) || source.reading !== null || source.readError !== undefined || source.assignment.lost.aborted)
      return
    const stop = new AbortController()
    const done = source.assignment.read({ ...readLimits, signal: stop.signal }).then(
      messages => {
        source.messages = source.messages.length === 0 ? messages : [...source.messages, ...messages]
        source.reading = null
        wake.resolve()
        if (messages.length > 0) readAhead(source)
      },
      error => {
        source.readError = error
        source.reading = null
        wake.resolve()
      },
    )
    source.reading = { done, stop }
  }

  const subscription: Subscription = await log.subscribe(recordTopic, group, assignment => {
    assignmentCount += 1
    sources.push({ assignment, messages: [], reading: null, readError: undefined })
    assignment.lost.addEventListener('abort', () => {
      hasLostPartition = true
      wake.resolve()
    })
    wake.resolve()
  })

  /** Take a fair share of each lane; the first lane changes from step to step. */
  const takeReady = (maxBytes: number): readonly FetchedMessages[] => {
    rotation += 1
    const ready = sources.filter(({ messages }) => messages.length > 0)
    const rotated = ready.map((_, index) => ready[(index + rotation) % ready.length] as PartitionSource)
    let remainingBytes = maxBytes
    const fetched: FetchedMessages[] = []
    for (const source of rotated) {
      if (remainingBytes <= 0) break
      const messages = takeFrom(source, remainingBytes)
      remainingBytes -= messages.reduce((sum, message) => sum + sizeOf(message), 0)
      fetched.push({ assignment: source.assignment, messages })
    }
    // The next read goes on beside the step, so that the step after finds every lane that has something.
    for (const source of sources) readAhead(source)
    return fetched
  }

  const check = (): void => {
    if (hasLostPartition) throw new Failure('lane_lost', 'a lane was taken away', { retriable: true })
  }

  return {
    check,
    take: async (maxBytes, signal) => {
      const stop = (): void => wake.resolve()
      signal.addEventListener('abort', stop)
      try {
        while (!signal.aborted) {
          check()
          wake = Promise.withResolvers<void>()
          for (const source of sources) {
            if (source.readError !== undefined) throw source.readError
            readAhead(source)
          }
          const fetched = takeReady(maxBytes)
          if (fetched.length > 0) return fetched
          await wake.promise
        }
        return []
      } finally {
        signal.removeEventListener('abort', stop)
      }
    },
    hasLostPartition: () => hasLostPartition,
    assignmentCount: () => assignmentCount,
    readyBytes: () =>
      sources.reduce((sum, { messages }) => messages.reduce((bytes, message) => bytes + sizeOf(message), sum), 0),
    commit: async (commitPoints, onCommitted) => {
      const commits = new Map(commitPoints.map(({ assignment, nextOffset }) => [assignment, nextOffset]))
      await Promise.all(
        [...commits].map(async ([assignment, nextOffset]) => {
          await assignment.commit(nextOffset)
          onCommitted?.(assignment.partition)
        }),
      )
    },
    rewind: async () => {
      hasLostPartition = false
      sources.splice(0, sources.length, ...sources.filter(({ assignment }) => !assignment.lost.aborted))
      for (const source of sources) {
        // A read that ended just now has begun the next one.
        while (source.reading !== null) {
          source.reading.stop.abort()
          await source.reading.done
        }
        source.readError = undefined
        source.messages = []
        await source.assignment.rewind()
      }
    },
    close: () => subscription.close(),
  }
}
