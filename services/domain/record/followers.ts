import type { Energy } from '../quantity.ts'
import { dipMs, type ReadingValue } from './reading-rules.ts'

/**
 * For each reading from `from` to before `end`: the highest value among the readings that can prove it a dip; null if
 * there is none. These are the readings within 24 h after it, before `end`, up to the next meter and inside `range`.
 * Takes the readings by time. The time and the memory are linear in `end - from`.
 */
export const highestFollowers = (
  readings: readonly ReadingValue[],
  range: Energy | null,
  from: number,
  end: number,
): readonly (Energy | null)[] => {
  const highest = new Array<Energy | null>(end - from).fill(null)
  /**
   * Indexes of later readings that can be the highest follower, the latest first. `latest` is the place of the first one
   * that is still within 24 h.
   */
  let peaks: number[] = []
  let latest = 0
  for (let i = end - 1; i >= from; i -= 1) {
    const { time, isRestart, value } = readings[i] as ReadingValue
    while (latest < peaks.length && (readings[peaks[latest] as number] as ReadingValue).time > time + dipMs) latest += 1
    if (latest < peaks.length) highest[i - from] = (readings[peaks[latest] as number] as ReadingValue).value
    if (value === null || (range !== null && value >= range)) continue
    if (isRestart) {
      peaks = []
      latest = 0
      continue
    }
    while (peaks.length > latest && ((readings[peaks.at(-1) as number] as ReadingValue).value as Energy) <= value)
      peaks.pop()
    peaks.push(i)
  }
  return highest
}
