import { type IdBits, mixBits } from './avro-bytes.ts'

/**
 * Table of locations and devices by the bits of their ids. It can lose an object, and then finds it again by its id.
 */
export type IdTable<T> = {
  readonly get: (isDevice: boolean, bits: Int32Array) => T | undefined
  /** Add an object, or replace the one with the same id. `size` is the number of all objects. */
  readonly put: (object: T, size: number) => void
}

const noBits: IdBits = { high: 0, middle: 0, low: 0 }

/** Return the bits of an id's 24 digits; zeros if the text is not an id. */
export const bitsOf = (id: string): IdBits => {
  const digits = id.slice(4)
  if (!/^[0-9a-f]{24}$/.test(digits)) return noBits
  const word = (from: number): number => Number.parseInt(digits.slice(from, from + 8), 16) | 0
  return { high: word(0), middle: word(8), low: word(16) }
}

const word = (bits: number): string => (bits >>> 0).toString(16).padStart(8, '0')

/** Return the id of a location or device from its bits. */
export const idOf = (isDevice: boolean, bits: Int32Array): string =>
  `${isDevice ? 'dev' : 'loc'}_${word(bits[0] as number)}${word(bits[1] as number)}${word(bits[2] as number)}`

/** Slots in which an object can be, from the slot of its bits on. */
const probeLength = 4

/** Create a table over the objects that `known` finds by id. It grows to four slots per object. */
export const idTable = <T extends IdBits & { readonly id: string; readonly isDevice: boolean }>(
  known: (id: string) => T | undefined,
): IdTable<T> => {
  let slots: (T | undefined)[] = new Array(1024).fill(undefined)

  const slotOf = (middle: number, low: number): number => mixBits(middle, low) & (slots.length - 1)

  const insert = (object: T): void => {
    const slot = slotOf(object.middle, object.low)
    let free = slot
    for (let index = slot + probeLength - 1; index >= slot; index -= 1) {
      const entry = slots[index & (slots.length - 1)]
      if (entry === undefined || entry.id === object.id) free = index & (slots.length - 1)
      if (entry?.id === object.id) break
    }
    slots[free] = object
  }

  return {
    get: (isDevice, bits) => {
      const high = bits[0] as number
      const middle = bits[1] as number
      const low = bits[2] as number
      const slot = slotOf(middle, low)
      for (let index = slot; index < slot + probeLength; index += 1) {
        const entry = slots[index & (slots.length - 1)]
        if (entry?.low === low && entry.middle === middle && entry.high === high && entry.isDevice === isDevice)
          return entry
      }
      const found = known(idOf(isDevice, bits))
      if (found !== undefined) insert(found)
      return found
    },
    put: (object, size) => {
      // `get` adds the other objects again when they are needed.
      if (size * probeLength > slots.length) slots = new Array(slots.length * 2).fill(undefined)
      insert(object)
    },
  }
}
