import { writeExact } from './exact-json.js'

/** Limits of the chunks of an upload. */
export type ChunkOptions = {
  /** Records in a chunk, at most 10,000. Default: 5,000. */
  readonly chunkRecords?: number
}

/** Bytes of a chunk, half of the limit of the service. */
const maxChunkBytes = 8 * 1024 * 1024

/** Cut records into NDJSON texts of bounded length. One chunk is in memory at a time. */
export async function* cutRecords(
  records: Iterable<unknown> | AsyncIterable<unknown>,
  { chunkRecords = 5_000 }: ChunkOptions,
): AsyncGenerator<string> {
  if (!Number.isInteger(chunkRecords) || chunkRecords < 1 || chunkRecords > 10_000)
    throw new RangeError('chunkRecords must be an integer from 1 to 10,000.')
  let lines: string[] = []
  let bytes = 0
  for await (const record of records) {
    const line = `${writeExact(record)}\n`
    const size = Buffer.byteLength(line)
    if (lines.length === chunkRecords || (lines.length > 0 && bytes + size > maxChunkBytes)) {
      yield lines.join('')
      lines = []
      bytes = 0
    }
    lines.push(line)
    bytes += size
  }
  if (lines.length > 0) yield lines.join('')
}
