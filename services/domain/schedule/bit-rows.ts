/** Rows of flags, 32 per word, so that many are examined together. */
export type BitRows = { readonly wordsPerRow: number; readonly bits: Int32Array }

/** Create rows with all flags cleared. */
export const createBitRows = (rows: number, columns: number): BitRows => {
  const wordsPerRow = (columns + 31) >>> 5
  return { wordsPerRow, bits: new Int32Array(rows * wordsPerRow) }
}

/** Set one flag of a row. */
export const setBit = ({ wordsPerRow, bits }: BitRows, row: number, column: number, isSet: boolean): void => {
  const word = row * wordsPerRow + (column >>> 5)
  const flag = 1 << (column & 31)
  bits[word] = isSet ? (bits[word] as number) | flag : (bits[word] as number) & ~flag
}

/**
 * Append to `columns` the flags of a row from `startColumn` to `endColumn` that `seenBits` lacks, ascending, and set
 * them in `seenBits`.
 * The row has no other flags set.
 */
export const collectUnseen = (
  { wordsPerRow, bits }: BitRows,
  row: number,
  startColumn: number,
  endColumn: number,
  seenBits: Int32Array,
  columns: number[],
): void => {
  const rowStart = row * wordsPerRow
  const end = (endColumn + 31) >>> 5
  for (let word = startColumn >>> 5; word < end; word += 1) {
    let unseen = (bits[rowStart + word] as number) & ~(seenBits[word] as number)
    if (unseen === 0) continue
    seenBits[word] = (seenBits[word] as number) | unseen
    while (unseen !== 0) {
      const lowest = unseen & -unseen
      columns.push(word * 32 + 31 - Math.clz32(lowest))
      unseen ^= lowest
    }
  }
}

/** Set some flags of one row. */
export const setBits = (row: Int32Array, columns: readonly number[]): void => {
  for (const column of columns) row[column >>> 5] = (row[column >>> 5] as number) | (1 << (column & 31))
}

/** Clear one flag of one row. */
export const clearBit = (row: Int32Array, column: number): void => {
  row[column >>> 5] = (row[column >>> 5] as number) & ~(1 << (column & 31))
}

/**
 * Return the first column from `startColumn` to `endColumn` that is set in both a row and `mask`; −1 if there is none.
 * The row has no flags set from `endColumn` on.
 */
export const firstCommonColumn = (
  { wordsPerRow, bits }: BitRows,
  row: number,
  startColumn: number,
  endColumn: number,
  mask: Int32Array,
): number => {
  const rowStart = row * wordsPerRow
  const end = (endColumn + 31) >>> 5
  let lowMask = -1 << (startColumn & 31)
  for (let word = startColumn >>> 5; word < end; word += 1) {
    const common = (bits[rowStart + word] as number) & (mask[word] as number) & lowMask
    if (common !== 0) return word * 32 + 31 - Math.clz32(common & -common)
    lowMask = -1
  }
  return -1
}
