import { type CostPiece, isProvisional } from '../cost/cost-piece.ts'
import { type CostRow, isEstimated } from '../cost/energy-cost.ts'
import type { Interval } from '../interval.ts'
import type { Energy } from '../quantity.ts'

/** Time of energy with a provisional price: a forecast, or the price after the end of a contract. */
type ProvisionalTime = { start: number; end: number; energy: Energy }

/**
 * Energy of the lines that is estimated (the confidence of the record is below 1), and energy with a provisional price
 * (the confidence of the price is below 1), by bucket. An energy can be both.
 */
export type UncertainEnergy = {
  readonly estimated: Energy[]
  readonly provisional: Energy[]
  readonly times: ProvisionalTime[]
}

export const createUncertainEnergy = (): UncertainEnergy => ({ estimated: [], provisional: [], times: [] })

const addTime = (times: ProvisionalTime[], { start, end }: Interval, energy: Energy): void => {
  const last = times.at(-1)
  if (last === undefined || start > last.end || end < last.start) times.push({ start, end, energy })
  else {
    last.start = Math.min(last.start, start)
    last.end = Math.max(last.end, end)
    last.energy += energy
  }
}

/** Add a part of a piece in a bucket. */
export const addUncertain = (
  { estimated, provisional, times }: UncertainEnergy,
  row: Pick<CostRow, 'recordConfidence'>,
  piece: Pick<CostPiece, 'confidence' | 'energy'>,
  part: Interval & { readonly bucket: number; readonly energy: Energy },
): void => {
  const { bucket, energy } = part
  if (isEstimated(row)) estimated[bucket] = (estimated[bucket] ?? 0n) + energy
  if (!isProvisional(piece) || piece.energy === 0n) return
  provisional[bucket] = (provisional[bucket] ?? 0n) + energy
  addTime(times, part, energy)
}

const sumOf = (energies: readonly (Energy | undefined)[]): Energy =>
  energies.reduce((sum: Energy, energy) => sum + (energy ?? 0n), 0n)

/** Return the energies of the buckets [from, to). */
export const uncertainWithin = (
  { estimated, provisional }: UncertainEnergy,
  from: number,
  to: number,
): { readonly estimatedEnergy: Energy; readonly provisionalEnergy: Energy } => ({
  estimatedEnergy: sumOf(estimated.slice(from, to)),
  provisionalEnergy: sumOf(provisional.slice(from, to)),
})

/** Return the times with provisional prices in order, apart from each other. Their energies add up to the energy of all. */
export const provisionalTimes = ({ times }: UncertainEnergy): readonly Readonly<ProvisionalTime>[] => {
  const merged: ProvisionalTime[] = []
  for (const time of times.toSorted((a, b) => a.start - b.start || a.end - b.end)) addTime(merged, time, time.energy)
  return merged
}
