import type { Lag, ReadBounds, StoredMessage, TopicName, TopicSettings } from '../log.ts'
import { readFrame, readFrameHeader } from './message-frame.ts'

/** Ordered map of byte strings. A write settles with the commit that contains it. */
export type ByteStore = {
  readonly get: (key: Buffer) => Buffer | undefined
  readonly put: (key: Buffer, value: Buffer) => Promise<boolean>
  readonly remove: (key: Buffer) => Promise<boolean>
  readonly getRange: (range: Range) => Iterable<{ readonly key: Buffer; readonly value: Buffer }>
}
/** `end` is exclusive, also in reverse, unless `inclusiveEnd` is set. */
type Range = {
  readonly start: Buffer
  readonly end: Buffer
  readonly inclusiveEnd?: boolean
  readonly reverse?: boolean
  readonly limit?: number
}

/**
 * First and last offset of the stored messages of a partition, and the bytes before each. Covers durable messages only.
 */
export type OffsetRange = {
  readonly begin: number
  readonly bytesBeforeBegin: number
  readonly end: number
  readonly bytesBeforeEnd: number
  /** Append time of the newest message. Later messages never have an earlier time. */
  readonly lastTimestamp: number
}

export type Partition = {
  readonly topic: TopicName
  readonly index: number
  readonly settings: TopicSettings
  readonly messages: ByteStore
  /** Committed offsets by group. */
  readonly committed: Map<string, number>
  /** Functions that wake waiting readers. */
  readonly waiting: Set<() => void>
  /** Durable frames only. */
  readonly tail: FrameTail
  offsetRange: OffsetRange
}

/**
 * About 1 s of one partition at 100,000 records/s in total, so that a reader without backlog finds its messages here.
 */
const tailBytes = 1_048_576

export const messageKey = (partition: number, offset: number): Buffer => {
  const key = Buffer.allocUnsafeSlow(8)
  key.writeUInt16BE(partition, 0)
  key.writeUIntBE(offset, 2, 6)
  return key
}

export const beginKey = (partition: Partition): Buffer => Buffer.from(`begin ${partition.topic} ${partition.index}`)
export const groupKey = (partition: Partition, group: string): Buffer =>
  Buffer.from(`group ${partition.topic} ${partition.index} ${group}`)

export const encodeDoubles = (...values: readonly number[]): Buffer => {
  const buffer = Buffer.allocUnsafeSlow(values.length * 8)
  values.forEach((value, i) => {
    buffer.writeDoubleBE(value, i * 8)
  })
  return buffer
}

/** Open a partition: read its offsets from the store. */
export const openPartition = (
  metadata: ByteStore,
  at: Pick<Partition, 'topic' | 'index' | 'settings' | 'messages'>,
): Partition => {
  const partition: Partition = {
    ...at,
    committed: new Map(),
    waiting: new Set(),
    tail: frameTail(tailBytes),
    offsetRange: { begin: 0, bytesBeforeBegin: 0, end: 0, bytesBeforeEnd: 0, lastTimestamp: 0 },
  }
  const storedBegin = metadata.get(beginKey(partition))
  const begin = storedBegin?.readDoubleBE(0) ?? 0
  const bytesBeforeBegin = storedBegin?.readDoubleBE(8) ?? 0
  partition.offsetRange = { begin, bytesBeforeBegin, end: begin, bytesBeforeEnd: bytesBeforeBegin, lastTimestamp: 0 }
  const range = {
    start: messageKey(at.index, 2 ** 48 - 1),
    end: messageKey(at.index, 0),
    inclusiveEnd: true,
    reverse: true,
    limit: 1,
  }
  for (const { key, value } of at.messages.getRange(range)) {
    if (key.readUInt16BE(0) !== at.index) break
    const last = readFrameHeader(value)
    const end = key.readUIntBE(2, 6) + 1
    partition.offsetRange = {
      begin,
      bytesBeforeBegin,
      end,
      bytesBeforeEnd: last.bytesBefore + value.length,
      lastTimestamp: last.timestamp,
    }
  }
  const prefix = groupKey(partition, '')
  for (const { key, value } of metadata.getRange({ start: prefix, end: Buffer.concat([prefix, Buffer.from([255])]) }))
    partition.committed.set(key.toString('utf8', prefix.length), value.readDoubleBE(0))
  return partition
}

