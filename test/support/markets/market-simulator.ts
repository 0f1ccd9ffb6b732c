import { civilDate, weekdayOf } from '../../../services/domain/civil-date.ts'
import { seededRandom } from '../../demo/random.ts'

/** Parameters of a simulated market: shares of the typical demand, durations in days or hours, and frequencies. */
export type MarketKind = {
  readonly name: string
  /** Demand in winter minus demand in summer. Negative if the peak is in summer. */
  readonly winter: number
  /** Effect of the temperature of a day on the demand. */
  readonly weather: number
  readonly wind: number
  readonly windHours: number
  readonly solar: number
  /** Capacity in outage, and the duration of an outage in days. */
  readonly outage: number
  readonly outageDays: number
  /** Daily relative change of the fuel price. In a hydro market, prices depend mainly on it. */
  readonly fuel: number
  readonly steepness: number
  /** Noise of single hours and of whole days, relative to the price. */
  readonly hourNoise: number
  readonly dayNoise: number
  readonly spikes: number
  /** Changes of the price level over one or two weeks, and of the daily shape over several weeks. */
  readonly level: number
  readonly drift: number
  /** Weight of the weekend shape on weekends and holidays, 0 to 1. */
  readonly rest: number
  /** Day from which fuel costs three times as much for a year. Absent: never. */
  readonly crisisAt?: number
}

export const marketKinds: readonly MarketKind[] = [
  {
    name: 'spiky',
    winter: 0.1,
    weather: 0.05,
    wind: 0.12,
    windHours: 26,
    solar: 0.1,
    outage: 0.1,
    outageDays: 12,
    fuel: 0.008,
    steepness: 6,
    hourNoise: 0.09,
    dayNoise: 0.09,
    spikes: 0.02,
    level: 0.16,
    drift: 0.4,
    rest: 0.55,
  },
  {
    name: 'windy',
    winter: 0.06,
    weather: 0.03,
    wind: 0.4,
    windHours: 30,
    solar: 0.25,
    outage: 0.03,
    outageDays: 15,
    fuel: 0.008,
    steepness: 3,
    hourNoise: 0.04,
    dayNoise: 0.03,
    spikes: 0.003,
    level: 0.1,
    drift: 0.25,
    rest: 0.8,
  },
  {
    name: 'heated',
    winter: 0.2,
    weather: 0.09,
    wind: 0.1,
    windHours: 30,
    solar: 0.05,
    outage: 0.06,
    outageDays: 20,
    fuel: 0.008,
    steepness: 5,
    hourNoise: 0.05,
    dayNoise: 0.06,
    spikes: 0.008,
    level: 0.2,
    drift: 0.3,
    rest: 0.6,
  },
  {
    name: 'hydro',
    winter: 0.15,
    weather: 0.05,
    wind: 0.06,
    windHours: 36,
    solar: 0,
    outage: 0.03,
    outageDays: 10,
    fuel: 0.03,
    steepness: 1.6,
    hourNoise: 0.02,
    dayNoise: 0.025,
    spikes: 0.006,
    level: 0.1,
    drift: 0.4,
    rest: 0.4,
  },
  {
    name: 'cooled',
    winter: -0.12,
    weather: 0.09,
    wind: 0.04,
    windHours: 24,
    solar: 0.02,
    outage: 0.05,
    outageDays: 8,
    fuel: 0.015,
    steepness: 4.5,
    hourNoise: 0.05,
    dayNoise: 0.04,
    spikes: 0.012,
    level: 0.14,
    drift: 0.4,
    rest: 0.45,
  },
  {
    name: 'sunny',
    winter: 0.05,
    weather: 0.03,
    wind: 0.25,
    windHours: 26,
    solar: 0.6,
    outage: 0.04,
    outageDays: 12,
    fuel: 0.015,
    steepness: 4,
    hourNoise: 0.04,
    dayNoise: 0.03,
    spikes: 0.004,
    level: 0.12,
    drift: 0.3,
    rest: 0.6,
    crisisAt: 500,
  },
]

/** Return the market kind with a name. Throws if there is none. */
export const kindNamed = (name: string): MarketKind => {
  const kind = marketKinds.find(one => one.name === name)
  if (kind === undefined) throw new Error(`Unknown market kind "${name}".`)
  return kind
}

const workday = [
  0.72, 0.69, 0.67, 0.66, 0.68, 0.74, 0.86, 0.98, 1.03, 1.03, 1.02, 1.03, 1.02, 1.0, 0.98, 0.97, 0.98, 1.04, 1.08, 1.07,
  1.0, 0.93, 0.87, 0.79,
]
const restday = [
  0.7, 0.66, 0.63, 0.61, 0.61, 0.62, 0.64, 0.69, 0.76, 0.82, 0.85, 0.87, 0.87, 0.83, 0.79, 0.77, 0.79, 0.87, 0.94, 0.95,
  0.91, 0.87, 0.83, 0.76,
]
const holidays = new Set([
  '1/1',
  '1/6',
  '4/7',
  '5/1',
  '5/18',
  '7/14',
  '8/15',
  '11/1',
  '11/11',
  '12/24',
  '12/25',
  '12/26',
  '12/31',
])

