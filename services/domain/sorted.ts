/**
 * Return the first index from 0 to `length` at which a condition is true; `length` if it is true nowhere. The condition must
 * be true at every index after the first one. The search is binary.
 */
export const firstIndex = (length: number, holdsAt: (index: number) => boolean): number => {
  let low = 0
  let high = length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (holdsAt(middle)) high = middle
    else low = middle + 1
  }
  return low
}

/** Return the index of the first value at or above a limit, in ascending values; their number if all are below. */
export const firstIndexFrom = (values: ArrayLike<number>, limit: number): number =>
  firstIndex(values.length, index => (values[index] as number) >= limit)

/** Return the index of the first value above a limit, in ascending values; their number if none is above. */
export const firstIndexAbove = (values: ArrayLike<number>, limit: number): number =>
  firstIndex(values.length, index => (values[index] as number) > limit)
