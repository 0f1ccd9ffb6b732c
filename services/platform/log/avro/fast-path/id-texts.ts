import { type AvroReader, mixBits, readDigits } from './avro-bytes.ts'

/** Number of cache entries, a power of two. 65,536 ids and their texts use 6 MB. */
const cacheSize = 65_536

/**
 * Create a reader of ids that messages contain as 12 bytes. Most ids recur in nearly every message, so each cache entry
 * has the text of the id that was last read there. A cached text takes half the time of a new one. A later map look-up
 * is also faster, because the text's hash is known. The reader throws a RangeError if the message ends within an id.
 */
export const idTexts = (prefix: string): ((from: AvroReader) => string) => {
  const words = new Int32Array(cacheSize * 3)
  const texts = new Array<string>(cacheSize).fill(`${prefix}${'0'.repeat(24)}`)
  return from => {
    const { bytes, at } = from
    const high = wordAt(bytes, at)
    const middle = wordAt(bytes, at + 4)
    const low = wordAt(bytes, at + 8)
    const entry = mixBits(middle, low) & (cacheSize - 1)
    const first = entry * 3
    if (words[first] === high && words[first + 1] === middle && words[first + 2] === low && at + 12 <= bytes.length) {
      from.at = at + 12
      return texts[entry] as string
    }
    const text = `${prefix}${readDigits(from)}`
    words[first] = high
    words[first + 1] = middle
    words[first + 2] = low
    texts[entry] = text
    return text
  }
}

const wordAt = (bytes: Uint8Array, at: number): number =>
  ((bytes[at] as number) << 24) |
  ((bytes[at + 1] as number) << 16) |
  ((bytes[at + 2] as number) << 8) |
  (bytes[at + 3] as number)
