import { Failure } from '../platform/failure.ts'
import type { Lane, Log, StoredMessage, Subscription } from '../platform/log/log.ts'
import type { Taken } from './step.ts'

/** What was read ahead of each lane, so that one step can take from all of them. Bounded per lane by twice what one read may bring. */
export type LaneBuffer = {
  /**
   * Wait until something is there, then take up to about so many bytes of it, lane by lane; empty only when `signal` aborts.
   * Throws `lane_lost` (retriable) after a lane was taken away, until `rewind`: what was kept for it may be another reader's by now.
   */
  readonly take: (mostBytes: number, signal: AbortSignal) => Promise<readonly Taken[]>
  /** Tell whether a lane was taken away since the last `rewind`. */
  readonly hasLost: () => boolean
  /**
   * Throw `lane_lost` (retriable) after a lane was taken away, until `rewind`: what a step has costed may be another reader's by now, who may
   * have erased its object.
   */
  readonly check: () => void
  /** How many lanes were assigned so far, those that are lost since included. */
  readonly assigned: () => number
  /** Tell how many bytes `take` could give at once. */
  readonly readyBytes: () => number
  /** Commit how far steps came, in order, after all their effects. `onCommitted` gets each lane whose offset has moved, also where others' fail. */
  readonly commit: (reached: readonly Reached[], onCommitted?: (partition: number) => void) => Promise<void>
  /** Forget what was read and begin again at the committed offsets. */
  readonly rewind: () => Promise<void>
  readonly close: () => Promise<void>
}

/** How far what was taken goes in a lane: up to the offset of the next message. */
export type Reached = { readonly lane: Lane; readonly next: number }

export const reachedBy = (taken: readonly Taken[]): readonly Reached[] =>
  taken.flatMap(({ lane, messages }) => {
    const last = messages.at(-1)
    return last === undefined ? [] : [{ lane, next: last.offset + 1 }]
  })

type Source = {
  readonly lane: Lane
  messages: readonly StoredMessage[]
  reading: { readonly done: Promise<void>; readonly stop: AbortController } | null
  failed: unknown
}

const bounds = { maxMessages: 64, maxBytes: 512 * 1024 }

const sizeOf = (message: StoredMessage): number => message.value.length

const isFull = ({ messages }: Source): boolean =>
  messages.length >= bounds.maxMessages || messages.reduce((bytes, message) => bytes + sizeOf(message), 0) >= bounds.maxBytes

/** Take from the front of what was read of one lane. */
const takeFrom = (source: Source, room: number): readonly StoredMessage[] => {
  let count = 0
  let bytes = 0
  for (const message of source.messages) {
    if (count > 0 && bytes + sizeOf(message) > room) break
    bytes += sizeOf(message)
    count += 1
  }
  const taken = source.messages.slice(0, count)
  source.messages = source.messages.slice(count)
  return taken
}

/** Read the lanes of a group as they are assigned. */
export const openLaneBuffer = async (log: Pick<Log, 'subscribe'>, group: string): Promise<LaneBuffer> => {
  const sources: Source[] = []
  let wake = Promise.withResolvers<void>()
  let turn = 0
  let hasLost = false
  let assigned = 0

  /** Go on reading until the bounds are full, so that a step finds all that came while the one before it worked. */
  const readAhead = (source: Source): void => {
    if (isFull(source) || source.reading !== null || source.failed !== undefined || source.lane.lost.aborted) return
    const stop = new AbortController()
    const done = source.lane.read({ ...bounds, signal: stop.signal }).then(
      messages => {
        source.messages = source.messages.length === 0 ? messages : [...source.messages, ...messages]
        source.reading = null
        wake.resolve()
        if (messages.length > 0) readAhead(source)
      },
      error => {
        source.failed = error
        source.reading = null
        wake.resolve()
      },
    )
    source.reading = { done, stop }
  }

  const subscription: Subscription = await log.subscribe('meter.records.v1', group, lane => {
    assigned += 1
    sources.push({ lane, messages: [], reading: null, failed: undefined })
    lane.lost.addEventListener('abort', () => {
      hasLost = true
      wake.resolve()
    })
    wake.resolve()
  })

  /** Take a fair share of each lane; the first lane changes from step to step. */
  const takeReady = (mostBytes: number): readonly Taken[] => {
    turn += 1
    const ready = sources.filter(({ messages }) => messages.length > 0)
    const order = ready.map((_, index) => ready[(index + turn) % ready.length] as Source)
    let room = mostBytes
    const taken: Taken[] = []
    for (const source of order) {
      if (room <= 0) break
      const messages = takeFrom(source, room)
      room -= messages.reduce((sum, message) => sum + sizeOf(message), 0)
      taken.push({ lane: source.lane, messages })
    }
    // The next read goes on beside the step, so that the step after finds every lane that has something.
    for (const source of sources) readAhead(source)
    return taken
  }

  const check = (): void => {
    if (hasLost) throw new Failure('lane_lost', 'a lane was taken away', { retriable: true })
  }

  return {
    check,
    take: async (mostBytes, signal) => {
      const stop = (): void => wake.resolve()
      signal.addEventListener('abort', stop)
      try {
        while (!signal.aborted) {
          check()
          wake = Promise.withResolvers<void>()
          for (const source of sources) {
            if (source.failed !== undefined) throw source.failed
            readAhead(source)
          }
          const taken = takeReady(mostBytes)
          if (taken.length > 0) return taken
          await wake.promise
        }
        return []
      } finally {
        signal.removeEventListener('abort', stop)
      }
    },
    hasLost: () => hasLost,
    assigned: () => assigned,
    readyBytes: () => sources.reduce((sum, { messages }) => messages.reduce((bytes, message) => bytes + sizeOf(message), sum), 0),
    commit: async (reached, onCommitted) => {
      const ends = new Map(reached.map(({ lane, next }) => [lane, next]))
      await Promise.all(
        [...ends].map(async ([lane, next]) => {
          await lane.commit(next)
          onCommitted?.(lane.partition)
        }),
      )
    },
    rewind: async () => {
      hasLost = false
      sources.splice(0, sources.length, ...sources.filter(({ lane }) => !lane.lost.aborted))
      for (const source of sources) {
        // A read that ended just now has begun the next one.
        while (source.reading !== null) {
          source.reading.stop.abort()
          await source.reading.done
        }
        source.failed = undefined
        source.messages = []
        await source.lane.rewind()
      }
    },
    close: () => subscription.close(),
  }
}
