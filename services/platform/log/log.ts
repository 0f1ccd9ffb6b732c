import { dayMs } from '../../domain/interval.ts'

/**
 * The log: topics with partitions of messages. Each message is appended once; readers read a partition in order.
 *
 * **Offset.** The offset of a message counts the messages appended to its partition before it. The first message has
 * offset 0. Offsets rise by 1 in the embedded log; a broker may leave gaps. An offset is never used twice, even after
 * all messages are trimmed. **A committed offset is the offset of the next message to read.** It is 0 if no
 * message is processed, and `end` if all are. `begin` is the offset of the oldest stored message, `end` is the offset
 * that the next message gets: `begin ≤ committed ≤ end`.
 *
 * **Durability.** `append` resolves after the message is durable: it survives a crash of the process and a power cut.
 * Only then can readers see the message. A rejected append may have been written; the writer then appends the same
 * message again, and consumers recognise it by its identity.
 *
 * **Reading.** A group has one reader per partition. The reader receives each message from its committed offset on, in
 * order, at least once. The reader commits the offset itself, as the last step after it processed the messages.
 */
export type Log = {
  /** Number of partitions of a topic, fixed when the topic is created. */
  readonly partitions: (topic: TopicName) => number

  /**
   * Append a message; resolve with its offset after it is durable.
   * Throws `log_full` (retriable: unread messages use all capacity), `log_away` (retriable: the message may or may not
   * be stored), `message_too_large`.
   */
  readonly append: (topic: TopicName, partition: number, message: Message) => Promise<number>

  /**
   * Time in ms, from the previous append to a partition, during which a writer should collect messages. An append has
   * about the same cost for one message and for many.
   */
  readonly lingerMs: number

  /**
   * Join a group. `onAssigned` is called for each partition that this reader receives; the embedded log calls it for
   * all partitions before the promise resolves. If a partition is taken away, its `lost` signal aborts.
   * Throws `reader_taken` if another reader of this process is in the group.
   */
  readonly subscribe: (
    topic: TopicName,
    group: string,
    onAssigned: (assignment: Assignment) => void,
  ) => Promise<Subscription>

  /**
   * Read the messages of a partition from offset `from` on, or from the oldest stored one, outside all groups. No
   * offset moves. The limits are those of `Assignment.read`. Does not wait: empty at the end of the partition.
   */
  readonly peek: (
    topic: TopicName,
    partition: number,
    from: number,
    bounds: Omit<ReadBounds, 'signal'>,
  ) => Promise<Peek>

  /**
   * Return whether a topic has the disk space for its largest message. The embedded log refuses appends before the disk
   * is full. A log on brokers does not see their disks.
   */
  readonly hasSpace: (topic: TopicName) => boolean

  /** Return the unread messages of a group in a partition. */
  readonly lag: (topic: TopicName, partition: number, group: string) => Promise<Lag>

  /** Finish the appends in progress, end all reads and release the store. Idempotent. */
  readonly close: () => Promise<void>
}

/** Messages with equal `key` share a partition. `headers` can be read without the schema of `value`. */
export type Message = { readonly key: string; readonly value: Buffer; readonly headers: Headers }
export type Headers = Readonly<Record<string, string>>

/** A message as read. `timestamp` is the time of the append in ms; a producer cannot set it. */
export type StoredMessage = Message & { readonly offset: number; readonly timestamp: number }

/** The only reader of a partition in a group. Call its functions one after the other. */
export type Assignment = {
  readonly topic: TopicName
  readonly partition: number
  /**
   * Aborts if the partition is taken away or the subscription ends. The reader then drops its messages and stops
   * committing.
   */
  readonly lost: AbortSignal
  /**
   * Read the next messages; wait until there is at least one. Each call continues after the last message of the
   * previous call. Returns at most `maxMessages` messages with at most `maxBytes` of values; the first message is
   * returned even if it is larger. Empty only if `signal` or `lost` aborts.
   */
  readonly read: (bounds: ReadBounds) => Promise<readonly StoredMessage[]>
  /** Return to the committed offset: the next read starts there. */
  readonly rewind: () => Promise<void>
  /**
   * Commit `next`, the offset after the last processed message. The committed offset never decreases.
   * Throws `lane_lost` if another reader has the partition.
   */
  readonly commit: (next: number) => Promise<void>
}

export type ReadBounds = { readonly maxMessages: number; readonly maxBytes: number; readonly signal?: AbortSignal }

/** Messages of a partition, and the range of its offsets: from `begin` up to and excluding `end`. */
export type Peek = { readonly messages: readonly StoredMessage[]; readonly begin: number; readonly end: number }

export type Subscription = { readonly close: () => Promise<void> }

/**
 * `firstUnreadAgeMs`: time since the append of the first uncommitted message, 0 if all are committed. `fill`: share
 * (0 to 1) of the partition's capacity that unread messages use. If unread messages can expire, `fill` is the share of
 * the retention time that has passed, if that is larger.
 */
export type Lag = {
  readonly end: number
  readonly committed: number
  readonly firstUnreadAgeMs: number
  readonly fill: number
}

export const recordTopic = 'meter.records.v1' as const
export const deadLetterTopic = 'meter.dead-letters.v1' as const
export const eventTopic = 'webhook.events.v1' as const
export const topicNames = [recordTopic, deadLetterTopic, eventTopic] as const
export type TopicName = (typeof topicNames)[number]

/**
 * Settings of a topic. `capacityBytes`: disk space of one embedded partition. `retainedForGroups`: the embedded log
 * never trims unread messages of these groups; it refuses appends to a full partition instead.
 */
export type TopicSettings = {
  readonly partitions: number
  readonly cleanup: 'delete'
  readonly retentionMs: number
  readonly capacityBytes: number
  readonly maxMessageBytes: number
  readonly retainedForGroups: readonly string[]
}

const mebibyte = 1_048_576

export const topics: Readonly<Record<TopicName, TopicSettings>> = {
  [recordTopic]: {
    partitions: 8,
    cleanup: 'delete',
    retentionMs: 7 * dayMs,
    capacityBytes: 1024 * mebibyte,
    maxMessageBytes: mebibyte,
    retainedForGroups: ['cost-worker'],
  },
  [deadLetterTopic]: {
    partitions: 8,
    cleanup: 'delete',
    retentionMs: 30 * dayMs,
    capacityBytes: 256 * mebibyte,
    maxMessageBytes: 2 * mebibyte,
    retainedForGroups: [],
  },
  [eventTopic]: {
    partitions: 8,
    cleanup: 'delete',
    retentionMs: 14 * dayMs,
    capacityBytes: 256 * mebibyte,
    maxMessageBytes: mebibyte,
    retainedForGroups: ['webhook-worker'],
  },
}
