import { type Message, recordTopic, type TopicName } from '../../platform/log/log.ts'
import type { DeadLetter } from '../../platform/log/messages.ts'
import { partitionOf } from '../../platform/log/partition.ts'
import { fromReplayHeader, type ReplayOrigin, toReplayHeader } from '../../platform/log/replay-header.ts'

/** Message that replays a dead letter, or the reason why the letter cannot be replayed. */
export type Replay =
  | { readonly ok: true; readonly topic: TopicName; readonly partition: number; readonly message: Message }
  | { readonly ok: false; readonly reason: string }

/** Current generation and number of partitions. */
type CurrentPartitions = { readonly generation: number; readonly partitions: number }

/** Return the generation of a letter. A message without the header is not from the gateway and has the current one. */
const generationOf = ({ headers }: DeadLetter, currentGeneration: number): number => {
  const { generation = '' } = headers
  return /^\d{1,4}$/.test(generation) ? Number(generation) : currentGeneration
}

/**
 * Return the first offset and position of a letter's first record, also if the letter was replayed and dead-lettered
 * again.
 */
const replayOriginOf = (
  letter: DeadLetter,
  replayOrigin: ReplayOrigin | null,
  currentGeneration: number,
): ReplayOrigin => {
  const { generation, offset, position } = replayOrigin ?? {
    generation: generationOf(letter, currentGeneration),
    offset: letter.offset,
    position: 0,
  }
  return { generation, offset, position: letter.position < 0 ? position : letter.position }
}

const readReplayOrigin = ({ headers }: DeadLetter): ReplayOrigin | null | 'malformed' => {
  try {
    return fromReplayHeader(headers)
  } catch (error) {
    if (error instanceof RangeError) return 'malformed'
    throw error
  }
}

/**
 * Create the message that replays a dead letter: the bytes and headers of the letter, with the current generation and
 * the first offset and position of its records. A single record goes to the partition of its location. A whole message
 * goes to the partition that it came from. If the number of partitions has changed, a whole message cannot be replayed:
 * its locations may be in several partitions.
 */
export const replayOf = (letter: DeadLetter, { generation, partitions }: CurrentPartitions): Replay => {
  if (letter.topic !== recordTopic)
    return {
      ok: false,
      reason: `Only messages of ${recordTopic} can be replayed. This message came from ${letter.topic}.`,
    }
  const isWholeMessage = letter.position < 0
  if (isWholeMessage && generationOf(letter, generation) !== generation) {
    return {
      ok: false,
      reason: 'The number of partitions has changed since. A whole message of many locations cannot be replayed.',
    }
  }
  const replayOrigin = readReplayOrigin(letter)
  if (replayOrigin === 'malformed')
    return { ok: false, reason: 'The replay header of the message is malformed, so its first position is unknown.' }
  const headers = {
    // Receipts are stored by chunk id, so a message without a chunk id gets one.
    chunk: `replay-${letter.partition}-${letter.offset}`,
    ...letter.headers,
    generation: String(generation),
    ...toReplayHeader(replayOriginOf(letter, replayOrigin, generation)),
  }
  const partition = isWholeMessage ? letter.partition : partitionOf(letter.key, partitions)
  return { ok: true, topic: recordTopic, partition, message: { key: letter.key, value: letter.value, headers } }
}
