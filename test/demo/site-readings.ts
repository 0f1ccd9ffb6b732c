import { chargingReadings } from './charging-readings.ts'
import type { Site, SiteKind } from './fleet.ts'
import { homeReadings, solarReadings } from './home-readings.ts'
import { seededRandom } from './random.ts'
import { bell, type Period, purchase, quarters, type Reading } from './reading.ts'

/**
 * Yield the readings of a factory: two shifts from 6 to 22 h, breaks, cooling in the afternoon, a base load at night.
 */
function* factoryReadings(site: Site, period: Period, seed: number): Iterable<Reading> {
  const random = seededRandom(seed, site.name)
  for (const { at, hour } of quarters(period)) {
    const isShift = hour >= 6 && hour < 22
    const isBreak = [9.5, 14, 18].includes(hour)
    const powerKw =
      85 + (isShift ? 310 : 0) * (isBreak ? 0.45 : 1) + 70 * bell(hour, 15, 2.5) + 60 * bell(hour, 6.5, 0.6)
    yield purchase(Math.round((powerKw * 1_000 * random.between(0.95, 1.05)) / 4), at)
  }
}

const readingsOf: Readonly<Record<SiteKind, (site: Site, period: Period, seed: number) => Iterable<Reading>>> = {
  household: homeReadings,
  market: homeReadings,
  solar: solarReadings,
  charging: chargingReadings,
  factory: factoryReadings,
  nordic: homeReadings,
  unpriced: homeReadings,
}

/** Yield all readings of a site until the end of the period. The same site, period and seed give the same readings. */
export function* siteReadings(site: Site, period: Period, seed: number): Iterable<Reading> {
  for (const reading of readingsOf[site.kind](site, period, seed)) if (reading.end <= period.end) yield reading
}
