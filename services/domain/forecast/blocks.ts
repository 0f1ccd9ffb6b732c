import { weekdayOf } from '../civil-date.ts'
import type { HourGrid } from './hour-grid.ts'
import { medianOf, type Scale, scaleOf } from './statistics.ts'

export const hoursOfBlock = 24
export const horizonDays = 5

/**
 * Prices before an instant on the stabilised scale, cut from it backwards into blocks of 24 wall-clock hours; where it is no midnight a
 * block begins at its hour of the day. Block `days` begins at the instant: it and the four behind it are what is asked for.
 * `z` and `prices` at block × 24 + hour, as `known`: 0 where an hour was filled. `means`: of a block; `levels`: of the week that ends with it.
 * `shapes` reach over the blocks asked for: what an hour of that weekday stood above the level of its week, by the median of weeks before,
 * leaning on days of the same kind; `sameDayShapes` do not lean.
 */
export type Blocks = {
  readonly days: number
  readonly z: Float64Array
  readonly known: Uint8Array
  readonly scale: Scale
  readonly prices: Float64Array
  readonly levels: Float64Array
  readonly means: Float64Array
  readonly shapes: Float64Array
  readonly sameDayShapes: Float64Array
}

/** A year to learn from, and the weeks before it that its oldest day looks back on. */
const mostDays = 364 + 70
const scaleDays = 364

const stabilise = (prices: Float64Array, { centre, spread }: Scale): Float64Array => {
  const z = new Float64Array(prices.length)
  if (spread > 0) for (let hour = 0; hour < z.length; hour += 1) z[hour] = Math.asinh(((prices[hour] as number) - centre) / spread)
  return z
}

const blockMeans = (z: Float64Array, days: number): Float64Array => {
  const means = new Float64Array(days)
  for (let block = 0; block < days; block += 1) {
    let sum = 0
    for (let hour = 0; hour < hoursOfBlock; hour += 1) sum += z[block * hoursOfBlock + hour] as number
    means[block] = sum / hoursOfBlock
  }
  return means
}

const weekLevels = (means: Float64Array): Float64Array => {
  const levels = new Float64Array(means.length)
  for (let block = 0; block < means.length; block += 1) {
    // The first week stands for the days in it, which have no week before them.
    const end = Math.min(means.length - 1, Math.max(block, 6))
    let sum = 0
    const start = Math.max(0, end - 6)
    for (let day = start; day <= end; day += 1) sum += means[day] as number
    levels[block] = sum / (end - start + 1)
  }
  return levels
}

/** The weekday (0 is Monday) of an hour of a block. */
type Weekday = (block: number, hour: number) => number

/** Weeks whose median makes a shape. */
const shapeWeeks = 8
/** Days of the same kind (Monday to Friday, Saturday, Sunday) that a shape leans on, and how much, so that single days weigh less. */
const kindDays = 21
const kindShare = 0.5

const kindOf = (weekday: number): number => (weekday < 5 ? 0 : weekday)

const shapesOf = (z: Float64Array, levels: Float64Array, days: number, weekday: Weekday): Pick<Blocks, 'shapes' | 'sameDayShapes'> => {
  const shapes = new Float64Array((days + horizonDays) * hoursOfBlock)
  const sameDayShapes = new Float64Array(shapes.length)
  const buffer = new Float64Array(64)
  const above = (block: number, hour: number): number => (z[block * hoursOfBlock + hour] as number) - (levels[block] as number)
  for (let block = 7; block < days + horizonDays; block += 1) {
    for (let hour = 0; hour < hoursOfBlock; hour += 1) {
      let count = 0
      for (let past = block - 7; past >= 0 && count < shapeWeeks; past -= 7) buffer[count++] = above(past, hour)
      const sameDay = medianOf(buffer, count)
      const kind = kindOf(weekday(block, hour))
      let kinds = 0
      for (let past = block - 7; past >= 0 && past > block - 7 - kindDays; past -= 1) {
        if (kindOf(weekday(past, hour)) === kind) buffer[kinds++] = above(past, hour)
      }
      sameDayShapes[block * hoursOfBlock + hour] = sameDay
      shapes[block * hoursOfBlock + hour] = kinds === 0 ? sameDay : sameDay + kindShare * (medianOf(buffer, kinds) - sameDay)
    }
  }
  return { shapes, sameDayShapes }
}

/** Cut the hours before place `until` of a grid into blocks. The grid holds a week before it at least. */
export const cutBlocks = (grid: HourGrid, until: number): Blocks => {
  const days = Math.min(mostDays, Math.floor(until / hoursOfBlock))
  const start = until - days * hoursOfBlock
  const prices = grid.values.subarray(start, until)
  const known = grid.known.subarray(start, until)
  const scale = scaleOf(prices.subarray(Math.max(0, prices.length - scaleDays * hoursOfBlock)))
  const z = stabilise(prices, scale)
  const means = blockMeans(z, days)
  const levels = weekLevels(means)
  const firstHour = grid.firstHour + start
  const weekday: Weekday = (block, hour) => weekdayOf(Math.floor((firstHour + block * hoursOfBlock + hour) / hoursOfBlock))
  return { days, z, known, scale, prices, levels, means, ...shapesOf(z, levels, days, weekday) }
}
