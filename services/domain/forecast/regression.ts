import { type Blocks, hoursPerBlock } from './blocks.ts'
import { describeHour, featureCount, type OriginFacts, profileBase } from './features.ts'
import { solveSymmetric } from './statistics.ts'

/** Days that are learned from, at most; each window gives a forecast, and their mean holds. */
const trainingWindowDays: readonly number[] = [182, 364]
/** Weeks that the first day to learn from is described by. */
export const warmUpDays = 21
/** Days without which nothing is learned: the profile holds alone. */
export const minTrainingDays = 35
/** How much the diagonal is loaded at a full year; fewer days are trusted less. */
const ridgeLoad = 0.05
const daysPerYear = 364
/** Misses above this multiple of the mean one weigh as much as if they were at it: single wild days and holidays do not lead. */
const maxResidualRatio = 1.5

const columnCount = featureCount

/** Room that is used again for each hour: a row of features and a target for each day, and the normal equations. */
export type RegressionWorkspace = {
  readonly rows: Float64Array
  readonly targets: Float64Array
  readonly gram: Float64Array
  readonly vector: Float64Array
  readonly matrix: Float64Array
  readonly weights: Float64Array
  readonly residuals: Float64Array
}

export const createWorkspace = (days: number): RegressionWorkspace => ({
  rows: new Float64Array(days * columnCount),
  targets: new Float64Array(days),
  gram: new Float64Array(columnCount * columnCount),
  vector: new Float64Array(columnCount),
  matrix: new Float64Array(columnCount * columnCount),
  weights: new Float64Array(columnCount),
  residuals: new Float64Array(days),
})

/** What few days cannot tell is left to the profile: the diagonal is loaded, that of the constant least. */
const solve = ({ gram, vector, matrix, weights }: RegressionWorkspace, count: number): void => {
  matrix.set(gram)
  weights.set(vector)
  const diagonalLoad = ridgeLoad * Math.sqrt(daysPerYear / count)
  for (let index = 0; index < columnCount; index += 1) {
    const diagonalIndex = index * columnCount + index
    matrix[diagonalIndex] =
      (matrix[diagonalIndex] as number) * (1 + (index === 0 ? diagonalLoad / 10 : diagonalLoad)) + 1e-9 * count
  }
  solveSymmetric(matrix, weights, columnCount)
}

const dot = (rows: Float64Array, start: number, weights: Float64Array): number => {
  let sum = 0
  for (let index = 0; index < columnCount; index += 1)
    sum += (rows[start + index] as number) * (weights[index] as number)
  return sum
}

/** Add a past day to the normal equations, with a weight. */
const addRow = ({ rows, targets, gram, vector }: RegressionWorkspace, row: number, weight: number): void => {
  const start = row * columnCount
  const target = targets[row] as number
  for (let line = 0; line < columnCount; line += 1) {
    const value = weight * (rows[start + line] as number)
    vector[line] = (vector[line] as number) + value * target
    for (let column = 0; column <= line; column += 1)
      gram[line * columnCount + column] =
        (gram[line * columnCount + column] as number) + value * (rows[start + column] as number)
  }
}

/**
 * Solve for the first `count` days so that large misses count by their size, not by its square: a step of reweighted least squares from the
 * plain solution. The equations stay as they were. Source: Huber (1964), https://doi.org/10.1214/aoms/1177703732.
 */
const solveRobust = (workspace: RegressionWorkspace, count: number): void => {
  const { rows, targets, gram, vector, weights, residuals } = workspace
  solve(workspace, count)
  let sum = 0
  for (let row = 0; row < count; row += 1) {
    const residual = Math.abs((targets[row] as number) - dot(rows, row * columnCount, weights))
    residuals[row] = residual
    sum += residual
  }
  const bound = (maxResidualRatio * sum) / count
  const [gramBefore, rightBefore] = [gram.slice(), vector.slice()]
  for (let row = 0; row < count; row += 1) {
    const residual = residuals[row] as number
    if (residual > bound) addRow(workspace, row, bound / residual - 1)
  }
  solve(workspace, count)
  gram.set(gramBefore)
  vector.set(rightBefore)
}

/** One hour of the day, so many days ahead (1 … 5); `facts` are those of every block. */
export type TrainingSet = {
  readonly blocks: Blocks
  readonly facts: readonly OriginFacts[]
  readonly daysAhead: number
  readonly hour: number
}

/** A forecast on the stabilised scale, and what the longest window misses on past days, by their age; NaN where it has none. */
export type FittedModel = { readonly value: number; readonly residuals: Float64Array }

/** Describe past days, the newest first, and solve at the end of each window; gives the mean of what the windows say of `asked`. */
const fitWindows = (
  { blocks, facts, daysAhead, hour }: TrainingSet,
  requestedFeatures: Float64Array,
  rowAges: number[],
  workspace: RegressionWorkspace,
): number => {
  const { days, scaled, known } = blocks
  const sums = { prediction: 0, windows: 0 }
  const solveWindow = (): void => {
    solveRobust(workspace, rowAges.length)
    sums.prediction += dot(requestedFeatures, 0, workspace.weights)
    sums.windows += 1
  }
  workspace.gram.fill(0)
  workspace.vector.fill(0)
  for (let block = days - 1; block - daysAhead >= warmUpDays && sums.windows < trainingWindowDays.length; block -= 1) {
    const index = block * hoursPerBlock + hour
    if (known[index] === 0) continue
    const row = rowAges.length
    const origin = block - daysAhead
    describeHour(
      blocks,
      facts[origin] as OriginFacts,
      { origin, block, hour },
      workspace.rows.subarray(row * columnCount, (row + 1) * columnCount),
    )
    workspace.targets[row] = (scaled[index] as number) - profileBase(blocks, origin, block, hour)
    addRow(workspace, row, 1)
    rowAges.push(days - 1 - block)
    if (rowAges.length === trainingWindowDays[sums.windows]) solveWindow()
  }
  if (rowAges.length > 0 && sums.windows < trainingWindowDays.length) solveWindow()
  return sums.prediction / Math.max(1, sums.windows)
}

/**
 * Learn by robust ridge regression what an hour so many days ahead stands above its profile, from how the last days stood above theirs,
 * and forecast it. The longest window is solved last: its weights tell what was missed on each of the last `errorDays` days.
 */
export const fitHour = (trainingSet: TrainingSet, errorDays: number, workspace: RegressionWorkspace): FittedModel => {
  const { blocks, facts, daysAhead, hour } = trainingSet
  const origin = blocks.days - 1
  const block = origin + daysAhead
  const requestedFeatures = new Float64Array(columnCount)
  describeHour(blocks, facts[origin] as OriginFacts, { origin, block, hour }, requestedFeatures)
  const rowAges: number[] = []
  const prediction = fitWindows(trainingSet, requestedFeatures, rowAges, workspace)
  const residuals = new Float64Array(errorDays).fill(Number.NaN)
  // Weights miss less on the days that they were learned from than on others, the more so the fewer those are.
  const unseenFactor = 1 + columnCount / Math.max(1, rowAges.length)
  for (const [row, age] of rowAges.entries()) {
    if (age >= errorDays) break
    residuals[age] =
      unseenFactor * ((workspace.targets[row] as number) - dot(workspace.rows, row * columnCount, workspace.weights))
  }
  return { value: prediction + profileBase(blocks, origin, block, hour), residuals }
}
