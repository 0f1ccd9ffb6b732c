import type { Site } from './fleet.ts'
import { seededRandom } from './random.ts'
import { bell, type Period, purchase, quarters, type Reading } from './reading.ts'

/** A factory of two shifts, 6 to 14 and 14 to 22: a steep start, breaks, a hall that is cooled in the afternoon, and a base load at night. */
export function* factoryReadings(site: Site, period: Period, seed: number): Iterable<Reading> {
  const random = seededRandom(seed, site.name)
  for (const { at, hour } of quarters(period)) {
    const isShift = hour >= 6 && hour < 22
    const isBreak = [9.5, 14, 18].includes(hour)
    const powerKw =
      85 + (isShift ? 310 : 0) * (isBreak ? 0.45 : 1) + 70 * bell(hour, 15, 2.5) + 60 * bell(hour, 6.5, 0.6)
    yield purchase(Math.round((powerKw * 1_000 * random.between(0.95, 1.05)) / 4), at)
  }
}
