/** Return the median of the first `count` values of a buffer; 0 for none. Reorders the buffer. */
export const medianOf = (buffer: Float64Array, count: number): number => {
  if (count === 0) return 0
  const sorted = buffer.subarray(0, count)
  if (count <= 16) insertionSort(sorted)
  else sorted.sort()
  const middle = count >> 1
  return count % 2 === 1
    ? (sorted[middle] as number)
    : ((sorted[middle - 1] as number) + (sorted[middle] as number)) / 2
}

const insertionSort = (values: Float64Array): void => {
  for (let index = 1; index < values.length; index += 1) {
    const value = values[index] as number
    let gap = index
    while (gap > 0 && (values[gap - 1] as number) > value) {
      values[gap] = values[gap - 1] as number
      gap -= 1
    }
    values[gap] = value
  }
}

/** Scale on which spikes weigh less: z = asinh((price − centre) / spread). */
export type PriceScale = { readonly centre: number; readonly spread: number }

/** Factor from the median absolute deviation to the standard deviation of normal values. */
const normalMadFactor = 1.4826

/**
 * Return the median of prices and their spread: the median absolute deviation, or the mean one if more than half of the
 * prices are equal.
 * `spread` is 0 if all prices are equal. Both have the unit of the prices.
 */
export const scaleOf = (prices: Float64Array): PriceScale => {
  const buffer = prices.slice()
  const centre = medianOf(buffer, buffer.length)
  let sum = 0
  for (let index = 0; index < prices.length; index += 1) {
    const distance = Math.abs((prices[index] as number) - centre)
    buffer[index] = distance
    sum += distance
  }
  const mean = sum / Math.max(1, prices.length)
  const medianDeviation = medianOf(buffer, buffer.length) * normalMadFactor
  // A market with mostly constant prices is measured by its other prices.
  return { centre, spread: medianDeviation > mean / 5 ? medianDeviation : mean }
}

/**
 * Solve a symmetric positive definite system of order `size` by Cholesky's method. `matrix` contains the lower half,
 * row by row. Both arguments are overwritten; `vector` becomes the solution.
 */
export const solveSymmetric = (matrix: Float64Array, vector: Float64Array, size: number): void => {
  for (let row = 0; row < size; row += 1) {
    for (let column = 0; column <= row; column += 1) {
      let sum = matrix[row * size + column] as number
      for (let inner = 0; inner < column; inner += 1)
        sum -= (matrix[row * size + inner] as number) * (matrix[column * size + inner] as number)
      matrix[row * size + column] =
        row === column ? Math.sqrt(Math.max(sum, 1e-12)) : sum / (matrix[column * size + column] as number)
    }
  }
  for (let row = 0; row < size; row += 1) {
    let sum = vector[row] as number
    for (let inner = 0; inner < row; inner += 1)
      sum -= (matrix[row * size + inner] as number) * (vector[inner] as number)
    vector[row] = sum / (matrix[row * size + row] as number)
  }
  for (let row = size - 1; row >= 0; row -= 1) {
    let sum = vector[row] as number
    for (let inner = row + 1; inner < size; inner += 1)
      sum -= (matrix[inner * size + row] as number) * (vector[inner] as number)
    vector[row] = sum / (matrix[row * size + row] as number)
  }
}

/** Return the ranks of values from 0. Equal values share the mean of their ranks. */
const ranksOf = (values: readonly number[]): Float64Array => {
  const order = values.map((_, index) => index).sort((a, b) => (values[a] as number) - (values[b] as number))
  const ranks = new Float64Array(values.length)
  for (let first = 0; first < order.length; ) {
    let end = first + 1
    while (end < order.length && values[order[end] as number] === values[order[first] as number]) end += 1
    for (let index = first; index < end; index += 1) ranks[order[index] as number] = (first + end - 1) / 2
    first = end
  }
  return ranks
}

/** Return Spearman's rank correlation of two lists of equal length, −1 … 1; 0 if one of them is constant. */
export const rankCorrelation = (valuesA: readonly number[], valuesB: readonly number[]): number => {
  const [ranksA, ranksB] = [ranksOf(valuesA), ranksOf(valuesB)]
  const mean = (valuesA.length - 1) / 2
  let [covariance, varianceA, varianceB] = [0, 0, 0]
  for (let index = 0; index < valuesA.length; index += 1) {
    const [deviationA, deviationB] = [(ranksA[index] as number) - mean, (ranksB[index] as number) - mean]
    covariance += deviationA * deviationB
    varianceA += deviationA * deviationA
    varianceB += deviationB * deviationB
  }
  return varianceA === 0 || varianceB === 0 ? 0 : covariance / Math.sqrt(varianceA * varianceB)
}
