/** Rows of flags, 32 to a word, so that many are looked at together. */
export type BitRows = { readonly words: number; readonly bits: Int32Array }

/** Give as many rows, all of their flags down. */
export const bitRows = (rows: number, columns: number): BitRows => {
  const words = (columns + 31) >>> 5
  return { words, bits: new Int32Array(rows * words) }
}

/** Set one flag of a row. */
export const setBit = ({ words, bits }: BitRows, row: number, column: number, isUp: boolean): void => {
  const word = row * words + (column >>> 5)
  const flag = 1 << (column & 31)
  bits[word] = isUp ? (bits[word] as number) | flag : (bits[word] as number) & ~flag
}

/**
 * Append the columns from `first` up to `last` that are up in a row and not in `seen`, which is one row, to a list, ascending, and put them
 * up in `seen`. No other column of that row is up.
 */
export const takeUnseen = ({ words, bits }: BitRows, row: number, first: number, last: number, seen: Int32Array, list: number[]): void => {
  const start = row * words
  const end = (last + 31) >>> 5
  for (let word = first >>> 5; word < end; word += 1) {
    let fresh = (bits[start + word] as number) & ~(seen[word] as number)
    if (fresh === 0) continue
    seen[word] = (seen[word] as number) | fresh
    while (fresh !== 0) {
      const lowest = fresh & -fresh
      list.push(word * 32 + 31 - Math.clz32(lowest))
      fresh ^= lowest
    }
  }
}

/** Put some columns up in one row. */
export const setBits = (row: Int32Array, columns: readonly number[]): void => {
  for (const column of columns) row[column >>> 5] = (row[column >>> 5] as number) | (1 << (column & 31))
}

/** Put one column of one row down. */
export const clearBit = (row: Int32Array, column: number): void => {
  row[column >>> 5] = (row[column >>> 5] as number) & ~(1 << (column & 31))
}

/**
 * Give the first column from `first` up to `last` that is up in a row and in `mask`, which is one row; −1 when there is none. No column from
 * `last` on is up in that row.
 */
export const firstCommon = ({ words, bits }: BitRows, row: number, first: number, last: number, mask: Int32Array): number => {
  const start = row * words
  const end = (last + 31) >>> 5
  let from = -1 << (first & 31)
  for (let word = first >>> 5; word < end; word += 1) {
    const common = (bits[start + word] as number) & (mask[word] as number) & from
    if (common !== 0) return word * 32 + 31 - Math.clz32(common & -common)
    from = -1
  }
  return -1
}
