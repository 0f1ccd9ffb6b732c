import { callIdentities } from './call-identities.js'
import { writeExact } from './exact-json.js'

/** Limits of the chunks of an upload. */
export type ChunkOptions = {
  /** Records in a chunk, at most 10,000. Default: 5,000. */
  readonly chunkRecords?: number
}

/** Records as NDJSON. `duplicates` are the errors of records that the chunk does not have, by their number in the chunk. */
type Chunk = { readonly body: string; readonly duplicates: ReadonlyMap<number, string> }

/** Bytes of a chunk, half of the limit of the service. */
const maxChunkBytes = 8 * 1024 * 1024

/** Return the error of a record that has the identity of an earlier one and another value. */
const duplicateError = (position: number, first: number): string =>
  `duplicate_row: Record ${position} of the call has the meter, times and references of record ${first}, and another value. Send one of them.`

/** Return the line in place of a duplicate: the service refuses it, so that the other records keep their numbers. */
const duplicateLine = (record: unknown, error: string): string => {
  const reference: unknown = Reflect.get(record as object, 'record_reference_id')
  const named = typeof reference === 'string' ? { record_reference_id: reference } : {}
  return `${JSON.stringify({ ...named, duplicate_row: error })}\n`
}

/**
 * Cut records into NDJSON texts of bounded length. One chunk is in memory at a time. A record with the identity of an
 * earlier record and another value is a duplicate.
 */
export async function* cutRecords(
  records: Iterable<unknown> | AsyncIterable<unknown>,
  { chunkRecords = 5_000 }: ChunkOptions,
): AsyncGenerator<Chunk> {
  if (!Number.isInteger(chunkRecords) || chunkRecords < 1 || chunkRecords > 10_000)
    throw new RangeError('chunkRecords must be an integer from 1 to 10,000.')
  const identities = callIdentities()
  let position = 0
  let lines: string[] = []
  let duplicates = new Map<number, string>()
  let bytes = 0
  for await (const record of records) {
    position += 1
    const first = identities.note(record)
    const error = first === null ? null : duplicateError(position, first)
    const line = error === null ? `${writeExact(record)}\n` : duplicateLine(record, error)
    const size = Buffer.byteLength(line)
    if (lines.length === chunkRecords || (lines.length > 0 && bytes + size > maxChunkBytes)) {
      yield { body: lines.join(''), duplicates }
      lines = []
      duplicates = new Map()
      bytes = 0
    }
    lines.push(line)
    if (error !== null) duplicates.set(lines.length, error)
    bytes += size
  }
  if (lines.length > 0) yield { body: lines.join(''), duplicates }
}

type FailedRecord = { readonly record_num: number; readonly error: string }

/** Return the receipt of a chunk with the errors of its duplicates. */
export const explainDuplicates = (receipt: unknown, { duplicates }: Chunk): unknown => {
  if (duplicates.size === 0) return receipt
  const { failed_records: failed } = receipt as { readonly failed_records: readonly FailedRecord[] }
  const explained = failed.map(one => ({ ...one, error: duplicates.get(one.record_num) ?? one.error }))
  return { ...(receipt as object), failed_records: explained }
}
