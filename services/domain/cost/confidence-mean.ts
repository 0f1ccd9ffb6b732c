import { divideHalfEven, type Energy } from '../quantity.ts'

/**
 * Running mean of confidence: weighted by energy; without energy by time; without both by count.
 * Confidences are integers; the caller chooses their unit.
 * Source: docs/rules/costs.md #confidence.
 */
export type ConfidenceMean = {
  energy: bigint
  byEnergy: bigint
  time: bigint
  byTime: bigint
  count: bigint
  byCount: bigint
}

/** Create an empty mean. */
export const createMean = (): ConfidenceMean => ({
  energy: 0n,
  byEnergy: 0n,
  time: 0n,
  byTime: 0n,
  count: 0n,
  byCount: 0n,
})

/** Add a part with its energy, length (ms) and confidence, or `count` such parts together. */
export const addToMean = (
  mean: ConfidenceMean,
  energy: Energy,
  lengthMs: number,
  confidence: bigint,
  count = 1n,
): void => {
  const time = BigInt(lengthMs)
  mean.energy += energy
  mean.byEnergy += energy * confidence
  mean.time += time
  mean.byTime += time * confidence
  mean.count += count
  mean.byCount += count * confidence
}

/** Return the mean divided by `unit`, rounded half to even; undefined for an empty mean. */
export const confidenceOfMean = (mean: ConfidenceMean, unit: bigint): number | undefined => {
  if (mean.count === 0n) return undefined
  if (mean.energy > 0n) return Number(divideHalfEven(mean.byEnergy, mean.energy * unit))
  if (mean.time > 0n) return Number(divideHalfEven(mean.byTime, mean.time * unit))
  return Number(divideHalfEven(mean.byCount, mean.count * unit))
}
