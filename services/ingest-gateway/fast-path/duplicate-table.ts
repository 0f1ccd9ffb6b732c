import type { IdBits } from '../../platform/log/avro/fast-path/avro-bytes.ts'

/** The ids of a submission's records, to find repeats by. */
export type DuplicateTable = {
  /** Note a record by its id. Gives the number of the record that has this id already, 0 for none. */
  readonly note: (id: IdBits, recordNumber: number) => number
}

/** High, middle and low word of an id, and the number of its record. */
const stride = 4

/**
 * Create a table for at most so many records; it is never more than half full. Each table has memory of its own, because submissions are read
 * in turns, beside each other.
 */
export const duplicateTable = (maxRecords: number): DuplicateTable => {
  const slotCount = 2 ** Math.ceil(Math.log2(maxRecords * 2 + 2))
  const table = new Int32Array(slotCount * stride)
  return {
    note: ({ high, middle, low }, recordNumber) => {
      for (let slot = high & (slotCount - 1); ; slot = (slot + 1) & (slotCount - 1)) {
        const at = slot * stride
        const number = table[at + 3] as number
        if (number === 0) {
          table[at] = high
          table[at + 1] = middle
          table[at + 2] = low
          table[at + 3] = recordNumber
          return 0
        }
        if (table[at] === high && table[at + 1] === middle && table[at + 2] === low) return number
      }
    },
  }
}
