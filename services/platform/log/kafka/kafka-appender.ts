import { Producer } from '@platformatic/kafka'
import { Failure } from '../../failure.ts'
import { type GroupCommit, groupCommit } from '../group-commit.ts'
import type { Log, Message } from '../log.ts'
import { clientOptions, logUnavailable, waitUpTo, withLogTimeout } from './kafka-client.ts'
import type { KafkaAddress } from './kafka-settings.ts'

export type AppenderOptions = {
  readonly address: KafkaAddress
  /** Time limit of an append. The append then fails; the message may or may not be stored. */
  readonly appendTimeoutMs: number
  /**
   * Time limit of a send with all its retries. After it, the next send starts; the messages may or may not be stored.
   */
  readonly sendTimeoutMs: number
  /** Maximum bytes that are waiting or in flight in all partitions. */
  readonly maxWaitingBytes: number
}

/** Appends messages to the partitions of topics, in order within each partition. */
export type Appender = {
  readonly append: (
    topic: string,
    partition: number,
    message: Message,
    maxMessageBytes: number,
  ) => ReturnType<Log['append']>
  readonly close: () => Promise<void>
}

/** `isTimedOut` is set after the caller's time limit. A message that is not sent by then is never sent. */
type Append = { readonly message: Message; readonly size: number; isTimedOut: boolean }

/** `overdueAppends`: appends that timed out for the caller and whose result is still unknown. */
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
 * Create the appender. Each partition has its own idempotent producer with one send in flight. Sends that span
 * partitions hang after a leader changes, and a failed send to one partition must not restart the sequence numbers of
 * another partition.
 * A timed-out send stays in flight until its result is known or `sendTimeoutMs` is over, so that no later message
 * overtakes it. Until then, appends to the partition are refused, because they would only wait.
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
      if (isClosed) throw logUnavailable('The log is closed.')
      if (message.value.length > maxMessageBytes) {
        throw new Failure('message_too_large', `A message of ${message.value.length} bytes is too large for ${topic}.`)
      }
      const append: Append = { message, size: sizeOf(message), isTimedOut: false }
      if (waitingBytes + append.size > maxWaitingBytes) {
        throw new Failure('log_full', 'Too many appends wait for the brokers.', { retriable: true })
      }
      const writer = writerOf(topic, partition)
      if (writer.overdueAppends > 0)
        throw logUnavailable(
          `The brokers have not yet answered an earlier append to partition ${partition} of ${topic}.`,
        )
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
    reject(logUnavailable(`The brokers did not answer an append within ${appendTimeoutMs} ms.`))
  }, appendTimeoutMs)
  written.catch(() => undefined)
  try {
    return await Promise.race([written, late])
  } finally {
    clearTimeout(timer)
  }
}

/**
 * Return the appends that the next send takes, from index `from` on: as many as fit, at least one. Empty if the first
 * append has timed out.
 */
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
        `a send to partition ${partition} of ${topic}`,
        openProducer().send({ messages }),
      )
      const first = offsets?.[0]?.offset
      if (first === undefined) throw logUnavailable('The broker returned no offset.')
      return appends.map((_, index) => Number(first) + index)
    } catch (error) {
      // The next send uses a new producer with a new producer id.
      await closeProducer()
      const failure = logUnavailable(`Partition ${partition} of ${topic} did not store the messages.`, error)
      return appends.map(() => failure)
    }
  }

  const commits = groupCommit(async (appends: readonly Append[]) => {
    const results: (number | Error)[] = []
    let failed: Error | null = null
    while (results.length < appends.length) {
      const next = nextSend(appends, results.length)
      // No message may follow a failed one. A message whose caller timed out is not sent.
      if (failed !== null) results.push(failed)
      else if (next.length === 0) results.push(logUnavailable('The append timed out before it was sent.'))
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
