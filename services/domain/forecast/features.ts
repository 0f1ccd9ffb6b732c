import { type Blocks, hoursOfBlock } from './blocks.ts'

/** How many numbers describe an hour that is to be forecast. */
export const featureCount = 15

const anomaly = ({ z, shapes }: Blocks, level: number, block: number, hour: number): number => {
  const place = block * hoursOfBlock + hour
  return (z[place] as number) - level - (shapes[place] as number)
}

/** What the profile alone says of an hour: the level of the week before the forecast, and what the weekday's hour stands above it. */
export const profileBase = ({ levels, shapes }: Blocks, origin: number, block: number, hour: number): number =>
  (levels[origin] as number) + (shapes[block * hoursOfBlock + hour] as number)

/** What the last block stood above its profile, on the mean. */
export const blockAnomaly = (blocks: Blocks, origin: number, block: number): number => {
  let sum = 0
  for (let hour = 0; hour < hoursOfBlock; hour += 1) sum += blocks.shapes[block * hoursOfBlock + hour] as number
  return (blocks.means[block] as number) - (blocks.levels[origin] as number) - sum / hoursOfBlock
}

/** What is known of the last block of an origin, the same for all hours that are forecast from it. */
export type OriginFacts = {
  readonly least: number
  readonly most: number
  readonly mean: number
  readonly meanBefore: number
  readonly last: number
  readonly longLevel: number
  readonly weekBefore: number
}

const levelWeeks = 4

/** Gather the facts of an origin: its last block, the one before, and the levels of weeks before. */
export const originFacts = (blocks: Blocks, origin: number): OriginFacts => {
  const { z, levels } = blocks
  const level = levels[origin] as number
  const day = z.subarray(origin * hoursOfBlock, (origin + 1) * hoursOfBlock)
  let least = Number.POSITIVE_INFINITY
  let most = Number.NEGATIVE_INFINITY
  for (const value of day) {
    least = Math.min(least, value)
    most = Math.max(most, value)
  }
  let longLevel = 0
  for (let week = 0; week < levelWeeks; week += 1) longLevel += (levels[Math.max(0, origin - 7 * week)] as number) / levelWeeks
  let last = 0
  for (let hour = 21; hour < 24; hour += 1) last += anomaly(blocks, level, origin, hour) / 3
  return {
    least: least - level,
    most: most - level,
    mean: blockAnomaly(blocks, origin, origin),
    meanBefore: blockAnomaly(blocks, origin, origin - 1),
    last,
    longLevel: longLevel - level,
    weekBefore: (levels[Math.max(0, origin - 7)] as number) - level,
  }
}

/** An hour of a block, and the last block that is known when it is looked at. */
export type Seen = { readonly origin: number; readonly block: number; readonly hour: number }

/**
 * Describe an hour of a block as seen from the last known block: what stood above the profile at that hour on the last two days, a week
 * and two weeks before, around it, over the last day; levels; the shape, and what the same weekdays alone stand above it. All relative to
 * the level, so that a market that moves to another level is described alike.
 */
export const describeHour = (blocks: Blocks, facts: OriginFacts, { origin, block, hour }: Seen, into: Float64Array): void => {
  const level = blocks.levels[origin] as number
  const before = anomaly(blocks, level, origin, Math.max(0, hour - 1))
  const same = anomaly(blocks, level, origin, hour)
  const after = anomaly(blocks, level, origin, Math.min(23, hour + 1))
  into[0] = 1
  into[1] = same
  into[2] = anomaly(blocks, level, origin - 1, hour)
  into[3] = anomaly(blocks, level, block - 7, hour)
  into[4] = anomaly(blocks, level, block - 14, hour)
  into[5] = facts.mean
  into[6] = facts.least
  into[7] = facts.most
  into[8] = facts.last
  into[9] = facts.meanBefore
  into[10] = facts.longLevel
  into[11] = facts.weekBefore
  into[12] = (before + same + after) / 3
  const place = block * hoursOfBlock + hour
  const shape = blocks.shapes[place] as number
  into[13] = shape
  into[14] = (blocks.sameDayShapes[place] as number) - shape
}
