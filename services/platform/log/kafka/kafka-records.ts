import type { Consumer } from '@platformatic/kafka'
import type { StoredMessage } from '../log.ts'

type Batches = NonNullable<FetchedPartition['records']>
type FetchedPartition = Awaited<ReturnType<Consumer['fetch']>>['responses'][number]['partitions'][number]

/** Messages from an offset on, and the next offset to fetch. Control records and gaps are skipped. */
export type FetchedRecords = { readonly messages: readonly StoredMessage[]; readonly next: number }

const controlBit = 0x20
const appendTimeBit = 0x08

/**
 * Return the messages of a fetched partition from `from` on. A broker returns whole batches, so earlier messages may be
 * included.
 */
export const readRecords = (batches: Batches, from: number): FetchedRecords => {
  const messages: StoredMessage[] = []
  let next = from
  for (const batch of batches) {
    const first = Number(batch.firstOffset)
    next = Math.max(next, first + batch.lastOffsetDelta + 1)
    if ((batch.attributes & controlBit) !== 0) continue
    const isAppendTime = (batch.attributes & appendTimeBit) !== 0
    for (const record of batch.records) {
      const offset = first + record.offsetDelta
      if (offset < from) continue
      const timestamp = Number(isAppendTime ? batch.maxTimestamp : batch.firstTimestamp + record.timestampDelta)
      messages.push({
        offset,
        timestamp,
        key: text(record.key),
        value: record.value ?? Buffer.alloc(0),
        headers: headersOf(record.headers),
      })
    }
  }
  return { messages, next }
}

const text = (bytes: Buffer | null): string => bytes?.toString('utf8') ?? ''

const headersOf = (entries: Batches[number]['records'][number]['headers']): Readonly<Record<string, string>> =>
  Object.fromEntries(entries.map(([name, value]) => [text(name), text(value)]))
