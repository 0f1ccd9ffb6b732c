import type { Operation, Outcome, RequestOf } from '../../contract/operation.ts'
import {
  type DeadLetterDetail,
  type DeadLetterReplay,
  type DeadLetterSummary,
  deadLetterList,
  deadLetterReplay,
  deadLetterRetrieve,
} from '../../contract/operator/dead-letter.ts'
import { writeInstant } from '../../domain/instant.ts'
import { noObject } from '../../domain/no-object.ts'
import { accepted, refused } from '../../domain/refusal.ts'
import { isFailure } from '../../platform/failure.ts'
import { type Binding, bind } from '../../platform/http/binding.ts'
import type { Codec } from '../../platform/log/avro/codec.ts'
import { type Log, type Message, recordTopic, type TopicName } from '../../platform/log/log.ts'
import type { DeadLetter } from '../../platform/log/messages.ts'
import { partitionOf } from '../../platform/log/partition.ts'
import { fromReplayHeader, type ReplayOrigin, toReplayHeader } from '../../platform/log/replay-header.ts'
import type { Logger } from '../../platform/telemetry/logger.ts'
import { type FoundDeadLetter, findDeadLetter, readDeadLetterPage } from './dead-letter-pages.ts'

/** Message that replays a dead letter, or the reason why the letter cannot be replayed. */
type Replay =
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

/** Log, codec and logger of the operations on dead letters. */
export type DeadLetterDependencies = {
  readonly log: Pick<Log, 'append' | 'peek' | 'partitions'>
  readonly codec: Pick<Codec, 'decodeDeadLetter' | 'decodeMeterMessage'>
  /** Return the current generation of the partitions. */
  readonly generation: () => number
  readonly logger: Pick<Logger, 'info'>
}

const path = '/operator/dead-letters'

/**
 * Restrict an operation to the operator. Dead letters belong to all accounts, so no key of an account may read them.
 */
const forOperator =
  <Request extends RequestOf<Operation>, Answer>(run: (request: Request) => Promise<Outcome<Answer>>) =>
  async (request: Request): Promise<Outcome<Answer>> =>
    request.caller.scope === 'operator'
      ? run(request)
      : refused('insufficient_scope', 'This request needs the X-Operator-Key. Send it as a header')

const summaryToWire = ({ id, at, letter }: FoundDeadLetter): DeadLetterSummary => ({
  id,
  object: 'dead_letter',
  lane: letter?.partition ?? null,
  offset: letter?.offset ?? null,
  position: letter === null || letter.position < 0 ? null : letter.position,
  code: letter?.code ?? 'letter_unreadable',
  reason: letter?.reason ?? 'The dead letter cannot be decoded.',
  time_failed: writeInstant(letter?.failedAt ?? at),
})

/** Replace integers that JSON numbers would round with text. */
const withTextIntegers = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value, (_, member) => (typeof member === 'bigint' ? String(member) : member)))

const decodeContent = async (
  codec: DeadLetterDependencies['codec'],
  { value }: DeadLetter,
): Promise<Pick<DeadLetterDetail, 'content' | 'content_error'>> => {
  try {
    return { content: withTextIntegers(await codec.decodeMeterMessage(value)), content_error: null }
  } catch (error) {
    if (isFailure(error) && error.retriable) throw error
    return { content: null, content_error: error instanceof Error ? error.message : String(error) }
  }
}

const deadLetterToWire = async (
  { codec }: DeadLetterDependencies,
  deadLetter: FoundDeadLetter,
): Promise<DeadLetterDetail> => {
  const { letter } = deadLetter
  return {
    ...summaryToWire(deadLetter),
    topic: letter?.topic ?? '',
    time_appended: letter === null ? null : writeInstant(letter.timestamp),
    key: letter?.key ?? '',
    headers: { ...letter?.headers },
    size: letter?.value.length ?? 0,
    value_base64: letter?.value.toString('base64') ?? '',
    ...(letter === null ? { content: null, content_error: null } : await decodeContent(codec, letter)),
  }
}

const replayLetter = async (dependencies: DeadLetterDependencies, id: string): Promise<DeadLetterReplay> => {
  const { log, generation, logger } = dependencies
  const deadLetter = await findDeadLetter(dependencies, id)
  const letter = deadLetter?.letter ?? null
  const notReplayed = (reason: string): DeadLetterReplay => ({ id, replayed: false, lane: null, offset: null, reason })
  if (letter === null)
    return notReplayed(deadLetter === null ? 'No dead letter has this id.' : 'The dead letter cannot be decoded.')
  const replay = replayOf(letter, { generation: generation(), partitions: log.partitions(recordTopic) })
  if (!replay.ok) return notReplayed(replay.reason)
  const offset = await log.append(replay.topic, replay.partition, replay.message)
  logger.info({ letter: id, code: letter.code, lane: replay.partition, offset }, 'Dead letter replayed')
  return { id, replayed: true, lane: replay.partition, offset, reason: null }
}

/** Bind the operator's operations on dead letters. The OpenAPI documents for callers do not contain them. */
export const deadLetterOperations = (dependencies: DeadLetterDependencies): readonly Binding[] => [
  bind(
    deadLetterList,
    forOperator(async ({ query }) => {
      const { limit, code = null, since, before = null } = query
      const { letters, next } = await readDeadLetterPage(dependencies, {
        limit,
        code,
        since: since?.at ?? null,
        before,
      })
      return accepted({
        object: 'list' as const,
        url: path,
        has_more: next !== null,
        next,
        data: letters.map(summaryToWire),
      })
    }),
  ),
  bind(
    deadLetterRetrieve,
    forOperator(async ({ id }) => {
      const deadLetter = await findDeadLetter(dependencies, id)
      return deadLetter === null ? noObject('dead letter') : accepted(await deadLetterToWire(dependencies, deadLetter))
    }),
  ),
  bind(
    deadLetterReplay,
    forOperator(async ({ body }) => {
      const data = await Promise.all([...new Set(body.ids)].map(id => replayLetter(dependencies, id)))
      return accepted({ object: 'list' as const, data })
    }),
  ),
]
