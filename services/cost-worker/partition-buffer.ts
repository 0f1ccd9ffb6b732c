import { Failure } from '../platform/failure.ts'
import { type Assignment, type Log, recordTopic, type StoredMessage, type Subscription } from '../platform/log/log.ts'
import type { FetchedMessages } from './step.ts'

/**
 * Messages that were read ahead of each partition, so that a step can take from all of them. Its size is limited per
 * partition.
 */
export type PartitionBuffer = {
  /**
   * Wait for messages, then take about `maxBytes`, partition by partition. Empty only if `signal` aborts.
   * Throws `lane_lost` (retriable) after an assignment was lost, until `rewind`: another reader can have its messages.
   */
  readonly take: (maxBytes: number, signal: AbortSignal) => Promise<readonly FetchedMessages[]>
  /** Return whether an assignment was lost since the last `rewind`. */
  readonly hasLostPartition: () => boolean
  /**
   * Throw `lane_lost` (retriable) after an assignment was lost, until `rewind`: the next reader can have erased an
   * object whose rows a step has costed.
   */
  readonly check: () => void
  /** Number of assignments so far, with the lost ones. */
  readonly assignmentCount: () => number
  /** Return how many bytes `take` can return at once. */
  readonly readyBytes: () => number
  /**
   * Commit offsets, after all effects of their messages. `onCommitted` is called for each committed partition, even if
   * another one fails.
   */
  readonly commit: (commitPoints: readonly CommitPoint[], onCommitted?: (partition: number) => void) => Promise<void>
  /** Discard all messages and read again from the committed offsets. */
  readonly rewind: () => Promise<void>
  readonly close: () => Promise<void>
}

/** Assignment and the offset up to which a step comes: that of the next message. */
export type CommitPoint = { readonly assignment: Assignment; readonly nextOffset: number }

export const commitPointsOf = (fetched: readonly FetchedMessages[]): readonly CommitPoint[] =>
  fetched.flatMap(({ assignment, messages }) => {
    const last = messages.at(-1)
    return last === undefined ? [] : [{ assignment, nextOffset: last.offset + 1 }]
  })

type PartitionSource = {
  readonly assignment: Assignment
  messages: readonly StoredMessage[]
  /** Bytes of the messages. */
  bytes: number
  reading: { readonly done: Promise<void>; readonly stop: AbortController } | null
  readError: unknown
}

/** A step has a cost of its own, so it takes many small messages at once. */
const readLimits = { maxMessages: 1_024, maxBytes: 512 * 1024 }

const sizeOf = (message: StoredMessage): number => message.value.length

const isFull = ({ messages, bytes }: PartitionSource): boolean =>
  messages.length >= readLimits.maxMessages || bytes >= readLimits.maxBytes

/** Take the first messages of one partition: one at least. Returns them and their bytes. */
const takeFrom = (
  source: PartitionSource,
  remainingBytes: number,
): { readonly messages: readonly StoredMessage[]; readonly bytes: number } => {
  let count = 0
  let bytes = 0
  for (const message of source.messages) {
    if (count > 0 && bytes + sizeOf(message) > remainingBytes) break
    bytes += sizeOf(message)
    count += 1
  }
  const messages = source.messages.slice(0, count)
  source.messages = source.messages.slice(count)
  source.bytes -= bytes
  return { messages, bytes }
}

type BufferState = {
  readonly sources: PartitionSource[]
  /** Resolved when a message, an error or an assignment arrives. */
  wake: PromiseWithResolvers<void>
  rotation: number
  hasLostPartition: boolean
  assignmentCount: number
}

/**
 * Read a partition until its limits are reached. The next step then finds all messages that arrived during this one.
 */
const readAhead = (state: BufferState, source: PartitionSource): void => {
  if (isFull(source) || source.reading !== null || source.readError !== undefined || source.assignment.lost.aborted)
    return
  const stop = new AbortController()
  const done = source.assignment.read({ ...readLimits, signal: stop.signal }).then(
    messages => {
      source.messages = source.messages.length === 0 ? messages : [...source.messages, ...messages]
      source.bytes += messages.reduce((bytes, message) => bytes + sizeOf(message), 0)
      source.reading = null
      state.wake.resolve()
      if (messages.length > 0) readAhead(state, source)
    },
    error => {
      source.readError = error
      source.reading = null
      state.wake.resolve()
    },
  )
  source.reading = { done, stop }
}

