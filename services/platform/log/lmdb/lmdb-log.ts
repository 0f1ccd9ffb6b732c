import { statfsSync } from 'node:fs'
import { constants as os } from 'node:os'
import { join } from 'node:path'
import { open, type RootDatabase } from 'lmdb'
import { Failure } from '../../failure.ts'
import { groupCommit } from '../group-commit.ts'
import { type Log, type Message, type TopicName, type TopicSettings, topicNames, topics } from '../log.ts'
import { lockFolder } from './folder-lock.ts'
import { openAssignments } from './lmdb-assignments.ts'
import {
  type ByteStore,
  beginAfterTrim,
  beginKey,
  encodeDoubles,
  groupKey,
  lagOf,
  messageKey,
  type OffsetRange,
  openPartition,
  type Partition,
  readMessages,
} from './lmdb-partition.ts'
import { frameSize, writeFrame } from './message-frame.ts'

export type LmdbLogOptions = {
  readonly folder: string
  /** Clock of append times, in ms. */
  readonly now: () => number
  /** Settings that differ from those of `topics`. */
  readonly topics?: Partial<Record<TopicName, Partial<TopicSettings>>>
}

type Append = {
  readonly kind: 'append'
  readonly partition: Partition
  readonly message: Message
  readonly size: number
}
type Commit = { readonly kind: 'commit'; readonly partition: Partition; readonly group: string; readonly next: number }
type Trim = { readonly kind: 'trim'; readonly partition: Partition }
type Write = Append | Commit | Trim

type Store = {
  readonly folder: string
  readonly env: RootDatabase<Buffer, Buffer>
  readonly metadata: ByteStore
  readonly now: () => number
  isClosed: boolean
}

/**
 * Writes of one LMDB commit. Offset ranges and effects are applied after the commit is on disk. `free`: bytes of disk
 * space left for further writes.
 */
type PendingCommit = {
  readonly offsetRanges: Map<Partition, OffsetRange>
  readonly effects: (() => void)[]
  readonly done: Promise<unknown>[]
  free: number
}

const maxWaitingBytes = 128 * 1_048_576
const trimIntervalMs = 60_000
const maxTrimmedMessages = 10_000
const writesPerCommit = 4_096
/** Free disk space that appends and commits leave to the other stores, so that these can finish their writes. */
const reserveBytes = { append: 16 * 1_048_576, commit: 1_048_576 }

/**
 * Open the embedded log: one LMDB environment in `folder`, created if missing. Each message is one value under
 * (partition, offset). Concurrent appends share a commit. The commit is on disk before an append resolves or a reader
 * sees the message. Throws `folder_taken` for a second process, `partitions_changed` if the folder was created with
 * another number of partitions.
 */
export const openLmdbLog = async (options: LmdbLogOptions): Promise<Log> => {
  const unlock = lockFolder(options.folder)
  try {
    const binary = { encoding: 'binary', keyEncoding: 'binary' } as const
    // A commit is synced before it is reported, so that a failing disk rejects it. With `eventTurnBatching`, a rejected
    // commit also rejects a promise that has no handler, and the process ends.
    const durable = { overlappingSync: false, eventTurnBatching: false }
    const env = open<Buffer, Buffer>({ path: join(options.folder, 'log.mdb'), maxDbs: 8, ...durable, ...binary })
    const store: Store = {
      folder: options.folder,
      env,
      metadata: env.openDB({ name: 'places', ...binary }),
      now: options.now,
      isClosed: false,
    }
    const partitions = new Map<TopicName, readonly Partition[]>()
    for (const topic of topicNames) {
      const settings = { ...topics[topic], ...options.topics?.[topic] }
      await fixPartitionCount(store, topic, settings.partitions)
      const messages = env.openDB<Buffer, Buffer>({ name: topic, ...binary })
      const indexes = Array.from({ length: settings.partitions }, (_, index) => index)
      partitions.set(
        topic,
        indexes.map(index => openPartition(store.metadata, { topic, index, settings, messages })),
      )
    }
    return createLog(store, partitions, unlock)
  } catch (error) {
    unlock()
    throw error
  }
}

