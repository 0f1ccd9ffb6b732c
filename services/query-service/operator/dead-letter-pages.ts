import { isFailure } from '../../platform/failure.ts'
import type { Codec } from '../../platform/log/avro/codec.ts'
import { deadLetterTopic, type Log, type StoredMessage } from '../../platform/log/log.ts'
import type { DeadLetter } from '../../platform/log/messages.ts'

/** Dead letter: `id` is partition and offset, `at` the append time in ms; `letter` is null if it is unreadable. */
export type FoundDeadLetter = { readonly id: string; readonly at: number; readonly letter: DeadLetter | null }

/** Filter of a page: `since` in ms; `before` is the `next` of the previous page. */
export type DeadLetterFilter = {
  readonly limit: number
  readonly code: string | null
  readonly since: number | null
  readonly before: string | null
}

export type DeadLetterPage = { readonly letters: readonly FoundDeadLetter[]; readonly next: string | null }

type DeadLetterSource = {
  readonly log: Pick<Log, 'peek' | 'partitions'>
  readonly codec: Pick<Codec, 'decodeDeadLetter'>
}

/** Limits of one read, so that large messages do not fill the memory: 32 messages, 4 MiB. */
const maxWindowMessages = 32
const maxWindowBytes = 4 * 1_048_576
/** Maximum number of letters that one page reads. */
const maxReadLetters = 5_000

const readLetter = async (
  { codec }: DeadLetterSource,
  partition: number,
  { offset, timestamp, value }: StoredMessage,
): Promise<FoundDeadLetter> => {
  const id = `${partition}-${offset}`
  try {
    return { id, at: timestamp, letter: await codec.decodeDeadLetter(value) }
  } catch (error) {
    if (isFailure(error) && error.retriable) throw error
    return { id, at: timestamp, letter: null }
  }
}

/** Read the messages of a partition before an offset, newest first. */
async function* readBackwards(
  { log }: DeadLetterSource,
  partition: number,
  before: number,
): AsyncGenerator<StoredMessage, undefined> {
  const { begin, end } = await log.peek(deadLetterTopic, partition, before, { maxMessages: 1, maxBytes: 1 })
  for (let until = Math.min(before, end); until > begin; ) {
    const from = Math.max(begin, until - maxWindowMessages)
    const window: StoredMessage[] = []
    for (let next = from; next < until; ) {
      const { messages } = await log.peek(deadLetterTopic, partition, next, {
        maxMessages: until - next,
        maxBytes: maxWindowBytes,
      })
      const last = messages.at(-1)
      if (last === undefined) break
      window.push(...messages.filter(({ offset }) => offset < until))
      next = last.offset + 1
    }
    yield* window.reverse()
    until = from
  }
  return undefined
}

/** Open a reader per partition. `newest` returns the newest unread message; `advance` reads the next of a partition. */
const openNewestFirst = async (source: DeadLetterSource, offsets: readonly number[]) => {
  const heads = new Map<number, StoredMessage>()
  const readers = Array.from({ length: source.log.partitions(deadLetterTopic) }, (_, partition) =>
    readBackwards(source, partition, offsets[partition] ?? Number.MAX_SAFE_INTEGER),
  )
  const advance = async (partition: number): Promise<void> => {
    const head = (await readers[partition]?.next())?.value
    if (head === undefined) heads.delete(partition)
    else heads.set(partition, head)
  }
  await Promise.all(readers.map((_, partition) => advance(partition)))
  const newest = (): { readonly partition: number; readonly head: StoredMessage } | null => {
    let found: { readonly partition: number; readonly head: StoredMessage } | null = null
    for (const [partition, head] of heads)
      if (head.timestamp > (found?.head.timestamp ?? -1)) found = { partition, head }
    return found
  }
  return { newest, advance, offsets: () => readers.map((_, partition) => (heads.get(partition)?.offset ?? -1) + 1) }
}

/**
 * Read a page of dead letters of all partitions, newest first. A page reads at most 5,000 letters, so a filtered page
 * may have fewer letters than `limit` and still have a `next`. `next` contains an offset per partition, so that new
 * letters do not shift the pages.
 */
export const readDeadLetterPage = async (
  source: DeadLetterSource,
  { limit, code, since, before }: DeadLetterFilter,
): Promise<DeadLetterPage> => {
  const heads = await openNewestFirst(source, before?.split('.').map(Number) ?? [])
  const letters: FoundDeadLetter[] = []
  let readCount = 0
  for (let newestHead = heads.newest(); newestHead !== null; newestHead = heads.newest()) {
    if (since !== null && newestHead.head.timestamp < since) return { letters, next: null }
    if (letters.length === limit || readCount === maxReadLetters) return { letters, next: heads.offsets().join('.') }
    const found = await readLetter(source, newestHead.partition, newestHead.head)
    await heads.advance(newestHead.partition)
    readCount += 1
    if (code === null || found.letter?.code === code) letters.push(found)
  }
  return { letters, next: null }
}

/** Find a dead letter by its id; null if it does not exist or is past its retention. */
export const findDeadLetter = async (source: DeadLetterSource, id: string): Promise<FoundDeadLetter | null> => {
  const [, partition, offset] = /^(\d{1,4})-(\d{1,12})$/.exec(id)?.map(Number) ?? []
  if (partition === undefined || offset === undefined || partition >= source.log.partitions(deadLetterTopic))
    return null
  const { messages } = await source.log.peek(deadLetterTopic, partition, offset, { maxMessages: 1, maxBytes: 1 })
  const [message] = messages
  return message?.offset === offset ? readLetter(source, partition, message) : null
}
