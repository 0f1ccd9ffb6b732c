import { weekdayOf } from '../../../../services/domain/civil-date.ts'
import { seededRandom } from '../../../demo/random.ts'

/** Where a price is asked for: days and hours from the beginning, the weekday (0 is Monday), and chance, as noise of variance 1. */
type Moment = { readonly day: number; readonly hour: number; readonly weekday: number }
type Noise = {
  readonly normal: () => number
  readonly fraction: () => number
  readonly keep: (memory: number) => () => number
}
type PriceGenerator = (noise: Noise) => (moment: Moment) => number

const isWeekend = ({ weekday }: Moment): boolean => weekday > 4
/** From 1 at noon to 0 at night. */
const sun = (hour: number): number => Math.max(0, Math.cos(((hour - 12.5) * Math.PI) / 11))
/** Two peaks, in the morning and in the evening. */
const peaks = (hour: number): number => Math.exp(-(((hour - 8) / 2) ** 2)) + 1.2 * Math.exp(-(((hour - 19) / 2.5) ** 2))

/** Runs once a day, at its first hour. */
const daily = (next: () => number): ((moment: Moment) => number) => {
  let value = 0
  return ({ hour }) => {
    if (hour === 0) value = next()
    return value
  }
}

/**
 * Markets of other kinds than `marketKinds`. They model features that make forecasts fail: sudden changes, limits,
 * long equal prices, extremes, and memories of all lengths.
 */
export const unusualMarkets: Readonly<Record<string, PriceGenerator>> = {
  'one price all night, which changes weekly, and days with a memory': ({ normal, keep }) => {
    const level = daily(keep(6))
    let night = 30
    return moment => {
      if (moment.hour === 0 && moment.weekday === 0) night = 30 + 5 * Math.round(normal())
      const swing = 12 * level(moment)
      return moment.hour < 7
        ? night
        : 70 + 30 * peaks(moment.hour) * (isWeekend(moment) ? 0.5 : 1) + swing + 5 * normal()
    }
  },
  'a cap and a floor that often hold': ({ normal, keep }) => {
    const [level, hourly] = [daily(keep(8)), keep(5)]
    return moment =>
      Math.min(
        180,
        Math.max(0, 90 + 90 * level(moment) + 60 * (peaks(moment.hour) - 0.5) + 15 * hourly() + 4 * normal()),
      )
  },
  'levels that jump to three times and back': ({ fraction, normal, keep }) => {
    const hourly = keep(6)
    let level = 50
    return moment => {
      if (moment.hour === 0 && fraction() < 0.02) level = level === 50 ? 150 : 50
      return level * (1 + 0.4 * peaks(moment.hour) - (isWeekend(moment) ? 0.15 : 0) + 0.08 * hourly() + 0.02 * normal())
    }
  },
  'far below zero in the sun, by the clouds of the day': ({ normal, keep }) => {
    const [clouds, wind] = [daily(keep(1.5)), keep(30)]
    return moment => {
      const light = 1 / (1 + Math.exp(-1.5 * clouds(moment)))
      const rest = isWeekend(moment) ? 20 : 0
      return 80 + 40 * peaks(moment.hour) - rest - 140 * light * sun(moment.hour) - 20 * wind() + 4 * normal()
    }
  },
  'spikes of fifty times the price': ({ fraction, normal, keep }) => {
    const [heat, hourly] = [daily(keep(3)), keep(4)]
    return moment => {
      const chance = 0.01 * peaks(moment.hour) * Math.exp(1.2 * heat(moment))
      const spike = fraction() < chance ? 30 * Math.exp(2 + normal()) : 0
      return 30 * (1 + 0.5 * peaks(moment.hour) + 0.12 * hourly() + 0.05 * heat(moment)) + spike
    }
  },
  'weekends at half the price, and one workday in twelve like them': ({ fraction, normal, keep }) => {
    const level = daily(keep(10))
    const isHoliday = daily(() => (fraction() < 1 / 12 ? 1 : 0))
    return moment => {
      const rest = isHoliday(moment) === 1 || isWeekend(moment)
      return (rest ? 40 : 80) + (rest ? 10 : 30) * peaks(moment.hour) + 6 * level(moment) + 3 * normal()
    }
  },
  'a random walk of days': ({ normal }) => {
    let level = 100
    const walk = daily(() => (level = Math.max(20, level + 6 * normal())))
    return moment => walk(moment) + 15 * peaks(moment.hour) + 3 * normal()
  },
  'no memory at all':
    ({ normal }) =>
    () =>
      60 + 20 * normal(),
  'the same week again and again, with little noise': ({ normal }) => {
    return moment => 50 + 20 * peaks(moment.hour) + 7 * moment.weekday + (0.2 + sun(moment.hour)) * normal()
  },
  'calm weeks and wild ones': ({ normal, keep }) => {
    const [wildness, hourly, level] = [daily(keep(20)), keep(8), daily(keep(3))]
    return moment => {
      const wild = Math.exp(0.9 * wildness(moment))
      return (
        60 +
        20 * peaks(moment.hour) -
        (isWeekend(moment) ? 8 : 0) +
        wild * (6 * hourly() + 5 * level(moment) + 2 * normal())
      )
    }
  },
  'a trend that doubles in a year, and a wave over it': ({ normal, keep }) => {
    const hourly = keep(10)
    return moment =>
      40 * 2 ** (moment.day / 365) * (1 + 0.2 * Math.sin(moment.day / 9) + 0.3 * peaks(moment.hour) + 0.06 * hourly()) +
      normal()
  },
  'an evening peak that moves to the noon and back with the year': ({ normal, keep }) => {
    const level = daily(keep(5))
    return moment => {
      const noon = 0.5 + 0.5 * Math.sin(moment.day / 58)
      return 60 + 30 * peaks(moment.hour) * (1 - noon) + 30 * sun(moment.hour) * noon + 8 * level(moment) + 4 * normal()
    }
  },
}

/** Hourly prices of an odd market from midnight of a day on. */
export const unusualMarket = (name: string, seed: number, firstDay: number, days: number): Float64Array => {
  const { fraction } = seededRandom(seed, name)
  const normal = (): number => Math.sqrt(-2 * Math.log(1 - fraction())) * Math.cos(2 * Math.PI * fraction())
  const keep = (memory: number): (() => number) => {
    const decay = Math.exp(-1 / memory)
    let state = normal()
    return () => (state = decay * state + Math.sqrt(1 - decay * decay) * normal())
  }
  const generatePrice = unusualMarkets[name]
  if (generatePrice === undefined) throw new Error(`there is no market ${name}`)
  const priceAt = generatePrice({ normal, fraction, keep })
  return Float64Array.from({ length: days * 24 }, (_, place) => {
    const day = Math.floor(place / 24)
    return Math.round(100 * priceAt({ day, hour: place % 24, weekday: weekdayOf(firstDay + day) })) / 100
  })
}
