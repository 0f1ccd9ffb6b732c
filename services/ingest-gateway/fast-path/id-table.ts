import { type IdBits, mixBits } from '../../platform/log/avro/fast-path/avro-bytes.ts'

/** Locations and devices by the bits of their ids. It may forget what it holds, and then asks for it by the id. */
export type IdTable<T> = {
  readonly get: (isDevice: boolean, bits: Int32Array) => T | undefined
  /** Put an object in, in place of one of the same id; `size`: how many there are by now. */
  readonly put: (object: T, size: number) => void
}

const noBits: IdBits = { high: 0, middle: 0, low: 0 }

/** The bits of an id's 24 digits; zeros for a text that is no id. */
export const bitsOf = (id: string): IdBits => {
  const digits = id.slice(4)
  if (!/^[0-9a-f]{24}$/.test(digits)) return noBits
  const word = (from: number): number => Number.parseInt(digits.slice(from, from + 8), 16) | 0
  return { high: word(0), middle: word(8), low: word(16) }
}

const word = (bits: number): string => (bits >>> 0).toString(16).padStart(8, '0')

/** The id of a location or device of some bits. */
export const idOf = (isDevice: boolean, bits: Int32Array): string =>
  `${isDevice ? 'dev' : 'loc'}_${word(bits[0] as number)}${word(bits[1] as number)}${word(bits[2] as number)}`

/** An object is looked for in so many places from the one that its bits name. */
const probeLength = 4

/** Make a table over the objects that `known` finds by their ids; it grows to four places an object. */
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
      // What was held finds its place again when it is next looked for.
      if (size * probeLength > slots.length) slots = new Array(slots.length * 2).fill(undefined)
      insert(object)
    },
  }
}
