/** Readings of a meter at ascending or descending starts, in typed arrays. */
export type TimeList = {
  /** Append a reading whose start is beyond all others. Returns the memory for it in bytes. */
  readonly append: (start: number, end: number, line: number) => number
  /** Return the line of a reading with these times; null if there is none. `sign` is -1 if the starts descend. */
  readonly find: (start: number, end: number, sign: 1 | -1) => number | null
}

/** Start, end and line of a reading. */
const columns = 3
/** Readings of the first array. Each further one has twice as many, up to the maximum. */
const [minReadings, maxReadings] = [16, 4_096]

/** Return the position of the last item at or before a start; -1 if there is none. */
const positionOf = (count: number, startAt: (position: number) => number, start: number, sign: 1 | -1): number => {
  let [low, high] = [0, count]
  while (low < high) {
    const middle = (low + high) >> 1
    if (startAt(middle) * sign <= start * sign) low = middle + 1
    else high = middle
  }
  return low - 1
}

/** Create a list. It grows by arrays, so that no reading is copied. */
export const timeList = (): TimeList => {
  const arrays: Float64Array[] = []
  let current = new Float64Array(0)
  let used = 0
  return {
    append: (start, end, line) => {
      const isFull = used === current.length
      if (isFull) {
        const readings = Math.min(maxReadings, Math.max(minReadings, (current.length / columns) * 2))
        current = new Float64Array(readings * columns)
        arrays.push(current)
        used = 0
      }
      current[used] = start
      current[used + 1] = end
      current[used + 2] = line
      used += columns
      return isFull ? current.byteLength : 0
    },
    find: (start, end, sign) => {
      const array = arrays[positionOf(arrays.length, index => arrays[index]?.[0] ?? 0, start, sign)]
      if (array === undefined) return null
      const count = (array === current ? used : array.length) / columns
      const at = positionOf(count, index => array[index * columns] ?? 0, start, sign) * columns
      return array[at] === start && array[at + 1] === end ? (array[at + 2] ?? null) : null
    },
  }
}
