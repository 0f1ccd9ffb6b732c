import { weekdayOf } from '../civil-date.ts'
import type { HourGrid } from './hour-grid.ts'
import { medianOf, type PriceScale, scaleOf } from './statistics.ts'

export const hoursPerBlock = 24
export const horizonDays = 5

/**
 * Prices before an instant, on the stabilised scale, in blocks of 24 local hours, counted back from the instant. If the
 * instant is no midnight, blocks begin at its hour of the day. Block `days` begins at the instant; it and the four
 * after it are forecast.
 * `scaled`, `prices` and `known` are at block × 24 + hour; `known` is 0 for a filled hour. `dayMeans` are the means of
 * blocks; `levels` the means of the week that ends with a block.
 * `shapes` also cover the forecast blocks. A shape is the deviation of an hour of a weekday from the level of its week:
 * the median of past weeks, pulled towards days of the same kind. `sameDayShapes` are not pulled.
 */
export type Blocks = {
  readonly days: number
  readonly scaled: Float64Array
  readonly known: Uint8Array
  readonly scale: PriceScale
  readonly prices: Float64Array
  readonly levels: Float64Array
  readonly dayMeans: Float64Array
  readonly shapes: Float64Array
  readonly sameDayShapes: Float64Array
}

/** One year of training data, and the weeks before it that describe its oldest day. */
const maxDays = 364 + 70
const scaleDays = 364

const stabilisePrices = (prices: Float64Array, { centre, spread }: PriceScale): Float64Array => {
  const scaled = new Float64Array(prices.length)
  if (spread > 0)
    for (let hour = 0; hour < scaled.length; hour += 1)
      scaled[hour] = Math.asinh(((prices[hour] as number) - centre) / spread)
  return scaled
}

const calculateDayMeans = (scaled: Float64Array, days: number): Float64Array => {
  const dayMeans = new Float64Array(days)
  for (let block = 0; block < days; block += 1) {
    let sum = 0
    for (let hour = 0; hour < hoursPerBlock; hour += 1) sum += scaled[block * hoursPerBlock + hour] as number
    dayMeans[block] = sum / hoursPerBlock
  }
  return dayMeans
}

const calculateWeekLevels = (dayMeans: Float64Array): Float64Array => {
  const levels = new Float64Array(dayMeans.length)
  for (let block = 0; block < dayMeans.length; block += 1) {
    // The first week also serves the days in it, which have no week before them.
    const end = Math.min(dayMeans.length - 1, Math.max(block, 6))
    let sum = 0
    const start = Math.max(0, end - 6)
    for (let day = start; day <= end; day += 1) sum += dayMeans[day] as number
    levels[block] = sum / (end - start + 1)
  }
  return levels
}

/** Weekday (0 is Monday) of an hour of a block. */
type Weekday = (block: number, hour: number) => number

/** Number of weeks in the median of a shape. */
const shapeWeeks = 8
/**
 * Days of the same kind (Monday to Friday, Saturday, Sunday) that pull a shape, and their weight. They reduce the
 * effect of single days.
 */
const kindDays = 21
const kindShare = 0.5

const dayKindOf = (weekday: number): number => (weekday < 5 ? 0 : weekday)

const shapesOf = (
  scaled: Float64Array,
  levels: Float64Array,
  days: number,
  weekday: Weekday,
): Pick<Blocks, 'shapes' | 'sameDayShapes'> => {
  const shapes = new Float64Array((days + horizonDays) * hoursPerBlock)
  const sameDayShapes = new Float64Array(shapes.length)
  const buffer = new Float64Array(64)
  const deviationFromLevel = (block: number, hour: number): number =>
    (scaled[block * hoursPerBlock + hour] as number) - (levels[block] as number)
  for (let block = 7; block < days + horizonDays; block += 1) {
    for (let hour = 0; hour < hoursPerBlock; hour += 1) {
      let count = 0
      for (let pastBlock = block - 7; pastBlock >= 0 && count < shapeWeeks; pastBlock -= 7)
        buffer[count++] = deviationFromLevel(pastBlock, hour)
      const sameDay = medianOf(buffer, count)
      const dayKind = dayKindOf(weekday(block, hour))
      let sameKindCount = 0
      for (let pastBlock = block - 7; pastBlock >= 0 && pastBlock > block - 7 - kindDays; pastBlock -= 1) {
        if (dayKindOf(weekday(pastBlock, hour)) === dayKind)
          buffer[sameKindCount++] = deviationFromLevel(pastBlock, hour)
      }
      sameDayShapes[block * hoursPerBlock + hour] = sameDay
      shapes[block * hoursPerBlock + hour] =
        sameKindCount === 0 ? sameDay : sameDay + kindShare * (medianOf(buffer, sameKindCount) - sameDay)
    }
  }
  return { shapes, sameDayShapes }
}

/** Cut the hours before index `end` of a grid into blocks. The grid has at least one week before it. */
export const cutBlocks = (grid: HourGrid, end: number): Blocks => {
  const days = Math.min(maxDays, Math.floor(end / hoursPerBlock))
  const start = end - days * hoursPerBlock
  const prices = grid.values.subarray(start, end)
  const known = grid.known.subarray(start, end)
  const scale = scaleOf(prices.subarray(Math.max(0, prices.length - scaleDays * hoursPerBlock)))
  const scaled = stabilisePrices(prices, scale)
  const dayMeans = calculateDayMeans(scaled, days)
  const levels = calculateWeekLevels(dayMeans)
  const firstHour = grid.firstHour + start
  const weekday: Weekday = (block, hour) =>
    weekdayOf(Math.floor((firstHour + block * hoursPerBlock + hour) / hoursPerBlock))
  return { days, scaled, known, scale, prices, levels, dayMeans, ...shapesOf(scaled, levels, days, weekday) }
}