/** Return the committed offset of a group, at least the oldest stored offset. */
export const committedOf = (partition: Partition, group: string): number =>
  Math.max(partition.committed.get(group) ?? 0, partition.offsetRange.begin)

/**
 * Read the durable messages from an offset on; empty at the end. The first message is returned even if it exceeds
 * `maxBytes`.
 */
export const readMessages = (partition: Partition, from: number, bounds: ReadBounds): readonly StoredMessage[] => {
  const { begin, end } = partition.offsetRange
  const found: StoredMessage[] = []
  let bytes = 0
  for (let offset = Math.max(from, begin); offset < end && found.length < bounds.maxMessages; offset += 1) {
    const message = readFrame(frameAt(partition, offset), offset)
    bytes += message.value.length
    if (found.length > 0 && bytes > bounds.maxBytes) break
    found.push(message)
  }
  return found
}

/** Return the unread messages of a group. */
export const lagOf = (partition: Partition, group: string, now: number): Lag => {
  const { end, bytesBeforeEnd } = partition.offsetRange
  const committed = committedOf(partition, group)
  if (committed >= end) return { end, committed, firstUnreadAgeMs: 0, fill: 0 }
  const first = readFrameHeader(frameAt(partition, committed))
  const firstUnreadAgeMs = Math.max(0, now - first.timestamp)
  const { capacityBytes: roomBytes, retentionMs, retainedForGroups } = partition.settings
  // Messages that are retained until this group has read them cannot expire.
  const age = retainedForGroups.includes(group) ? 0 : firstUnreadAgeMs / retentionMs
  const share = Math.max((bytesBeforeEnd - first.bytesBefore) / roomBytes, age)
  return { end, committed, firstUnreadAgeMs, fill: Math.min(1, share) }
}

/**
 * Return the new begin of a partition after trimming: it removes messages older than the retention, and the oldest
 * messages while more than `bytes` are stored. It keeps messages that a group in `retainedForGroups` has not committed.
 */
export const beginAfterTrim = (
  partition: Partition,
  now: number,
  bytes: number,
  maxMessages: number,
  bytesBeforeEnd: number,
): Pick<OffsetRange, 'begin' | 'bytesBeforeBegin'> => {
  const { begin, bytesBeforeBegin, end } = partition.offsetRange
  const until = Math.min(
    end,
    begin + maxMessages,
    ...partition.settings.retainedForGroups.map(group => committedOf(partition, group)),
  )
  let at = { begin, bytesBeforeBegin }
  while (at.begin < until) {
    const frame = frameAt(partition, at.begin)
    const header = readFrameHeader(frame)
    if (bytesBeforeEnd - at.bytesBeforeBegin <= bytes && now - header.timestamp <= partition.settings.retentionMs) break
    at = { begin: at.begin + 1, bytesBeforeBegin: header.bytesBefore + frame.length }
  }
  return at
}

const frameAt = (partition: Partition, offset: number): Buffer => {
  const frame = partition.tail.get(offset) ?? partition.messages.get(messageKey(partition.index, offset))
  if (frame === undefined)
    throw new Error(`Partition ${partition.index} of ${partition.topic} has no message at offset ${offset}.`)
  return frame
}

/**
 * Cache of the newest frames of a partition, by offset. A reader without backlog reads from it and touches no page of
 * the store. Pages that were read stay mapped and count as memory of the process until it ends.
 */
export type FrameTail = {
  readonly get: (offset: number) => Buffer | undefined
  /** Add the newest frame; remove the oldest frames if the cache exceeds its size. */
  readonly put: (offset: number, frame: Buffer) => void
}

/** Create a cache of at most `maxBytes` bytes of frames. */
export const frameTail = (maxBytes: number): FrameTail => {
  const frames = new Map<number, Buffer>()
  let bytes = 0
  return {
    get: offset => frames.get(offset),
    put: (offset, frame) => {
      frames.set(offset, frame)
      bytes += frame.length
      for (const [oldest, { length }] of frames) {
        if (bytes <= maxBytes) return
        frames.delete(oldest)
        bytes -= length
      }
    },
  }
}
