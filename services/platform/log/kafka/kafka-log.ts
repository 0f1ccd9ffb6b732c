import { setTimeout as sleep } from 'node:timers/promises'
import { Admin } from '@platformatic/kafka'
import { Failure } from '../../failure.ts'
import { type Log, type TopicName, type TopicSettings, topicNames, topics } from '../log.ts'
import { openAppender } from './kafka-appender.ts'
import {
  clientOptions,
  type KafkaAddress,
  lingerMs,
  requestTimeoutMs,
  waitUpTo,
  withLogTimeout,
} from './kafka-client.ts'
import { joinGroup } from './kafka-group.ts'
import { openOffsetReader } from './kafka-offsets.ts'
import { openPeeker } from './kafka-peek.ts'

export type KafkaLogOptions = {
  readonly address: KafkaAddress
  /** Stands before the names of topics and groups. */
  readonly prefix?: string
  /** The clock of ages, in ms. */
  readonly now: () => number
  /** Told of what the log overcomes by itself. */
  readonly log?: (text: string, error?: unknown) => void
  /** An append that takes longer is answered as failed. */
  readonly appendTimeoutMs?: number
  /** After so long the brokers are not asked any more to take what was not acknowledged. */
  readonly sendTimeoutMs?: number
  readonly maxWaitingBytes?: number
  /** Settings that differ from those of `topics`. */
  readonly topics?: Partial<Record<TopicName, Partial<TopicSettings>>>
}

const appendTimeoutMs = 10_000
/** Longer than brokers need to choose a new leader, and to come back. */
const sendTimeoutMs = 120_000
/** A broker knows of a topic made at another one a moment later. */
const topicVisibilityMs = 2_000
const maxWaitingBytes = 128 * 1_048_576

/** The name of a topic or a group at the brokers. */
export const prefixed = (prefix: string, name: string): string => `${prefix}${name}`

/**
 * Open the log on brokers whose topics exist already. Partitions are read once: a change of their number starts a new lane generation
 * and needs a restart. Throws `log_away` where no broker answers, `topic_missing` where a topic was not created.
 */
export const openKafkaLog = async (options: KafkaLogOptions): Promise<Log> => {
  const { address, prefix = '', now, log = () => undefined } = options
  const nameOf = (topic: TopicName): string => prefixed(prefix, topic)
  const partitions = await readPartitions(address, nameOf)
  const countOf = (topic: TopicName): number => partitions.get(topic) ?? 0
  const checkPartition = (topic: TopicName, partition: number): void => {
    if (partition < 0 || partition >= countOf(topic)) throw new RangeError(`${topic} has no partition ${partition}`)
  }
  const settingsOf = (topic: TopicName): TopicSettings => ({ ...topics[topic], ...options.topics?.[topic] })
  const limits = {
    appendTimeoutMs: options.appendTimeoutMs ?? appendTimeoutMs,
    sendTimeoutMs: options.sendTimeoutMs ?? sendTimeoutMs,
    maxWaitingBytes: options.maxWaitingBytes ?? maxWaitingBytes,
  }
  const appender = openAppender({ address, ...limits })
  const offsetReader = openOffsetReader(address)
  const peeker = openPeeker(address)
  const readers = new Map<string, () => Promise<void>>()
  const offsetsOf = (topic: TopicName, group: string) =>
    offsetReader.offsetsOf(nameOf(topic), countOf(topic), prefixed(prefix, group))
  let closing: Promise<void> | null = null
  const close = async (): Promise<void> => {
    await Promise.all([...readers.values()].map(end => end()))
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
    subscribe: async (topic, group, onAssigned) => {
      const name = `${topic} ${group}`
      if (readers.has(name)) throw new Failure('reader_taken', `${group} reads ${topic} already`, { retriable: false })
      const joined = joinGroup({
        ...{ address, topic, topicName: nameOf(topic), group: prefixed(prefix, group), onAssigned, log },
        offsetsOf: () => offsetsOf(topic, group),
      })
      const end = async (): Promise<void> => {
        await joined.close()
        readers.delete(name)
      }
      readers.set(name, end)
      return { close: end }
    },
    peek: async (topic, partition, from, bounds) => {
      checkPartition(topic, partition)
      return await peeker.peek(nameOf(topic), partition, from, bounds)
    },
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

const readPartitions = async (
  address: KafkaAddress,
  nameOf: (topic: TopicName) => string,
): Promise<ReadonlyMap<TopicName, number>> => {
  const admin = new Admin({ ...clientOptions(address, 'topics'), retries: 3, retryDelay: 300 })
  try {
    let missing = topicNames.map(nameOf)
    for (const end = performance.now() + topicVisibilityMs; missing.length > 0; ) {
      const names = new Set(await withLogTimeout(4 * requestTimeoutMs, 'asking for topics', admin.listTopics()))
      missing = missing.filter(name => !names.has(name))
      if (missing.length > 0 && performance.now() > end) {
        const list = missing.join(', ')
        throw new Failure('topic_missing', `the brokers have no ${list}; run "npx wattledger topics" first`, {
          retriable: false,
        })
      }
      if (missing.length > 0) await sleep(100)
    }
    const { topics: found } = await withLogTimeout(
      4 * requestTimeoutMs,
      'asking for topics',
      admin.metadata({ topics: topicNames.map(nameOf) }),
    )
    return new Map(topicNames.map(topic => [topic, found.get(nameOf(topic))?.partitionsCount ?? 0]))
  } finally {
    await waitUpTo(1_000, admin.close())
  }
}
