import { setTimeout as sleep } from 'node:timers/promises'
import { Consumer, Producer } from '@platformatic/kafka'
import { open } from 'lmdb'

/** Log with one reader. When `append` resolves, the chunk is durable on disk or at the broker. */
export type LimitLog = {
  readonly append: (chunk: Buffer) => Promise<void>
  /** Wait for at least one chunk, and return the chunks since the last call. */
  readonly take: () => Promise<readonly Buffer[]>
  /** Commit the offset after all taken chunks. */
  readonly commit: () => Promise<void>
}

const maxTaken = 128

/** Open a log in LMDB. Appends of one turn of the event loop share a commit. */
export const openLmdbLimit = (folder: string): LimitLog => {
  const chunks = open<Buffer, number>({ path: folder, encoding: 'binary', overlappingSync: false, maxDbs: 2 })
  const positions = chunks.openDB<number, string>({ name: 'places', encoding: 'json' })
  let end = 0
  let durable = 0
  let taken = 0
  let wake = (): void => undefined
  return {
    append: async chunk => {
      const offset = end++
      await chunks.put(offset, chunk)
      durable = Math.max(durable, offset + 1)
      wake()
    },
    take: async () => {
      while (durable === taken) {
        await new Promise<void>(resolve => {
          wake = resolve
        })
      }
      const from = taken
      taken = Math.min(durable, from + maxTaken)
      return Array.from({ length: taken - from }, (_, index) => chunks.get(from + index) as Buffer)
    },
    commit: async () => void (await positions.put('reader', taken)),
  }
}

const noText = (): undefined => undefined
const asBytes = (data?: Buffer): Buffer | undefined => data

/** Open a writer to a topic. The client spreads messages without a key over the partitions. */
export const openKafkaWriter = (brokers: readonly string[], topic: string): LimitLog['append'] => {
  const producer = new Producer<undefined, Buffer, undefined, undefined>({
    clientId: 'limit',
    bootstrapBrokers: [...brokers],
    acks: -1,
    idempotent: true,
    serializers: { key: noText, value: asBytes, headerKey: noText, headerValue: noText },
  })
  return async chunk => void (await producer.send({ messages: [{ topic, value: chunk }] }))
}

/** Open a reader of a topic. */
export const openKafkaReader = async (
  brokers: readonly string[],
  topic: string,
): Promise<Pick<LimitLog, 'take' | 'commit'>> => {
  const consumer = new Consumer<undefined, Buffer, undefined, undefined>({
    clientId: 'limit',
    groupId: 'limit',
    bootstrapBrokers: [...brokers],
    deserializers: { key: noText, value: (data?: Buffer) => data as Buffer, headerKey: noText, headerValue: noText },
  })
  const stream = await consumer.consume({
    topics: [topic],
    mode: 'earliest',
    autocommit: 500,
    maxWaitTime: 50,
    maxBytes: 4_194_304,
  })
  const waiting: Buffer[] = []
  stream.on('data', ({ value }) => {
    waiting.push(value)
    if (waiting.length > maxTaken * 4) stream.pause()
  })
  return {
    take: async () => {
      while (waiting.length === 0) await sleep(5)
      const taken = waiting.splice(0, maxTaken)
      if (stream.isPaused()) stream.resume()
      return taken
    },
    commit: async () => undefined,
  }
}
