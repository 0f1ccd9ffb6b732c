import { chargingSession } from './charging-readings.ts'
import type { Site } from './fleet.ts'
import { type Random, seededRandom } from './random.ts'
import { bell, dayMs, hourMs, type Period, purchase, quarters, type Reading } from './reading.ts'

/** Return the consumption of a home in a quarter hour, in Wh: a base load, breakfast, dinner, and a random part. */
const homeConsumption = (hour: number, size: number, random: Random): number =>
  Math.round(size * (60 + 180 * bell(hour, 7.5, 1.2) + 330 * bell(hour, 19, 2) + 40 * random.fraction()))

/** Yield the readings of a home and its charger. With market prices the car charges at noon, else in the evening. */
export function* homeReadings(site: Site, period: Period, seed: number): Iterable<Reading> {
  const random = seededRandom(seed, site.name)
  const size = random.between(0.6, 1.7)
  for (const { at, hour } of quarters(period)) yield purchase(homeConsumption(hour, size, random), at)
  if (site.chargers === 0) return
  for (let day = 0; day < period.days; day += 1) {
    const hour = site.kind === 'market' ? random.between(11.5, 13.5) : random.between(17, 20.5)
    const energyWh = Math.round(random.between(6_000, 32_000))
    const start = period.start + day * dayMs + Math.round(hour * 60) * (hourMs / 60)
    yield* chargingSession({
      device: 'charger-1',
      session: `${site.name}, charge ${day + 1}`,
      start,
      energyWh,
      powerW: 11_000,
      stepMs: hourMs / 4,
    })
  }
}

type Battery = { readonly capacityWh: number; readonly quarterWh: number; chargeWh: number }

/** Return the energy of a solar roof in a quarter hour of a day in June, in Wh. */
const solarYield = (hour: number, peakWp: number, cloud: number): number => {
  const height = Math.sin((Math.PI * (hour + 0.125 - 5.25)) / 16.5)
  return height <= 0 ? 0 : Math.round((peakWp / 4) * 0.85 * height ** 1.3 * cloud)
}

/**
 * Yield the readings of a home with a solar roof and a battery. The roof supplies the home, then the battery, then the
 * grid. The battery supplies the home if the roof does not. The meter of the site measures the energy that is bought,
 * used from the roof and sold. The battery measures its charges and discharges.
 */
export function* solarReadings(site: Site, period: Period, seed: number): Iterable<Reading> {
  const random = seededRandom(seed, site.name)
  const size = random.between(0.8, 1.9)
  const peakWp = random.between(5_000, 12_000)
  const battery: Battery = { capacityWh: random.whole(5, 13) * 1_000, quarterWh: 1_250, chargeWh: 1_000 }
  let cloud = random.between(0.5, 1)
  for (const { at, hour } of quarters(period)) {
    cloud = Math.min(1, Math.max(0.25, cloud + random.between(-0.08, 0.08)))
    yield* solarQuarter(at, homeConsumption(hour, size, random), solarYield(hour, peakWp, cloud), battery)
  }
}

function* solarQuarter(at: number, consumption: number, roof: number, battery: Battery): Iterable<Reading> {
  const used = Math.min(consumption, roof)
  const intoBattery = Math.min(roof - used, battery.quarterWh, battery.capacityWh - battery.chargeWh)
  const outOfBattery = Math.min(consumption - used, battery.quarterWh, battery.chargeWh)
  battery.chargeWh += intoBattery - outOfBattery
  const bought = consumption - used - outOfBattery
  const sold = roof - used - intoBattery
  const own = purchase(0, at)
  if (bought > 0) yield { ...own, energyWh: bought }
  if (used > 0) yield { ...own, tariff: 'LOCAL', energyWh: used }
  if (sold > 0) yield { ...own, flow: 'OUTBOUND', tariff: 'EXPORT', energyWh: sold }
  if (intoBattery > 0) yield { ...own, device: 'battery', tariff: 'LOCAL', energyWh: intoBattery }
  if (outOfBattery > 0) yield { ...own, device: 'battery', flow: 'OUTBOUND', energyWh: outOfBattery }
}
