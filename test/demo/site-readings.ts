import { chargingReadings } from './charging-readings.ts'
import { factoryReadings } from './factory-readings.ts'
import type { Site, SiteKind } from './fleet.ts'
import { homeReadings, solarReadings } from './home-readings.ts'
import type { Period, Reading } from './reading.ts'

const readingsOf: Readonly<Record<SiteKind, (site: Site, period: Period, seed: number) => Iterable<Reading>>> = {
  household: homeReadings,
  market: homeReadings,
  solar: solarReadings,
  charging: chargingReadings,
  factory: factoryReadings,
}

/** Simulate all that is metered at a site; the same site, period and seed give the same readings. */
export const siteReadings = (site: Site, period: Period, seed: number): Iterable<Reading> =>
  readingsOf[site.kind](site, period, seed)
