import { type Message, recordTopic, type TopicName } from '../../platform/log/log.ts'
import type { DeadLetter } from '../../platform/log/messages.ts'
import { partitionOf } from '../../platform/log/partition.ts'
import { fromReplayHeader, type ReplayOrigin, toReplayHeader } from '../../platform/log/replay-header.ts'

export type Replay =
  | { readonly ok: true; readonly topic: TopicName; readonly partition: number; readonly message: Message }
  | { readonly ok: false; readonly reason: string }

/** The lanes as they are now. */
type CurrentPartitions = { readonly generation: number; readonly partitions: number }

/** A message that was not written by the gateway tells no generation; it then is of the present one. */
const generationOf = ({ headers }: DeadLetter, currentGeneration: number): number => {
  const { generation = '' } = headers
  return /^\d{1,4}$/.test(generation) ? Number(generation) : currentGeneration
}

/** Where a letter's first record stood first, also after it was replayed and put aside again. */
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
 * Lay out the message that puts a letter back into its lane: the bytes and headers as they came, stamped with the present generation, and
 * with the place where they stood first. A single record goes to the lane of its location; a whole message to the lane it came from, and
 * is refused where lanes have been divided anew since, because its locations may be in several by now.
 */
export const replayOf = (letter: DeadLetter, { generation, partitions }: CurrentPartitions): Replay => {
  if (letter.topic !== recordTopic) return { ok: false, reason: `it came from ${letter.topic}, which is not replayed` }
  const isWholeMessage = letter.position < 0
  if (isWholeMessage && generationOf(letter, generation) !== generation) {
    return {
      ok: false,
      reason: 'the lanes were divided anew since it was put aside, and it is a whole message of many locations',
    }
  }
  const replayOrigin = readReplayOrigin(letter)
  if (replayOrigin === 'malformed')
    return { ok: false, reason: 'its replay header is malformed, so its standing is not known' }
  const headers = {
    // The receipts of a chunk are kept by its id; a message without one gets one, else it could not be read.
    chunk: `replay-${letter.partition}-${letter.offset}`,
    ...letter.headers,
    generation: String(generation),
    ...toReplayHeader(replayOriginOf(letter, replayOrigin, generation)),
  }
  const partition = isWholeMessage ? letter.partition : partitionOf(letter.key, partitions)
  return { ok: true, topic: recordTopic, partition, message: { key: letter.key, value: letter.value, headers } }
}