const fixPartitionCount = async (store: Store, topic: TopicName, requestedCount: number): Promise<void> => {
  const key = Buffer.from(`partitions ${topic}`)
  const storedCount = store.metadata.get(key)?.readDoubleBE(0)
  if (storedCount === undefined) await store.metadata.put(key, encodeDoubles(requestedCount))
  else if (storedCount !== requestedCount)
    throw new Failure(
      'partitions_changed',
      `${topic} has ${storedCount} partitions, but ${requestedCount} are configured. Configure ${storedCount}.`,
    )
}

const createLog = (store: Store, partitions: ReadonlyMap<TopicName, readonly Partition[]>, unlock: () => void): Log => {
  const partitionsOf = (topic: TopicName): readonly Partition[] => partitions.get(topic) ?? []
  const partitionAt = (topic: TopicName, index: number): Partition => {
    const partition = partitionsOf(topic)[index]
    if (partition === undefined) throw new RangeError(`${topic} has no partition ${index}`)
    return partition
  }
  const writes = groupCommit((items: readonly Write[]) => writeAll(store, items), writesPerCommit)
  const assignments = openAssignments(partitionsOf, async (partition, group, next) => {
    await writes.submit({ kind: 'commit', partition, group, next })
  })
  const trimTimer = setInterval(() => {
    for (const partition of [...partitions.values()].flat())
      void writes.submit({ kind: 'trim', partition }).catch(() => undefined)
  }, trimIntervalMs).unref()
  let waitingBytes = 0
  return {
    partitions: topic => partitionsOf(topic).length,
    append: async (topic, index, message) => {
      const partition = partitionAt(topic, index)
      const size = frameSize(message)
      refuseAppend(store, partition, message, waitingBytes + size)
      waitingBytes += size
      try {
        return await writes.submit({ kind: 'append', partition, message, size })
      } finally {
        waitingBytes -= size
      }
    },
    // Writes that arrive during a commit go with the next commit, in all partitions.
    lingerMs: 0,
    subscribe: assignments.subscribe,
    peek: async (topic, index, from, bounds) => {
      const partition = partitionAt(topic, index)
      const { begin, end } = partition.offsetRange
      return { messages: readMessages(partition, from, bounds), begin, end }
    },
    hasSpace: topic =>
      hasSpaceFor(
        freeBytes(store),
        Math.max(0, ...partitionsOf(topic).map(({ settings }) => settings.maxMessageBytes)),
      ),
    lag: async (topic, index, group) => lagOf(partitionAt(topic, index), group, store.now()),
    close: async () => {
      if (store.isClosed) return
      store.isClosed = true
      clearInterval(trimTimer)
      await assignments.close()
      await writes.drained()
      await store.env.close()
      unlock()
    },
  }
}

const refuseAppend = (store: Store, partition: Partition, message: Message, waitingBytes: number): void => {
  if (store.isClosed) throw new Failure('log_away', 'The log is closed.', { retriable: true })
  if (message.value.length > partition.settings.maxMessageBytes)
    throw new Failure(
      'message_too_large',
      `A message of ${message.value.length} bytes is too large for ${partition.topic}.`,
    )
  if (waitingBytes > maxWaitingBytes)
    throw new Failure('log_full', 'Too many appends wait for the disk.', { retriable: true })
}

/** Stage all writes in one transaction, wait for the disk, then show them to readers. */
const writeAll = async (store: Store, items: readonly Write[]): Promise<readonly (number | Error)[]> => {
  const now = store.now()
  const pending: PendingCommit = { offsetRanges: new Map(), effects: [], done: [], free: 0 }
  let results: readonly (number | Error)[] = []
  try {
    pending.free = freeBytes(store)
    const batch = store.env.batch(() => {
      results = items.map(item => stage(store, pending, item, now))
    })
    await Promise.all([batch, ...pending.done])
    await store.env.flushed
  } catch (error) {
    throw await classifyError(error)
  }
  for (const takeEffect of pending.effects) takeEffect()
  for (const [partition, offsetRange] of pending.offsetRanges) {
    partition.offsetRange = offsetRange
    for (const wake of [...partition.waiting]) wake()
  }
  return results
}

/**
 * Return the free disk space in bytes. If the disk is full, LMDB reports the error in a buffer that is too short, and
 * this can end the process. So each commit checks the space first, with a reserve for other writers.
 */
const freeBytes = ({ folder }: Store): number => {
  const { bavail, bsize } = statfsSync(folder)
  return bavail * bsize
}

