import { type AvroReader, mixBits, readDigits } from './avro-bytes.ts'

/** A power of two; 65,536 ids and their texts take 6 MB. */
const cacheSize = 65_536

/**
 * Make a reader of ids that stand in messages as 12 bytes. Ids come again with almost every message: each place holds the text of the id
 * that was last read there. Finding it takes half the time of making it, and a third together with a look-up, for which its hash is known.
 * The reader throws a RangeError where the message ends within an id.
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
