import { Producer } from '@platformatic/kafka'
import { Failure } from '../../failure.ts'
import { type GroupCommit, groupCommit } from '../lmdb/group-commit.ts'
import type { Log, Message } from '../log.ts'
import { clientOptions, type KafkaAddress, logUnavailable, waitUpTo, withLogTimeout } from './kafka-client.ts'

export type AppenderOptions = {
  readonly address: KafkaAddress
  /** After so long an append is answered as failed, its fate unknown. */
  readonly appendTimeoutMs: number
  /** So long a send is tried, leaders found anew and requests repeated: then its fate stays unknown, and what comes next goes on. */
  readonly sendTimeoutMs: number
  /** What may wait or be under way in all partitions. */
  readonly maxWaitingBytes: number
}

/** Appends to the partitions of topics, each in its own order. */
export type Appender = {
  readonly append: (
    topic: string,
    partition: number,
    message: Message,
    maxMessageBytes: number,
  ) => ReturnType<Log['append']>
  readonly close: () => Promise<void>
}

/** `isAnswered` is set once the caller was told that the fate is unknown: what was not sent by then is not sent any more. */
type Append = { readonly message: Message; readonly size: number; isTimedOut: boolean }

/** `overdue` counts the appends whose caller was told so and whose fate is still open. */
type Writer = {
  readonly commits: GroupCommit<Append, number>
  readonly close: () => Promise<void>
  overdueAppends: number
}

const appendsPerCommit = 1_000
const bytesPerSend = 1_048_576
const retryDelayMs = 250
const closeTimeoutMs = 1_000

const sizeOf = ({ key, value, headers }: Message): number => {
  let size = 64 + Buffer.byteLength(key) + value.length
  for (const [name, text] of Object.entries(headers)) size += 8 + Buffer.byteLength(name) + Buffer.byteLength(text)
  return size
}

/**
 * Make the appender. Each partition has an idempotent producer of its own and one send under way: sends that span partitions hang after
 * a change of leaders, and a failed send of one partition must not restart the numbering of another.
 * A send whose caller gave up stays under way until its fate is known or `sendMs` are over, so that nothing overtakes it; what comes
 * meanwhile is refused at once, since it could only wait behind.
 */
export const openAppender = ({
  address,
  appendTimeoutMs,
  sendTimeoutMs,
  maxWaitingBytes,
}: AppenderOptions): Appender => {
  const writers = new Map<string, Writer>()
  let waitingBytes = 0
  let isClosed = false
  const writerOf = (topic: string, partition: number): Writer => {
    const name = `${topic} ${partition}`
    const writer = writers.get(name) ?? openWriter({ address, sendTimeoutMs }, topic, partition)
    writers.set(name, writer)
    return writer
  }
  return {
    append: async (topic, partition, message, maxMessageBytes) => {
      if (isClosed) throw logUnavailable('the log is closed')
      if (message.value.length > maxMessageBytes) {
        throw new Failure('message_too_large', `${message.value.length} bytes do not fit into a message of ${topic}`, {
          retriable: false,
        })
      }
      const append: Append = { message, size: sizeOf(message), isTimedOut: false }
      if (waitingBytes + append.size > maxWaitingBytes) {
        throw new Failure('log_full', 'too many appends wait for the brokers', { retriable: true })
      }
      const writer = writerOf(topic, partition)
      if (writer.overdueAppends > 0)
        throw logUnavailable(`the brokers did not answer an append of before to ${topic} ${partition} yet`)
      waitingBytes += append.size
      const written = writer.commits.submit(append).finally(() => {
        waitingBytes -= append.size
        if (append.isTimedOut) writer.overdueAppends -= 1
      })
      return await waitForAppend(append, written, { appendTimeoutMs, writer })
    },
    close: async () => {
      if (isClosed) return
      isClosed = true
      await waitUpTo(appendTimeoutMs, Promise.all([...writers.values()].map(({ commits }) => commits.drained())))
      await Promise.all([...writers.values()].map(writer => writer.close()))
    },
  }
}

const waitForAppend = async (
  append: Append,
  written: Promise<number>,
  { appendTimeoutMs, writer }: { readonly appendTimeoutMs: number; readonly writer: Writer },
): Promise<number> => {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => {
    append.isTimedOut = true
    writer.overdueAppends += 1
    reject(logUnavailable(`the brokers did not answer an append within ${appendTimeoutMs} ms`))
  }, appendTimeoutMs)
  written.catch(() => undefined)
  try {
    return await Promise.race([written, late])
  } finally {
    clearTimeout(timer)
  }
}

/** The appends from a place on that one send takes: as many as fit, one at least, none where the first was given up. */
const nextSend = (appends: readonly Append[], from: number): readonly Append[] => {
  let to = from
  let bytes = 0
  for (let append = appends[to]; append !== undefined && !append.isTimedOut; append = appends[to]) {
    bytes += append.size
    if (to > from && bytes > bytesPerSend) break
    to += 1
  }
  return appends.slice(from, to)
}

const openWriter = (
  { address, sendTimeoutMs }: Pick<AppenderOptions, 'address' | 'sendTimeoutMs'>,
  topic: string,
  partition: number,
): Writer => {
  let producer: Producer | null = null
  const openProducer = (): Producer => {
    producer ??= new Producer({
      ...clientOptions(address, 'gateway'),
      idempotent: true,
      compression: 'lz4',
      retries: true,
      retryDelay: retryDelayMs,
    })
    return producer
  }
  const closeProducer = async (): Promise<void> => {
    const closing = producer
    producer = null
    if (closing !== null) await waitUpTo(closeTimeoutMs, closing.close(true))
  }

  const send = async (appends: readonly Append[]): Promise<readonly (number | Error)[]> => {
    try {
      const messages = appends.map(({ message }) => toRecord(topic, partition, message))
      const { offsets } = await withLogTimeout(
        sendTimeoutMs,
        `a send to ${topic} ${partition}`,
        openProducer().send({ messages }),
      )
      const first = offsets?.[0]?.offset
      if (first === undefined) throw logUnavailable('the broker told no offset')
      return appends.map((_, index) => Number(first) + index)
    } catch (error) {
      // What comes next has a producer with a number of its own.
      await closeProducer()
      const failure = logUnavailable(`${topic} ${partition} did not take the messages`, error)
      return appends.map(() => failure)
    }
  }

  const commits = groupCommit(async (appends: readonly Append[]) => {
    const results: (number | Error)[] = []
    let failed: Error | null = null
    while (results.length < appends.length) {
      const next = nextSend(appends, results.length)
      // Nothing may follow what failed, nor be sent once its caller was told otherwise.
      if (failed !== null) results.push(failed)
      else if (next.length === 0) results.push(logUnavailable('the append was given up before it was sent'))
      else results.push(...(await send(next)))
      const last = results.at(-1)
      if (next.length > 0 && last instanceof Error) failed = last
    }
    return results
  }, appendsPerCommit)
  return { commits, close: closeProducer, overdueAppends: 0 }
}

const toRecord = (topic: string, partition: number, { key, value, headers }: Message) => ({
  topic,
  partition,
  key: Buffer.from(key),
  value,
  headers: new Map(Object.entries(headers).map(([name, text]) => [Buffer.from(name), Buffer.from(text)])),
})
