import type { Site } from './fleet.ts'
import { seededRandom } from './random.ts'
import { dayMs, hourMs, minuteMs, type Period, type Reading } from './reading.ts'

type Charge = {
  readonly device: string
  readonly session: string
  readonly start: number
  readonly energyWh: number
  readonly powerW: number
  /** Interval between two reports of the charger. */
  readonly stepMs: number
}

/** Return the share of the full power. From 80 % of the energy on, the power falls to a quarter. */
const taper = (share: number): number => (share < 0.8 ? 1 : Math.max(0.25, 1 - (share - 0.8) * 3.75))

/**
 * Yield the readings of one charging session: full power, then less and less. The last reading ends when the car is
 * full.
 */
export function* chargingSession({ device, session, start, energyWh, powerW, stepMs }: Charge): Iterable<Reading> {
  let left = energyWh
  for (let at = start; left > 0; ) {
    const power = powerW * taper(1 - left / energyWh)
    const stepWh = Math.round((power * stepMs) / hourMs)
    const energy = Math.min(left, stepWh)
    // Chargers report whole seconds.
    const length = energy === stepWh ? stepMs : Math.max(1_000, Math.round((stepMs * energy) / stepWh / 1_000) * 1_000)
    yield { device, session, flow: 'INBOUND', tariff: 'IMPORT', energyWh: energy, start: at, end: at + length }
    left -= energy
    at += length
  }
}

const powers = [22_000, 50_000, 150_000] as const

/** Yield the readings of a charging site. Each charger charges one car after the other and reports every 5 min. */
export function* chargingReadings(site: Site, period: Period, seed: number): Iterable<Reading> {
  for (let charger = 1; charger <= site.chargers; charger += 1) {
    const device = `charger-${charger}`
    const random = seededRandom(seed, `${site.name} ${device}`)
    const powerW = powers[(charger - 1) % powers.length] ?? powers[0]
    const end = period.start + period.days * dayMs
    let at = period.start + random.whole(0, 240) * minuteMs
    for (let number = 1; at < end; number += 1) {
      const energyWh = Math.round(random.between(0.12, 0.6) * (powerW > 22_000 ? 75_000 : 45_000))
      const session = `${site.name} ${charger}, charge ${number}`
      let last = at
      for (const reading of chargingSession({ device, session, start: at, energyWh, powerW, stepMs: 5 * minuteMs })) {
        yield reading
        last = reading.end
      }
      const hour = ((last - period.start) % dayMs) / hourMs
      at = last + Math.round(random.between(10, hour < 6 || hour > 21 ? 300 : 90)) * minuteMs
    }
  }
}
