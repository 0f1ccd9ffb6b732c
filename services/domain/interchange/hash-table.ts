/** Lines by the hash of a text, in typed arrays. */
export type HashTable = {
  /** Add a text with its line. Returns the line of an earlier equal text; null if there is none. */
  readonly add: (text: string, line: number) => number | null
  /** Memory of the table in bytes after the next text, which can double it. */
  readonly bytes: () => number
}

/** Return two independent hashes of 32 bits of a text. Mixing as in MurmurHash3. */
const hashesOf = (text: string): readonly [number, number] => {
  let [high, low] = [0x9747_b28c, 0x3c6e_f372]
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index)
    high = Math.imul(high ^ code, 0x85eb_ca6b)
    high ^= high >>> 13
    low = Math.imul(low ^ code, 0xc2b2_ae35)
    low ^= low >>> 16
  }
  high = Math.imul(high ^ (low >>> 15), 0x27d4_eb2f)
  low = Math.imul(low ^ (high >>> 13), 0x1656_67b1)
  return [high >>> 0, low >>> 0]
}

const firstSize = 1_024
const columns = 3
/** Share of used slots above which the table doubles. */
const maxLoad = 0.6

/** Open a table. Texts with equal hashes of 64 bits count as equal. Lines are from 1 to 4,294,967,295. */
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
  const grow = (): void => {
    const before = slots
    size *= 2
    slots = new Uint32Array(size * columns)
    for (let slot = 0; slot < before.length; slot += columns) {
      if (before[slot] === 0) continue
      slots.set(before.subarray(slot, slot + columns), slotOf(before[slot + 1] as number, before[slot + 2] as number))
    }
  }
  return {
    add: (text, line) => {
      const [high, low] = hashesOf(text)
      const slot = slotOf(high, low)
      const earlier = slots[slot] as number
      if (earlier !== 0) return earlier
      slots.set([line, high, low], slot)
      count += 1
      if (count > size * maxLoad) grow()
      return null
    },
    bytes: () => (count + 1 > size * maxLoad ? 2 * slots.byteLength : slots.byteLength),
  }
}