/** Return whether free bytes are enough for a message of `size` bytes. */
const hasSpaceFor = (free: number, size: number): boolean => free - 2 * size >= reserveBytes.append

const diskFull = (cause?: unknown): Failure =>
  new Failure('log_full', 'The disk has no space for the log. Free some space.', { retriable: true, cause })

const stage = (store: Store, pending: PendingCommit, item: Write, now: number): number | Error => {
  const { partition } = item
  if (pending.free < reserveBytes.commit) return diskFull()
  if (item.kind === 'commit') {
    pending.effects.push(() => partition.committed.set(item.group, item.next))
    pending.done.push(store.metadata.put(groupKey(partition, item.group), encodeDoubles(item.next)))
    return item.next
  }
  if (item.kind === 'trim') {
    trim(store, pending, partition, now, partition.settings.capacityBytes)
    return 0
  }
  if (!hasSpaceFor(pending.free, item.size)) return diskFull()
  const capacityBytes = partition.settings.capacityBytes - item.size
  if (usedBytes(pending, partition) > capacityBytes) trim(store, pending, partition, now, capacityBytes)
  const offsetRange = pending.offsetRanges.get(partition) ?? partition.offsetRange
  if (offsetRange.bytesBeforeEnd - offsetRange.bytesBeforeBegin > capacityBytes)
    return new Failure('log_full', `Unread messages fill partition ${partition.index} of ${partition.topic}.`, {
      retriable: true,
    })
  pending.free -= 2 * item.size
  const timestamp = Math.max(now, offsetRange.lastTimestamp)
  const frame = writeFrame(item.message, item.size, { timestamp, bytesBefore: offsetRange.bytesBeforeEnd })
  pending.done.push(partition.messages.put(messageKey(partition.index, offsetRange.end), frame))
  pending.effects.push(() => partition.tail.put(offsetRange.end, frame))
  pending.offsetRanges.set(partition, {
    ...offsetRange,
    end: offsetRange.end + 1,
    bytesBeforeEnd: offsetRange.bytesBeforeEnd + item.size,
    lastTimestamp: timestamp,
  })
  return offsetRange.end
}

const usedBytes = (pending: PendingCommit, partition: Partition): number => {
  const offsetRange = pending.offsetRanges.get(partition) ?? partition.offsetRange
  return offsetRange.bytesBeforeEnd - offsetRange.bytesBeforeBegin
}

/** Remove the messages that retention allows to remove, at most once per commit and partition. */
const trim = (store: Store, pending: PendingCommit, partition: Partition, now: number, bytes: number): void => {
  const offsetRange = pending.offsetRanges.get(partition) ?? partition.offsetRange
  if (offsetRange.begin !== partition.offsetRange.begin) return
  // Trim 10 % more than needed, so that a full partition is not trimmed again at each append.
  const target = usedBytes(pending, partition) > bytes ? bytes * 0.9 : bytes
  const trimmed = beginAfterTrim(partition, now, target, maxTrimmedMessages, offsetRange.bytesBeforeEnd)
  if (trimmed.begin === offsetRange.begin) return
  for (let offset = offsetRange.begin; offset < trimmed.begin; offset += 1)
    pending.done.push(partition.messages.remove(messageKey(partition.index, offset)))
  pending.done.push(store.metadata.put(beginKey(partition), encodeDoubles(trimmed.begin, trimmed.bytesBeforeBegin)))
  pending.offsetRanges.set(partition, { ...offsetRange, ...trimmed })
}

const fullCodes: ReadonlySet<unknown> = new Set([os.errno.EFBIG, os.errno.ENOSPC, os.errno.EDQUOT, -30_792])

/** Return `log_full` for a full disk (file size, disk, quota, map), else `log_away`, by the code of the store. */
const classifyError = async (error: unknown): Promise<Failure> => {
  const cause = error instanceof Error && 'commitError' in error ? await rejectionReason(error.commitError) : error
  const code = cause instanceof Error && 'code' in cause ? cause.code : undefined
  return fullCodes.has(code)
    ? diskFull(cause)
    : new Failure('log_away', 'The log did not store the messages.', { retriable: true, cause })
}

/** Return the error of a commit. The store rejects each write with a promise of that error. */
const rejectionReason = async (commitError: unknown): Promise<unknown> => {
  const [result] = await Promise.allSettled([commitError])
  return result.status === 'rejected' ? result.reason : result.value
}
