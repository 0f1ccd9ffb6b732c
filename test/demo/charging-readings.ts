import type { Site } from './fleet.ts'
import { seededRandom } from './random.ts'
import { dayMs, hourMs, minuteMs, type Period, type Reading } from './reading.ts'

type Charge = {
  readonly device: string
  readonly session: string
  readonly start: number
  readonly energyWh: number
  readonly powerW: number
  /** How often the charger reports. */
  readonly stepMs: number
}

/** Above four fifths of a charge a car takes less and less, down to a quarter of the power. */
const taper = (share: number): number => (share < 0.8 ? 1 : Math.max(0.25, 1 - (share - 0.8) * 3.75))

/** The readings of one charging session: full power, then a taper; the last one ends when the energy is reached. */
export function* chargingSession({ device, session, start, energyWh, powerW, stepMs }: Charge): Iterable<Reading> {
  let left = energyWh
  for (let at = start; left > 0; ) {
    const power = powerW * taper(1 - left / energyWh)
    const step = Math.round((power * stepMs) / hourMs)
    const energy = Math.min(left, step)
    // Chargers report whole seconds.
    const length = energy === step ? stepMs : Math.max(1_000, Math.round((stepMs * energy) / step / 1_000) * 1_000)
    yield { device, session, flow: 'INBOUND', tariff: 'IMPORT', energyWh: energy, start: at, end: at + length }
    left -= energy
    at += length
  }
}

const powers = [22_000, 50_000, 150_000] as const

/** A charging site: each charger has one car after the other, more of them by day; it reports every five minutes. */
export function* chargingReadings(site: Site, period: Period, seed: number): Iterable<Reading> {
  for (let charger = 1; charger <= site.chargers; charger += 1) {
    const device = `charger-${charger}`
    const random = seededRandom(seed, `${site.name} ${device}`)
    const powerW = powers[(charger - 1) % powers.length] ?? powers[0]
    const end = period.start + period.days * dayMs
    let at = period.start + random.whole(0, 240) * minuteMs
    for (let number = 1; at < end; number += 1) {
      const energyWh = Math.round(random.between(0.12, 0.6) * (powerW > 22_000 ? 75_000 : 45_000))
      const session = `${site.name}-c${charger}-s${number}`
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
