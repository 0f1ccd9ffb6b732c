/** Lines by the hash of a key, in typed arrays. */
export type HashTable = {
  /**
   * Add a key of safe integers and texts with its line. Returns the line of an earlier equal key; null if there is none.
   * All keys of a table have the same number of integers and texts. Null is another text than the empty one.
   */
  readonly add: (integers: readonly number[], texts: readonly (string | null)[], line: number) => number | null
  /** Memory of the table in bytes after the next key, which can double it. */
  readonly bytes: () => number
}

const mixHigh = (hash: number, word: number): number => {
  const mixed = Math.imul(hash ^ word, 0x85eb_ca6b)
  return mixed ^ (mixed >>> 13)
}

const mixLow = (hash: number, word: number): number => {
  const mixed = Math.imul(hash ^ word, 0xc2b2_ae35)
  return mixed ^ (mixed >>> 16)
}

/** Return two independent hashes of 32 bits of a key. Mixing as in MurmurHash3. */
const hashesOf = (integers: readonly number[], texts: readonly (string | null)[]): readonly [number, number] => {
  let [high, low] = [0x9747_b28c, 0x3c6e_f372]
  for (const integer of integers) {
    const upper = Math.floor(integer / 2 ** 32)
    high = mixHigh(mixHigh(high, integer), upper)
    low = mixLow(mixLow(low, integer), upper)
  }
  for (const text of texts) {
    const length = text === null ? -1 : text.length
    high = mixHigh(high, length)
    low = mixLow(low, length)
    // A word has two characters of 16 bits. The length tells a single last one from a pair.
    for (let index = 0; index < length; index += 2) {
      const second = index + 1 < length ? (text as string).charCodeAt(index + 1) : 0
      const word = ((text as string).charCodeAt(index) << 16) | second
      high = mixHigh(high, word)
      low = mixLow(low, word)
    }
  }
  high = Math.imul(high ^ (low >>> 15), 0x27d4_eb2f)
  low = Math.imul(low ^ (high >>> 13), 0x1656_67b1)
  return [high >>> 0, low >>> 0]
}

const firstSize = 1_024
const columns = 3
/** Share of used slots above which the table doubles. */
const maxLoad = 0.6

/** Open a table. Keys with equal hashes of 64 bits count as equal. Lines are from 1 to 4,294,967,295. */
export const hashTable = (): HashTable => {
  // Each slot: line (0 if free), then both hashes.
  let slots = new Uint32Array(firstSize * columns)
  let size = firstSize
  let count = 0
  const slotOf = (high: number, low: number): number => {
    let slot = (high & (size - 1)) * columns
    while (slots[slot] !== 0 && (slots[slot + 1] !== high || slots[slot + 2] !== low)) {
      slot = (slot + columns) % slots.length
    }
    return slot
  }
  const fill = (slot: number, line: number, high: number, low: number): void => {
    slots[slot] = line
    slots[slot + 1] = high
    slots[slot + 2] = low
  }
  const grow = (): void => {
    const before = slots
    size *= 2
    slots = new Uint32Array(size * columns)
    for (let slot = 0; slot < before.length; slot += columns) {
      const [line, high, low] = [before[slot] as number, before[slot + 1] as number, before[slot + 2] as number]
      if (line !== 0) fill(slotOf(high, low), line, high, low)
    }
  }
  return {
    add: (integers, texts, line) => {
      const [high, low] = hashesOf(integers, texts)
      const slot = slotOf(high, low)
      const earlier = slots[slot] as number
      if (earlier !== 0) return earlier
      fill(slot, line, high, low)
      count += 1
      if (count > size * maxLoad) grow()
      return null
    },
    bytes: () => (count + 1 > size * maxLoad ? 2 * slots.byteLength : slots.byteLength),
  }
}
