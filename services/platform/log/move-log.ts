import { isFailure } from '../failure.ts'
import { openCodec, publishedSchemas } from './avro/codec.ts'
import type { SchemaIds } from './avro/schema-ids.ts'
import { deadLetterTopic, type Log, type TopicName, topicNames, topics } from './log.ts'

const bounds = { maxMessages: 100, maxBytes: 4 * 1_048_576 }
const headerLength = 5

const partitionsOf = (log: Log, topic: TopicName): readonly number[] =>
  Array.from({ length: log.partitions(topic) }, (_, partition) => partition)

/** Return the unread messages of the groups that must read each message, by group. */
export const countUnread = async (log: Log): Promise<ReadonlyMap<string, number>> => {
  const unread = new Map<string, number>()
  for (const topic of topicNames) {
    for (const group of topics[topic].retainedForGroups) {
      for (const partition of partitionsOf(log, topic)) {
        const { end, committed } = await log.lag(topic, partition, group)
        if (end > committed) unread.set(group, (unread.get(group) ?? 0) + end - committed)
      }
    }
  }
  return unread
}

const endOf = async (log: Log, topic: TopicName, partition: number): Promise<number> =>
  (await log.peek(topic, partition, 0, { maxMessages: 1, maxBytes: 1 })).end

/** Return the first topic that has or had messages, without dead letters; null if there is none. */
export const findUsedTopic = async (log: Log): Promise<TopicName | null> => {
  for (const topic of topicNames.filter(name => name !== deadLetterTopic)) {
    const ends = await Promise.all(partitionsOf(log, topic).map(partition => endOf(log, topic, partition)))
    if (ends.some(end => end > 0)) return topic
  }
  return null
}

/**
 * Return a function that writes the schema numbers of another log into a dead letter. A dead letter contains the bytes
 * of its message, so both have a number. Unreadable bytes stay as they are.
 */
const openRenumber = async (source: SchemaIds, target: SchemaIds): Promise<(letter: Buffer) => Promise<Buffer>> => {
  const numbers = new Map<number, number>()
  for (const { topic, schema } of publishedSchemas()) {
    const subject = `${topic}-value`
    numbers.set(await source.register(subject, schema), await target.register(subject, schema))
  }
  const [from, to] = [await openCodec(source), await openCodec(target)]
  const renumberMessage = (value: Buffer): Buffer => {
    const number = value[0] === 0 && value.length > headerLength ? numbers.get(value.readUInt32BE(1)) : undefined
    if (number === undefined) return value
    const renumbered = Buffer.from(value)
    renumbered.writeUInt32BE(number, 1)
    return renumbered
  }
  return async value => {
    try {
      const decoded = await from.decodeDeadLetter(value)
      return to.encodeDeadLetter({ ...decoded, value: renumberMessage(decoded.value) })
    } catch (error) {
      if (isFailure(error) && !error.retriable) return value
      throw error
    }
  }
}

/**
 * Copy all dead letters to another log, in the order of their partitions. If the target has some of them from an
 * interrupted copy, the copy continues after these. `schemaIds`: schema numbers of both logs. Returns the number of
 * dead letters.
 */
export const copyDeadLetters = async (
  source: Log,
  target: Log,
  schemaIds: { readonly source: SchemaIds; readonly target: SchemaIds },
): Promise<number> => {
  const renumber = await openRenumber(schemaIds.source, schemaIds.target)
  const targets = target.partitions(deadLetterTopic)
  const known = await Promise.all(partitionsOf(target, deadLetterTopic).map(one => endOf(target, deadLetterTopic, one)))
  const counts = known.map(() => 0)
  for (const partition of partitionsOf(source, deadLetterTopic)) {
    const to = partition % targets
    for (let next = 0; ; ) {
      const { messages } = await source.peek(deadLetterTopic, partition, next, bounds)
      for (const { key, headers, value } of messages) {
        const index = counts[to] ?? 0
        if (index >= (known[to] ?? 0))
          await target.append(deadLetterTopic, to, { key, headers, value: await renumber(value) })
        counts[to] = index + 1
      }
      const last = messages.at(-1)
      if (last === undefined) break
      next = last.offset + 1
    }
  }
  return counts.reduce((sum, count) => sum + count, 0)
}
