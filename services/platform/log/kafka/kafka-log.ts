import { setTimeout as sleep } from 'node:timers/promises'
import { Admin } from '@platformatic/kafka'
import { Failure } from '../../failure.ts'
import { type Log, type TopicName, type TopicSettings, topicNames, topics } from '../log.ts'
import { openAppender } from './kafka-appender.ts'
import { clientOptions, lingerMs, requestTimeoutMs, waitUpTo, withLogTimeout } from './kafka-client.ts'
import { joinGroup } from './kafka-group.ts'
import { type Offsets, openOffsetReader } from './kafka-offsets.ts'
import { openPeeker } from './kafka-peek.ts'
import type { KafkaAddress } from './kafka-settings.ts'

export type KafkaLogOptions = {
  readonly address: KafkaAddress
  /** Prefix of the names of topics and groups. */
  readonly prefix?: string
  /** Clock for ages of messages, in ms. */
  readonly now: () => number
  /** Logs errors after which the log recovers. */
  readonly log?: (text: string, error?: unknown) => void
  /** Time limit of an append; the append then fails. */
  readonly appendTimeoutMs?: number
  /** Time limit of a send with all its retries. */
  readonly sendTimeoutMs?: number
  readonly maxWaitingBytes?: number
  /** Settings that differ from those of `topics`. */
  readonly topics?: Partial<Record<TopicName, Partial<TopicSettings>>>
}

const appendTimeoutMs = 10_000
/** Longer than brokers need to choose a new leader or to restart. */
const sendTimeoutMs = 120_000
/** Time after which every broker knows a topic that another broker created. */
const topicVisibilityMs = 2_000
const maxWaitingBytes = 128 * 1_048_576

/** Return the name of a topic or group at the brokers. */
export const prefixed = (prefix: string, name: string): string => `${prefix}${name}`

/**
 * Open the log on brokers that have the topics. Numbers of partitions are read once: a change starts a new topic
 * generation and requires a restart. Throws `log_away` if no broker answers, `topic_missing` if a topic is missing.
 */
export const openKafkaLog = async (options: KafkaLogOptions): Promise<Log> => {
  const { address, prefix = '', now } = options
  const nameOf = (topic: TopicName): string => prefixed(prefix, topic)
  const counts = await readPartitions(address, nameOf)
  const countOf = (topic: TopicName): number => counts.get(topic) ?? 0
  const checkPartition = (topic: TopicName, partition: number): void => {
    if (partition < 0 || partition >= countOf(topic)) throw new RangeError(`${topic} has no partition ${partition}.`)
  }
  const settingsOf = (topic: TopicName): TopicSettings => ({ ...topics[topic], ...options.topics?.[topic] })
  const appender = openAppender({
    address,
    appendTimeoutMs: options.appendTimeoutMs ?? appendTimeoutMs,
    sendTimeoutMs: options.sendTimeoutMs ?? sendTimeoutMs,
    maxWaitingBytes: options.maxWaitingBytes ?? maxWaitingBytes,
  })
  const offsetReader = openOffsetReader(address)
  const peeker = openPeeker(address)
  const offsetsOf = (topic: TopicName, group: string) =>
    offsetReader.offsetsOf(nameOf(topic), countOf(topic), prefixed(prefix, group))
  const readers = openReaders(options, nameOf, offsetsOf)
  let closing: Promise<void> | null = null
  const close = async (): Promise<void> => {
    await readers.close()
    await appender.close()
    await Promise.all([offsetReader.close(), peeker.close()])
  }
  return {
    partitions: countOf,
    append: async (topic, partition, message) => {
      checkPartition(topic, partition)
      return await appender.append(nameOf(topic), partition, message, settingsOf(topic).maxMessageBytes)
    },
    lingerMs,
    subscribe: readers.subscribe,
    peek: async (topic, partition, from, bounds) => {
      checkPartition(topic, partition)
      return await peeker.peek(nameOf(topic), partition, from, bounds)
    },
    hasSpace: () => true,
    lag: async (topic, partition, group) => {
      checkPartition(topic, partition)
      const { end = 0, committed = 0 } = (await offsetsOf(topic, group))[partition] ?? {}
      if (committed >= end) return { end, committed, firstUnreadAgeMs: 0, fill: 0 }
      const { messages } = await peeker.peek(nameOf(topic), partition, committed, { maxMessages: 1, maxBytes: 1 })
      const firstUnreadAgeMs = Math.max(1, now() - (messages[0]?.timestamp ?? now()))
      return { end, committed, firstUnreadAgeMs, fill: Math.min(1, firstUnreadAgeMs / settingsOf(topic).retentionMs) }
    },
    close: () => {
      closing ??= close()
      return closing
    },
  }
}

/** Create the readers of this process: at most one per topic and group. */
const openReaders = (
  { address, prefix = '', log = () => undefined }: KafkaLogOptions,
  nameOf: (topic: TopicName) => string,
  offsetsOf: (topic: TopicName, group: string) => Promise<readonly Offsets[]>,
): Pick<Log, 'subscribe' | 'close'> => {
  const readers = new Map<string, () => Promise<void>>()
  return {
    subscribe: async (topic, group, onAssigned) => {
      const name = `${topic} ${group}`
      if (readers.has(name)) throw new Failure('reader_taken', `${group} already reads ${topic} in this process.`)
      const joined = joinGroup({
        address,
        topic,
        topicName: nameOf(topic),
        group: prefixed(prefix, group),
        onAssigned,
        log,
        offsetsOf: () => offsetsOf(topic, group),
      })
      const end = async (): Promise<void> => {
        await joined.close()
        readers.delete(name)
      }
      readers.set(name, end)
      return { close: end }
    },
    close: async () => {
      await Promise.all([...readers.values()].map(end => end()))
    },
  }
}

const readPartitions = async (
  address: KafkaAddress,
  nameOf: (topic: TopicName) => string,
): Promise<ReadonlyMap<TopicName, number>> => {
  const admin = new Admin({ ...clientOptions(address, 'topics'), retries: 3, retryDelay: 300 })
  try {
    let missing = topicNames.map(nameOf)
    for (const end = performance.now() + topicVisibilityMs; missing.length > 0; ) {
      const names = new Set(await withLogTimeout(4 * requestTimeoutMs, 'reading topics', admin.listTopics()))
      missing = missing.filter(name => !names.has(name))
      if (missing.length > 0 && performance.now() > end) {
        const list = missing.join(', ')
        throw new Failure('topic_missing', `The brokers have no ${list}. Run "npx wattledger topics".`)
      }
      if (missing.length > 0) await sleep(100)
    }
    const { topics: found } = await withLogTimeout(
      4 * requestTimeoutMs,
      'reading topics',
      admin.metadata({ topics: topicNames.map(nameOf) }),
    )
    return new Map(topicNames.map(topic => [topic, found.get(nameOf(topic))?.partitionsCount ?? 0]))
  } finally {
    await waitUpTo(1_000, admin.close())
  }
}
