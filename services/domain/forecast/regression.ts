import { type Blocks, hoursPerBlock } from './blocks.ts'
import { describeHour, featureCount, type OriginFacts, profileBase } from './features.ts'
import { solveSymmetric } from './statistics.ts'

/** Maximum training days of each window. Each window gives a forecast; the result is their mean. */
const trainingWindowDays: readonly number[] = [182, 364]
/** Days before the first training day, which describe it. */
export const warmUpDays = 21
/** Minimum number of training days. With fewer, only the profile is used. */
export const minTrainingDays = 35
/** Diagonal load of the ridge regression for a full year; fewer days get a larger load. */
const ridgeLoad = 0.05
const daysPerYear = 364
/**
 * Multiple of the mean residual above which a residual gets less weight, so that single extreme days and holidays do
 * not dominate.
 */
const maxResidualRatio = 1.5

const columnCount = featureCount

/** Buffers that are used again for each hour: a row of features and a target for each day, and the normal equations. */
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

/**
 * Solve the normal equations with a loaded diagonal, so that few days change the profile little. The constant has the
 * smallest load.
 */
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
 * Solve for the first `count` days with linear instead of quadratic weight for large residuals: one step of reweighted
 * least squares from the plain solution. The equations do not change.
 * Source: Huber (1964), https://doi.org/10.1214/aoms/1177703732.
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

/** Training set for one hour of the day, 1 … 5 days ahead. `facts` are those of every block. */
export type TrainingSet = {
  readonly blocks: Blocks
  readonly facts: readonly OriginFacts[]
  readonly daysAhead: number
  readonly hour: number
}

/** Forecast on the stabilised scale, and the residuals of the longest window on past days, by age; NaN if unknown. */
export type FittedModel = { readonly value: number; readonly residuals: Float64Array }

/**
 * Describe past days, the newest first, and solve at the end of each window. Returns the mean prediction of the windows
 * for `requestedFeatures`.
 */
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
 * Fit by robust ridge regression the deviation of an hour from its profile, from the deviations of recent days, and
 * forecast it.
 * The longest window is solved last: its weights give the residuals of each of the last `errorDays` days.
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
  // Residuals are smaller on training days than on other days, the more so with fewer training days.
  const unseenFactor = 1 + columnCount / Math.max(1, rowAges.length)
  for (const [row, age] of rowAges.entries()) {
    if (age >= errorDays) break
    residuals[age] =
      unseenFactor * ((workspace.targets[row] as number) - dot(workspace.rows, row * columnCount, workspace.weights))
  }
  return { value: prediction + profileBase(blocks, origin, block, hour), residuals }
}