const solarAt = (hour: number, season: number): number => {
  const half = 4.2 + 2.6 * season
  const from = Math.abs(hour + 0.5 - 12.5) / half
  return from >= 1 ? 0 : (0.45 + 0.55 * season) * Math.cos((from * Math.PI) / 2) ** 1.5
}

/**
 * Simulate hourly day-ahead prices in EUR/MWh from midnight UTC of a day on.
 * The demand minus wind and solar power meets a rising cost curve.
 */
export const simulateMarket = (kind: MarketKind, seed: number, firstDay: number, days: number): Float64Array => {
  const random = seededRandom(seed, kind.name)
  const normal = (): number =>
    Math.sqrt(-2 * Math.log(1 - random.fraction())) * Math.cos(2 * Math.PI * random.fraction())
  const correlatedNoise = (memory: number): { next: () => number } => {
    const phi = Math.exp(-1 / memory)
    let state = normal()
    return { next: () => (state = phi * state + Math.sqrt(1 - phi * phi) * normal()) }
  }
  const [weather, outage, wind, hourly, daily, cloud] = [
    correlatedNoise(5),
    correlatedNoise(kind.outageDays),
    correlatedNoise(kind.windHours),
    correlatedNoise(4),
    correlatedNoise(2),
    correlatedNoise(1.5),
  ]
  const [windFast, level, drift] = [correlatedNoise(8), correlatedNoise(9), correlatedNoise(25)]
  let fuel = 0
  const shapes = { work: workday, rest: restday }
  const prices = new Float64Array(days * 24)
  for (let day = 0; day < days; day += 1) {
    const { month, date } = civilDate(firstDay + day)
    const weekday = weekdayOf(firstDay + day)
    const season = -Math.cos((2 * Math.PI * (month - 1 + date / 31 - 0.7)) / 12)
    const isRest = weekday === 6 || holidays.has(`${month}/${date}`)
    const mix = kind.rest * (isRest ? 1 : weekday === 5 ? 0.7 : weekday === 0 ? 0.06 : weekday === 4 ? 0.04 : 0)
    fuel = 0.998 * fuel + kind.fuel * normal()
    const inCrisis = kind.crisisAt !== undefined && day >= kind.crisisAt && day < kind.crisisAt + 365
    const cost = Math.exp(fuel + (inCrisis ? Math.log(3) * Math.min(1, (day - (kind.crisisAt ?? 0)) / 40) : 0))
    const temperature = weather.next() * kind.weather * (0.4 + 0.6 * Math.abs(season))
    const missingCapacity = Math.max(0, 0.5 + outage.next()) * kind.outage
    const clouds = 1 / (1 + Math.exp(-1.2 * cloud.next()))
    const dayNoise = daily.next() * kind.dayNoise + level.next() * kind.level
    const amplitude = 1 + kind.drift * drift.next()
    for (let hour = 0; hour < 24; hour += 1) {
      const shape = (shapes.work[hour] as number) * (1 - mix) + (shapes.rest[hour] as number) * mix
      const base = 0.88 + (shape - 0.88) * amplitude
      const evening = (hour >= 17 && hour <= 19 ? 0.05 : 0) * Math.max(0, -season)
      const demand = base * (1 - kind.winter * season * 0.5) + evening + temperature
      const windPower =
        (kind.wind * 1.0) / (1 + Math.exp(-(1.1 * wind.next() + 0.35 * windFast.next() - 0.4 * season - 0.6)))
      const solarPower = kind.solar * solarAt(hour, season) * (0.35 + 0.65 * clouds)
      const residual = demand - windPower - solarPower + missingCapacity - 0.8 + 0.35 * kind.wind
      const rising = 38 + 30 * residual + 12 * (Math.exp(kind.steepness * Math.min(residual, 0.45)) - 1)
      // If wind and sun meet most of the demand, plants that cannot stop accept negative prices.
      const falling = residual < -0.16 ? 9 * (Math.exp(-7 * (residual + 0.16)) - 1) : 0
      const curve = rising - falling
      const spike = residual > 0.12 && random.fraction() < kind.spikes ? 40 + 120 * random.fraction() : 0
      const noise = 1 + dayNoise + kind.hourNoise * hourly.next()
      prices[day * 24 + hour] = Math.round(100 * (cost * curve * noise + spike)) / 100
    }
  }
  return prices
}