const addAssignment = (state: BufferState, assignment: Assignment): void => {
  state.assignmentCount += 1
  state.sources.push({ assignment, messages: [], bytes: 0, reading: null, readError: undefined })
  assignment.lost.addEventListener('abort', () => {
    state.hasLostPartition = true
    state.wake.resolve()
  })
  state.wake.resolve()
}

/** Take messages from each partition. Another partition is first in each step. */
const takeReady = (state: BufferState, maxBytes: number): readonly FetchedMessages[] => {
  state.rotation += 1
  const { sources, rotation } = state
  const ready = sources.filter(({ messages }) => messages.length > 0)
  const rotated = ready.map((_, index) => ready[(index + rotation) % ready.length] as PartitionSource)
  let remainingBytes = maxBytes
  const fetched: FetchedMessages[] = []
  for (const source of rotated) {
    if (remainingBytes <= 0) break
    const { messages, bytes } = takeFrom(source, remainingBytes)
    remainingBytes -= bytes
    fetched.push({ assignment: source.assignment, messages })
  }
  // The next reads run during the step, so that the next step finds messages of every partition.
  for (const source of sources) readAhead(state, source)
  return fetched
}

const checkAssignments = ({ hasLostPartition }: BufferState): void => {
  if (hasLostPartition)
    throw new Failure('lane_lost', 'A partition was assigned to another reader.', { retriable: true })
}

const take = async (state: BufferState, maxBytes: number, signal: AbortSignal): Promise<readonly FetchedMessages[]> => {
  const stop = (): void => state.wake.resolve()
  signal.addEventListener('abort', stop)
  try {
    while (!signal.aborted) {
      checkAssignments(state)
      state.wake = Promise.withResolvers<void>()
      for (const source of state.sources) {
        if (source.readError !== undefined) throw source.readError
        readAhead(state, source)
      }
      const fetched = takeReady(state, maxBytes)
      if (fetched.length > 0) return fetched
      await state.wake.promise
    }
    return []
  } finally {
    signal.removeEventListener('abort', stop)
  }
}

const rewind = async (state: BufferState): Promise<void> => {
  const { sources } = state
  state.hasLostPartition = false
  sources.splice(0, sources.length, ...sources.filter(({ assignment }) => !assignment.lost.aborted))
  for (const source of sources) {
    // A read that ends now starts the next one.
    while (source.reading !== null) {
      source.reading.stop.abort()
      await source.reading.done
    }
    source.readError = undefined
    source.messages = []
    source.bytes = 0
    await source.assignment.rewind()
  }
}

/** Read the partitions of a consumer group as they are assigned. */
export const openPartitionBuffer = async (log: Pick<Log, 'subscribe'>, group: string): Promise<PartitionBuffer> => {
  const state: BufferState = {
    sources: [],
    wake: Promise.withResolvers<void>(),
    rotation: 0,
    hasLostPartition: false,
    assignmentCount: 0,
  }
  const subscription: Subscription = await log.subscribe(recordTopic, group, assignment =>
    addAssignment(state, assignment),
  )
  return {
    check: () => checkAssignments(state),
    take: (maxBytes, signal) => take(state, maxBytes, signal),
    hasLostPartition: () => state.hasLostPartition,
    assignmentCount: () => state.assignmentCount,
    readyBytes: () => state.sources.reduce((sum, { bytes }) => sum + bytes, 0),
    commit: async (commitPoints, onCommitted) => {
      const commits = new Map(commitPoints.map(({ assignment, nextOffset }) => [assignment, nextOffset]))
      await Promise.all(
        [...commits].map(async ([assignment, nextOffset]) => {
          await assignment.commit(nextOffset)
          onCommitted?.(assignment.partition)
        }),
      )
    },
    rewind: () => rewind(state),
    close: () => subscription.close(),
  }
}
