/** Return the value that a share of the values does not exceed; undefined without values. */
export const quantile = (values: readonly number[], share: number): number | undefined => {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]
}

/** Return the median. It is the mean of the two middle values if their number is even. */
export const medianOf = (values: readonly number[]): number => {
  const sorted = values.toSorted((a, b) => a - b)
  const [low, high] = [sorted[(sorted.length - 1) >> 1] ?? 0, sorted[sorted.length >> 1] ?? 0]
  return (low + high) / 2
}

/** Return the difference between the largest and the smallest value, in percent of the median. */
export const spreadOf = (values: readonly number[]): number =>
  ((Math.max(...values) - Math.min(...values)) / medianOf(values)) * 100
