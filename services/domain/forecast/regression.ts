import { type Blocks, hoursOfBlock } from './blocks.ts'
import { describeHour, featureCount, type OriginFacts, profileBase } from './features.ts'
import { solveSymmetric } from './statistics.ts'

/** Days that are learned from, at most; each window gives a forecast, and their mean holds. */
const windowDays: readonly number[] = [182, 364]
/** Weeks that the first day to learn from is described by. */
export const leadDays = 21
/** Days without which nothing is learned: the profile holds alone. */
export const leastDays = 35
/** How much the diagonal is loaded at a full year; fewer days are trusted less. */
const load = 0.05
const yearDays = 364
/** Misses above this multiple of the mean one weigh as much as if they were at it: single wild days and holidays do not lead. */
const mostMiss = 1.5

const size = featureCount

/** Room that is used again for each hour: a row of features and a target for each day, and the normal equations. */
export type Bench = {
  readonly rows: Float64Array
  readonly targets: Float64Array
  readonly gram: Float64Array
  readonly right: Float64Array
  readonly matrix: Float64Array
  readonly weights: Float64Array
  readonly misses: Float64Array
}

export const openBench = (days: number): Bench => ({
  rows: new Float64Array(days * size),
  targets: new Float64Array(days),
  gram: new Float64Array(size * size),
  right: new Float64Array(size),
  matrix: new Float64Array(size * size),
  weights: new Float64Array(size),
  misses: new Float64Array(days),
})

/** What few days cannot tell is left to the profile: the diagonal is loaded, that of the constant least. */
const solve = ({ gram, right, matrix, weights }: Bench, count: number): void => {
  matrix.set(gram)
  weights.set(right)
  const loaded = load * Math.sqrt(yearDays / count)
  for (let place = 0; place < size; place += 1) {
    const own = place * size + place
    matrix[own] = (matrix[own] as number) * (1 + (place === 0 ? loaded / 10 : loaded)) + 1e-9 * count
  }
  solveSymmetric(matrix, weights, size)
}

const dot = (rows: Float64Array, start: number, weights: Float64Array): number => {
  let sum = 0
  for (let place = 0; place < size; place += 1) sum += (rows[start + place] as number) * (weights[place] as number)
  return sum
}

/** Add a past day to the normal equations, with a weight. */
const addRow = ({ rows, targets, gram, right }: Bench, row: number, weight: number): void => {
  const start = row * size
  const target = targets[row] as number
  for (let i = 0; i < size; i += 1) {
    const value = weight * (rows[start + i] as number)
    right[i] = (right[i] as number) + value * target
    for (let j = 0; j <= i; j += 1) gram[i * size + j] = (gram[i * size + j] as number) + value * (rows[start + j] as number)
  }
}

/**
 * Solve for the first `count` days so that large misses count by their size, not by its square: a step of reweighted least squares from the
 * plain solution. The equations stay as they were. Source: Huber (1964), https://doi.org/10.1214/aoms/1177703732.
 */
const solveRobust = (bench: Bench, count: number): void => {
  const { rows, targets, gram, right, weights, misses } = bench
  solve(bench, count)
  let sum = 0
  for (let row = 0; row < count; row += 1) {
    const miss = Math.abs((targets[row] as number) - dot(rows, row * size, weights))
    misses[row] = miss
    sum += miss
  }
  const bound = (mostMiss * sum) / count
  const [gramBefore, rightBefore] = [gram.slice(), right.slice()]
  for (let row = 0; row < count; row += 1) {
    const miss = misses[row] as number
    if (miss > bound) addRow(bench, row, bound / miss - 1)
  }
  solve(bench, count)
  gram.set(gramBefore)
  right.set(rightBefore)
}

/** One hour of the day, so many days ahead (1 … 5); `facts` are those of every block. */
export type Lesson = { readonly blocks: Blocks; readonly facts: readonly OriginFacts[]; readonly ahead: number; readonly hour: number }

/** A forecast on the stabilised scale, and what the longest window misses on past days, by their age; NaN where it has none. */
export type Learned = { readonly value: number; readonly misses: Float64Array }

/** Describe past days, the newest first, and solve at the end of each window; gives the mean of what the windows say of `asked`. */
const learnWindows = ({ blocks, facts, ahead, hour }: Lesson, asked: Float64Array, ages: number[], bench: Bench): number => {
  const { days, z, known } = blocks
  const sums = { said: 0, windows: 0 }
  const conclude = (): void => {
    solveRobust(bench, ages.length)
    sums.said += dot(asked, 0, bench.weights)
    sums.windows += 1
  }
  bench.gram.fill(0)
  bench.right.fill(0)
  for (let block = days - 1; block - ahead >= leadDays && sums.windows < windowDays.length; block -= 1) {
    const place = block * hoursOfBlock + hour
    if (known[place] === 0) continue
    const row = ages.length
    const origin = block - ahead
    describeHour(blocks, facts[origin] as OriginFacts, { origin, block, hour }, bench.rows.subarray(row * size, (row + 1) * size))
    bench.targets[row] = (z[place] as number) - profileBase(blocks, origin, block, hour)
    addRow(bench, row, 1)
    ages.push(days - 1 - block)
    if (ages.length === windowDays[sums.windows]) conclude()
  }
  if (ages.length > 0 && sums.windows < windowDays.length) conclude()
  return sums.said / Math.max(1, sums.windows)
}

/**
 * Learn by robust ridge regression what an hour so many days ahead stands above its profile, from how the last days stood above theirs,
 * and forecast it. The longest window is solved last: its weights tell what was missed on each of the last `errorDays` days.
 */
export const learnHour = (lesson: Lesson, errorDays: number, bench: Bench): Learned => {
  const { blocks, facts, ahead, hour } = lesson
  const origin = blocks.days - 1
  const block = origin + ahead
  const asked = new Float64Array(size)
  describeHour(blocks, facts[origin] as OriginFacts, { origin, block, hour }, asked)
  const ages: number[] = []
  const said = learnWindows(lesson, asked, ages, bench)
  const misses = new Float64Array(errorDays).fill(Number.NaN)
  // Weights miss less on the days that they were learned from than on others, the more so the fewer those are.
  const unseen = 1 + size / Math.max(1, ages.length)
  for (const [row, age] of ages.entries()) {
    if (age >= errorDays) break
    misses[age] = unseen * ((bench.targets[row] as number) - dot(bench.rows, row * size, bench.weights))
  }
  return { value: said + profileBase(blocks, origin, block, hour), misses }
}
