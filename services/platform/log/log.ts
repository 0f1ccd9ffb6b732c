/**
 * The log: topics of partitions of messages, appended once and read in order.
 *
 * **Offset.** A message's offset counts the messages appended to its partition before it: the first has 0, the next one
 * more, without a gap on the embedded log (a broker may leave gaps; offsets only ever rise). An offset is never used twice,
 * also not after every message was trimmed. **A committed offset is the offset of the next message to be read**, so 0 means
 * "nothing handled yet" and `end` means "all handled". `begin` is the oldest message still kept, `end` the offset that the next
 * message will get: `begin ≤ committed ≤ end`.
 *
 * **Durability.** `append` resolves once the message survives the loss of the process and of power, and only then can any
 * reader see it. A rejected append may have been written: its fate is unknown, and the writer repeats by identity.
 *
 * **Reading.** A group has one reader per partition. A reader sees each message from its committed offset on, in order, at least
 * once. It moves the committed offset itself, as the last step over messages that it has handled.
 */
export type Log = {
  /** Number of partitions of a topic, fixed when the topic is made. */
  readonly partitions: (topic: TopicName) => number

  /**
   * Append a message; resolve with its offset once it is durable.
   * Throws `log_full` (retriable: unread messages fill the room), `log_away` (retriable: fate unknown), `message_too_large`.
   */
  readonly append: (topic: TopicName, partition: number, message: Message) => Promise<number>

  /**
   * How long a message may well wait for others to go with it, in ms from the append of the one before it in its partition: an append costs
   * about the same whatever it brings.
   */
  readonly lingerMs: number

  /**
   * Take part in a group: `assigned` is called with a lane for each partition that this reader is given (the embedded log gives
   * all of them before the promise resolves). A lane that is taken away aborts its `lost` signal.
   * Throws `reader_taken` where another reader of this process has the group.
   */
  readonly subscribe: (
    topic: TopicName,
    group: string,
    onAssigned: (assignment: Assignment) => void,
  ) => Promise<Subscription>

  /**
   * Look at the messages of a partition from offset `from` on (at the earliest the oldest one kept), beside all groups: no offset moves.
   * Ends like a lane's read; does not wait, so it is empty at the end.
   */
  readonly peek: (
    topic: TopicName,
    partition: number,
    from: number,
    bounds: Omit<ReadBounds, 'signal'>,
  ) => Promise<Peek>

  /** How far a group is behind in a partition. */
  readonly lag: (topic: TopicName, partition: number, group: string) => Promise<Lag>

  /** Finish the appends under way, end all reads, and let go of the store. Idempotent. */
  readonly close: () => Promise<void>
}

/** `key` says whose message it is (equal keys share a partition); `headers` can be read without the value's schema. */
export type Message = { readonly key: string; readonly value: Buffer; readonly headers: Headers }
export type Headers = Readonly<Record<string, string>>

/** A message as read. `timestamp` is the time of the append in ms, never a time told by the message. */
export type StoredMessage = Message & { readonly offset: number; readonly timestamp: number }

/** The one reader of a partition in a group. Calls of one lane are made one after the other. */
export type Assignment = {
  readonly topic: TopicName
  readonly partition: number
  /** Aborts when the partition is taken away or the subscription ends: drop what was read and commit nothing more. */
  readonly lost: AbortSignal
  /**
   * Take the next messages, waiting until there is at least one; each call goes on where the last one ended.
   * Ends at `maxMessages` or before the message that would pass `maxBytes` of values (the first one always comes).
   * Empty only when `signal` or `lost` aborts.
   */
  readonly read: (bounds: ReadBounds) => Promise<readonly StoredMessage[]>
  /** Go back to the committed offset: the next read brings everything after it again. */
  readonly rewind: () => Promise<void>
  /**
   * Move the committed offset to `next`, the offset after the last handled message; never backwards.
   * Throws `lane_lost` when the partition is another reader's by now.
   */
  readonly commit: (next: number) => Promise<void>
}

export type ReadBounds = { readonly maxMessages: number; readonly maxBytes: number; readonly signal?: AbortSignal }

/** What was seen of a partition, and which offsets it holds: `begin` to before `end`. */
export type Peek = { readonly messages: readonly StoredMessage[]; readonly begin: number; readonly end: number }

export type Subscription = { readonly close: () => Promise<void> }

/**
 * `firstUnreadAgeMs`: since the append of the first message not yet committed, 0 when all are. `fill`: share (0 … 1) of the
 * partition's room that unread messages take, or of the retention where they would be trimmed unread, whichever is larger.
 */
export type Lag = {
  readonly end: number
  readonly committed: number
  readonly firstUnreadAgeMs: number
  readonly fill: number
}

export type TopicName = 'meter.records.v1' | 'meter.dead-letters.v1' | 'webhook.events.v1'

/**
 * Settings of a topic. `keptFor`: groups whose unread messages are never trimmed by the embedded log, there a full
 * partition refuses appends instead. `roomBytes`: what one embedded partition may take on disk.
 */
export type TopicSettings = {
  readonly partitions: number
  readonly cleanup: 'delete'
  readonly retentionMs: number
  readonly capacityBytes: number
  readonly maxMessageBytes: number
  readonly retainedForGroups: readonly string[]
}

const day = 86_400_000
const mebibyte = 1_048_576

export const topics: Readonly<Record<TopicName, TopicSettings>> = {
  'meter.records.v1': {
    partitions: 8,
    cleanup: 'delete',
    retentionMs: 7 * day,
    capacityBytes: 1024 * mebibyte,
    maxMessageBytes: mebibyte,
    retainedForGroups: ['cost-worker'],
  },
  'meter.dead-letters.v1': {
    partitions: 8,
    cleanup: 'delete',
    retentionMs: 30 * day,
    capacityBytes: 256 * mebibyte,
    maxMessageBytes: 2 * mebibyte,
    retainedForGroups: [],
  },
  'webhook.events.v1': {
    partitions: 8,
    cleanup: 'delete',
    retentionMs: 14 * day,
    capacityBytes: 256 * mebibyte,
    maxMessageBytes: mebibyte,
    retainedForGroups: ['webhook-worker'],
  },
}

export const topicNames = Object.keys(topics) as readonly TopicName[]
