import { type Blocks, hoursPerBlock } from './blocks.ts'

/** Number of features of an hour to forecast. */
export const featureCount = 15

const anomaly = ({ scaled, shapes }: Blocks, level: number, block: number, hour: number): number => {
  const index = block * hoursPerBlock + hour
  return (scaled[index] as number) - level - (shapes[index] as number)
}

/**
 * Return the prediction of the profile for an hour: the level of the week before the forecast plus the shape of the
 * weekday's hour.
 */
export const profileBase = ({ levels, shapes }: Blocks, origin: number, block: number, hour: number): number =>
  (levels[origin] as number) + (shapes[block * hoursPerBlock + hour] as number)

/** Return the mean deviation of a block from its profile. */
export const blockAnomaly = (blocks: Blocks, origin: number, block: number): number => {
  let sum = 0
  for (let hour = 0; hour < hoursPerBlock; hour += 1) sum += blocks.shapes[block * hoursPerBlock + hour] as number
  return (blocks.dayMeans[block] as number) - (blocks.levels[origin] as number) - sum / hoursPerBlock
}

/** Features of the last known block of an origin, equal for all hours that are forecast from it. */
export type OriginFacts = {
  readonly min: number
  readonly max: number
  readonly mean: number
  readonly meanBefore: number
  readonly lastHours: number
  readonly monthLevel: number
  readonly levelBefore: number
}

const levelWeeks = 4

/** Collect the facts of an origin: its last block, the block before, and the levels of earlier weeks. */
export const gatherOriginFacts = (blocks: Blocks, origin: number): OriginFacts => {
  const { scaled, levels } = blocks
  const level = levels[origin] as number
  const day = scaled.subarray(origin * hoursPerBlock, (origin + 1) * hoursPerBlock)
  let min = Number.POSITIVE_INFINITY
  let max = Number.NEGATIVE_INFINITY
  for (const value of day) {
    min = Math.min(min, value)
    max = Math.max(max, value)
  }
  let monthLevel = 0
  for (let week = 0; week < levelWeeks; week += 1)
    monthLevel += (levels[Math.max(0, origin - 7 * week)] as number) / levelWeeks
  let lastHours = 0
  for (let hour = 21; hour < 24; hour += 1) lastHours += anomaly(blocks, level, origin, hour) / 3
  return {
    min: min - level,
    max: max - level,
    mean: blockAnomaly(blocks, origin, origin),
    meanBefore: blockAnomaly(blocks, origin, origin - 1),
    lastHours,
    monthLevel: monthLevel - level,
    levelBefore: (levels[Math.max(0, origin - 7)] as number) - level,
  }
}

/** Hour of a block, and the last block that is known at the time of the forecast. */
export type ForecastTarget = { readonly origin: number; readonly block: number; readonly hour: number }

/**
 * Write the features of an hour of a block, as seen from the last known block.
 * The features are anomalies, levels, the shape, and the deviation of the same weekdays from the shape. Anomalies are
 * those of the hour on the last two days and one and two weeks before, of the hours around it, and of the last day.
 * All are relative to the level, so they stay the same if a market moves to another level.
 */
export const describeHour = (
  blocks: Blocks,
  facts: OriginFacts,
  { origin, block, hour }: ForecastTarget,
  features: Float64Array,
): void => {
  const level = blocks.levels[origin] as number
  const before = anomaly(blocks, level, origin, Math.max(0, hour - 1))
  const sameHour = anomaly(blocks, level, origin, hour)
  const after = anomaly(blocks, level, origin, Math.min(23, hour + 1))
  features[0] = 1
  features[1] = sameHour
  features[2] = anomaly(blocks, level, origin - 1, hour)
  features[3] = anomaly(blocks, level, block - 7, hour)
  features[4] = anomaly(blocks, level, block - 14, hour)
  features[5] = facts.mean
  features[6] = facts.min
  features[7] = facts.max
  features[8] = facts.lastHours
  features[9] = facts.meanBefore
  features[10] = facts.monthLevel
  features[11] = facts.levelBefore
  features[12] = (before + sameHour + after) / 3
  const index = block * hoursPerBlock + hour
  const shape = blocks.shapes[index] as number
  features[13] = shape
  features[14] = (blocks.sameDayShapes[index] as number) - shape
}
