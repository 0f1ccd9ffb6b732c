/** Give the median of the first `count` members of a buffer, which is reordered; 0 of none. */
export const medianOf = (buffer: Float64Array, count: number): number => {
  if (count === 0) return 0
  const sorted = buffer.subarray(0, count)
  if (count <= 16) sortFew(sorted)
  else sorted.sort()
  const middle = count >> 1
  return count % 2 === 1 ? (sorted[middle] as number) : ((sorted[middle - 1] as number) + (sorted[middle] as number)) / 2
}

const sortFew = (values: Float64Array): void => {
  for (let place = 1; place < values.length; place += 1) {
    const value = values[place] as number
    let hole = place
    while (hole > 0 && (values[hole - 1] as number) > value) {
      values[hole] = values[hole - 1] as number
      hole -= 1
    }
    values[hole] = value
  }
}

/** A scale on which spikes weigh less: z = asinh((price − centre) / spread). */
export type Scale = { readonly centre: number; readonly spread: number }

/** For normal values the median of absolute deviations × this is their standard deviation. */
const normalMad = 1.4826

/**
 * Measure the median of prices and their spread, by the median of absolute deviations, or their mean where more than half are equal.
 * `spread` is 0 when all are equal. Both go with the unit of the prices.
 */
export const scaleOf = (prices: Float64Array): Scale => {
  const buffer = prices.slice()
  const centre = medianOf(buffer, buffer.length)
  let sum = 0
  for (let place = 0; place < prices.length; place += 1) {
    const distance = Math.abs((prices[place] as number) - centre)
    buffer[place] = distance
    sum += distance
  }
  const mean = sum / Math.max(1, prices.length)
  const mad = medianOf(buffer, buffer.length) * normalMad
  // A market that stands still most of the time is measured by the times when it does not.
  return { centre, spread: mad > mean / 5 ? mad : mean }
}

/**
 * Solve a symmetric positive definite system of order `size`, of which the lower half is given row by row, by Cholesky's method. Both
 * arguments are overwritten; the solution stands in `right`.
 */
export const solveSymmetric = (matrix: Float64Array, right: Float64Array, size: number): void => {
  for (let row = 0; row < size; row += 1) {
    for (let column = 0; column <= row; column += 1) {
      let sum = matrix[row * size + column] as number
      for (let k = 0; k < column; k += 1) sum -= (matrix[row * size + k] as number) * (matrix[column * size + k] as number)
      matrix[row * size + column] = row === column ? Math.sqrt(Math.max(sum, 1e-12)) : sum / (matrix[column * size + column] as number)
    }
  }
  for (let row = 0; row < size; row += 1) {
    let sum = right[row] as number
    for (let k = 0; k < row; k += 1) sum -= (matrix[row * size + k] as number) * (right[k] as number)
    right[row] = sum / (matrix[row * size + row] as number)
  }
  for (let row = size - 1; row >= 0; row -= 1) {
    let sum = right[row] as number
    for (let k = row + 1; k < size; k += 1) sum -= (matrix[k * size + row] as number) * (right[k] as number)
    right[row] = sum / (matrix[row * size + row] as number)
  }
}

/** Ranks of values from 0 on; equal ones share the mean of theirs. */
const ranksOf = (values: readonly number[]): Float64Array => {
  const order = values.map((_, place) => place).sort((a, b) => (values[a] as number) - (values[b] as number))
  const ranks = new Float64Array(values.length)
  for (let first = 0; first < order.length; ) {
    let end = first + 1
    while (end < order.length && values[order[end] as number] === values[order[first] as number]) end += 1
    for (let place = first; place < end; place += 1) ranks[order[place] as number] = (first + end - 1) / 2
    first = end
  }
  return ranks
}

/** Give Spearman's rank correlation of two lists of equal length, −1 … 1; 0 where one of them does not vary. */
export const rankCorrelation = (one: readonly number[], other: readonly number[]): number => {
  const [a, b] = [ranksOf(one), ranksOf(other)]
  const mean = (one.length - 1) / 2
  let [both, ofA, ofB] = [0, 0, 0]
  for (let place = 0; place < one.length; place += 1) {
    const [x, y] = [(a[place] as number) - mean, (b[place] as number) - mean]
    both += x * y
    ofA += x * x
    ofB += y * y
  }
  return ofA === 0 || ofB === 0 ? 0 : both / Math.sqrt(ofA * ofB)
}
