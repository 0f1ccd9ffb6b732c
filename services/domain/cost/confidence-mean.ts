import { divideHalfEven, type Energy } from '../quantity.ts'

/**
 * A running mean of confidence: weighed by energy; by time if there is no energy; alike if there is neither.
 * Confidences are integers of a unit that the caller knows. Source: docs/rules/costs.md #confidence.
 */
export type ConfidenceMean = {
  energy: bigint
  byEnergy: bigint
  time: bigint
  byTime: bigint
  count: bigint
  byCount: bigint
}

/** Begin a mean of nothing. The caller owns it. */
export const createMean = (): ConfidenceMean => ({
  energy: 0n,
  byEnergy: 0n,
  time: 0n,
  byTime: 0n,
  count: 0n,
  byCount: 0n,
})

/** Add a part, or `count` of them together, with their energy, their length (ms) and their confidence. */
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

/** Give the mean divided by `unit`, half to even; `undefined` when nothing was added. */
export const confidenceOfMean = (mean: ConfidenceMean, unit: bigint): number | undefined => {
  if (mean.count === 0n) return undefined
  if (mean.energy > 0n) return Number(divideHalfEven(mean.byEnergy, mean.energy * unit))
  if (mean.time > 0n) return Number(divideHalfEven(mean.byTime, mean.time * unit))
  return Number(divideHalfEven(mean.byCount, mean.count * unit))
}
