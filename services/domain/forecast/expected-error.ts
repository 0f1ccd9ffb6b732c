import { hoursOfBlock } from './blocks.ts'
import { errorDays } from './experts.ts'

/** Past forecasts of days so far ahead, at age × 24 + hour: absolute errors in price (NaN: not known), and the slope of the scale there. */
export type PastErrors = { readonly errors: Float64Array; readonly slopes: Float64Array }

/** The days after which an error weighs half. */
const halfLifeDays = 50
/** How many of the last days tell whether times are wild, and what each counts for less than the one after it. */
const lastDays = 4
const fading = 0.7
/** Errors below this share of the mean one are not told apart. */
const leastShare = 0.2
/** What the diagonal is loaded with, and how far (as a logarithm) the moment may lift or lower what is expected. */
const load = 100
const most = 1.2
/** Errors without which nothing is told from the moment. */
const leastErrors = 240

/** The mean past error of each hour; `prior` stands for a day's until there are some. */
export const hourlyErrors = ({ errors }: PastErrors, prior: number): Float64Array => {
  const means = new Float64Array(hoursOfBlock)
  for (let hour = 0; hour < hoursOfBlock; hour += 1) {
    let [sum, weights] = [prior, 1]
    for (let age = 0; age < errorDays; age += 1) {
      const error = errors[age * hoursOfBlock + hour] as number
      if (Number.isNaN(error)) continue
      const weight = 0.5 ** (age / halfLifeDays)
      sum += weight * error
      weights += weight
    }
    means[hour] = sum / weights
  }
  return means
}

const meanOf = (values: Float64Array): number => values.reduce((sum, value) => sum + value, 0) / values.length

/** How large errors of one day ahead were of late, seen so many days ago, as a logarithm; null where that is not known. */
const unrest = ({ errors }: PastErrors, age: number, least: number): number | null => {
  let [sum, weights] = [0, 0]
  for (let back = 0; back < lastDays; back += 1) {
    for (let hour = 0; hour < hoursOfBlock; hour += 1) {
      const error = errors[(age + back) * hoursOfBlock + hour] ?? Number.NaN
      if (Number.isNaN(error)) continue
      sum += fading ** back * error
      weights += fading ** back
    }
  }
  return weights === 0 ? null : Math.log(sum / weights + least)
}

/** A past error: by how much it passed that of its hour, and the two features that are to explain it; all as logarithms. */
type Sample = { readonly slope: number; readonly unrest: number; readonly excess: number }

const samplesOf = (past: PastErrors, dayAhead: PastErrors, ahead: number, hourly: Float64Array): readonly Sample[] => {
  const mean = meanOf(hourly)
  const samples: Sample[] = []
  for (let age = 0; age < errorDays; age += 1) {
    const seen = unrest(dayAhead, age + ahead, mean * leastShare)
    if (seen === null) continue
    for (let hour = 0; hour < hoursOfBlock; hour += 1) {
      const place = age * hoursOfBlock + hour
      const error = past.errors[place] as number
      if (Number.isNaN(error)) continue
      const excess = Math.log((error + leastShare * mean) / ((hourly[hour] as number) + leastShare * mean))
      samples.push({ slope: Math.log(past.slopes[place] as number), unrest: seen, excess })
    }
  }
  return samples
}

/**
 * Tell by which factors the errors of a day ahead are expected above or below those of its hours: from how large errors were of late, and from
 * how far the forecast lies from usual prices (`slopes`, of the scale at each hour). Both are learned from past errors, by ridge regression of
 * their logarithms. All 1 where there are too few. `dayAhead` are the errors of one day ahead.
 */
export const errorFactors = (
  past: PastErrors,
  dayAhead: PastErrors,
  ahead: number,
  hourly: Float64Array,
  slopes: Float64Array,
): Float64Array => {
  const factors = new Float64Array(hoursOfBlock).fill(1)
  const samples = meanOf(hourly) > 0 ? samplesOf(past, dayAhead, ahead, hourly) : []
  const now = unrest(dayAhead, 0, meanOf(hourly) * leastShare)
  if (samples.length < leastErrors || now === null) return factors
  const mean = (of: (sample: Sample) => number): number => samples.reduce((sum, one) => sum + of(one), 0) / samples.length
  const middle = { slope: mean(one => one.slope), unrest: mean(one => one.unrest), excess: mean(one => one.excess) }
  let [a, b, c, p, q] = [load, 0, load, 0, 0]
  for (const one of samples) {
    const [u, v, y] = [one.slope - middle.slope, one.unrest - middle.unrest, one.excess - middle.excess]
    a += u * u
    b += u * v
    c += v * v
    p += u * y
    q += v * y
  }
  const [bySlope, byUnrest] = [(p * c - q * b) / (a * c - b * b), (a * q - b * p) / (a * c - b * b)]
  return factors.map((_, hour) => {
    const lift = bySlope * (Math.log(slopes[hour] as number) - middle.slope) + byUnrest * (now - middle.unrest)
    return Math.exp(Math.min(most, Math.max(-most, lift)))
  })
}
