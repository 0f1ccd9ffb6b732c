import type { IdBits } from '../platform/log/avro-bytes.ts'

/** The ids of a submission's records, to find repeats by. */
export type TwinTable = {
  /** Note a record by its id. Gives the number of the record that has this id already, 0 for none. */
  readonly note: (id: IdBits, recordNumber: number) => number
}

/** High, middle and low word of an id, and the number of its record. */
const stride = 4

/** The memory of the last table, for the next one: new memory costs more than to clear this. */
let memory = new Int32Array(0)

/** Make a table for at most so many records, which is never more than half full; the table made before it is of no use any more. */
export const twinTable = (most: number): TwinTable => {
  const slots = 2 ** Math.ceil(Math.log2(most * 2 + 2))
  if (memory.length < slots * stride) memory = new Int32Array(slots * stride)
  else memory.fill(0, 0, slots * stride)
  const table = memory
  return {
    note: ({ high, middle, low }, recordNumber) => {
      for (let slot = high & (slots - 1); ; slot = (slot + 1) & (slots - 1)) {
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
