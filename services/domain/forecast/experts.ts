import { type Blocks, hoursOfBlock } from './blocks.ts'
import { blockAnomaly, type OriginFacts, originFacts, profileBase } from './features.ts'
import { type Bench, leadDays, learnHour, leastDays, openBench } from './regression.ts'

/** Past days whose errors tell what to expect. */
export const errorDays = 112
/** The days after which an expert's error weighs half. */
const halfLifeDays = 60
/** Days to learn from with which the regressions have their full weight. */
const fullDays = 84
/** The weight of the profile beside what was learned, and how much of the last day's anomaly it carries on, one to five days ahead. */
const profileShares = [0.25, 0.35, 0.4, 0.45, 0.5]
const carried = [0.75, 0.5, 0.35, 0.27, 0.2]
/** The parts of the profile's weight that what is simpler has when all err alike: beside much to learn from, and more where there is none. */
const sameDayShares = { learned: 0.1, alone: 0.3 }
const repeatShares = { learned: 0.03, alone: 0.25 }
/** How fast an expert that errs more loses its weight, and the least error that is told apart from none, as a share of the profile's. */
const severity = 4
const leastError = 0.02

/** What the experts look at, gathered once for a forecast; no `facts` where there is too little to learn from. */
type Panel = {
  readonly blocks: Blocks
  readonly facts: readonly OriginFacts[] | null
  readonly anomalies: Float64Array
  readonly bench: Bench
}

/** Gather what the experts look at. */
export const openPanel = (blocks: Blocks): Panel => {
  const { days } = blocks
  const anomalies = new Float64Array(days)
  for (let block = Math.min(7, days - 1); block < days; block += 1) anomalies[block] = blockAnomaly(blocks, block, block)
  const learns = days >= leadDays + leastDays
  const facts = learns ? Array.from({ length: days }, (_, block) => originFacts(blocks, block)) : null
  return { blocks, facts, anomalies, bench: openBench(learns ? days : 0) }
}

/**
 * What one or more experts say of the hours of a day ahead, on the stabilised scale. `misses` at age × 24 + hour: what they missed on past
 * days; NaN where that is not known.
 */
export type DayGuess = { readonly said: Float64Array; readonly misses: Float64Array }

const emptyGuess = (): DayGuess => ({ said: new Float64Array(hoursOfBlock), misses: new Float64Array(errorDays * hoursOfBlock) })

/** What the experts that do not learn say of an hour of a block when `from` is the last block known. */
const experience = ({ blocks, anomalies }: Panel, from: number, block: number, hour: number): readonly number[] => {
  const carry = carried[block - from - 1] as number
  const place = block * hoursOfBlock + hour
  return [
    profileBase(blocks, from, block, hour) + carry * (anomalies[from] as number),
    (blocks.levels[from] as number) + (blocks.sameDayShapes[place] as number),
    blocks.z[place - 7 * hoursOfBlock] as number,
  ]
}

const hoursAtATime = 6

/** Ask all experts: the profile, the same weekdays alone, the week before repeated, and the regressions. */
function* consult(panel: Panel, ahead: number): Generator<void, readonly DayGuess[]> {
  const { blocks, facts, bench } = panel
  const origin = blocks.days - 1
  const guesses = Array.from({ length: facts === null ? 3 : 4 }, emptyGuess)
  for (const { misses } of guesses) misses.fill(Number.NaN)
  for (let hour = 0; hour < hoursOfBlock; hour += 1) {
    if (hour % hoursAtATime === 0) yield
    const learned = facts === null ? null : learnHour({ blocks, facts, ahead, hour }, errorDays, bench)
    const say = (values: readonly number[], set: (guess: DayGuess, value: number) => void): void => {
      for (const [expert, value] of values.entries()) set(guesses[expert] as DayGuess, value)
    }
    const said = experience(panel, origin, origin + ahead, hour)
    say(learned === null ? said : [...said, learned.value], (guess, value) => {
      guess.said[hour] = value
    })
    for (let age = 0; origin - age - ahead >= 7 && age < errorDays; age += 1) {
      const block = origin - age
      const place = block * hoursOfBlock + hour
      if (blocks.known[place] === 0) continue
      const missed = experience(panel, block - ahead, block, hour).map(value => (blocks.z[place] as number) - value)
      say(learned === null ? missed : [...missed, learned.misses[age] ?? Number.NaN], (guess, miss) => {
        guess.misses[age * hoursOfBlock + hour] = miss
      })
    }
  }
  return guesses
}

const meanError = ({ misses }: DayGuess): number => {
  let [sum, weights] = [0, 0]
  for (const [place, miss] of misses.entries()) {
    if (Number.isNaN(miss)) continue
    const weight = 0.5 ** (Math.floor(place / hoursOfBlock) / halfLifeDays)
    sum += weight * Math.abs(miss)
    weights += weight
  }
  return weights === 0 ? 0 : sum / weights
}

const weightsOf = ({ blocks, facts }: Panel, ahead: number, guesses: readonly DayGuess[]): readonly number[] => {
  // What was learned from few days counts for less.
  const trained = facts === null ? 0 : Math.min(1, (blocks.days - leadDays) / fullDays)
  const ofProfile = 1 - (1 - (profileShares[ahead - 1] as number)) * trained
  const [sameDay, repeat] = [sameDayShares, repeatShares].map(({ learned, alone }) => alone + (learned - alone) * trained) as [
    number,
    number,
  ]
  const alike = [1 - sameDay - repeat, sameDay, repeat].map(share => share * ofProfile)
  const errors = guesses.map(meanError)
  const typical = Math.max(errors[0] ?? 0, Number.MIN_VALUE)
  const weights = errors.map((error, expert) => (alike[expert] ?? 1 - ofProfile) / (leastError + error / typical) ** severity)
  const sum = weights.reduce((all, one) => all + one, 0)
  return weights.map(weight => weight / sum)
}

/**
 * Say what the hours of a day ahead (1 … 5) are expected to be: the mean of all experts, of whom those that erred less of late weigh more.
 * Yields between slices of some milliseconds.
 * Source: Timmermann, Forecast Combinations (2006), https://doi.org/10.1016/S1574-0706(05)01004-9.
 */
export function* guessDay(panel: Panel, ahead: number): Generator<void, DayGuess> {
  const guesses = yield* consult(panel, ahead)
  const mean = emptyGuess()
  for (const [expert, weight] of weightsOf(panel, ahead, guesses).entries()) {
    const { said, misses } = guesses[expert] as DayGuess
    for (const [hour, value] of said.entries()) mean.said[hour] = (mean.said[hour] as number) + weight * value
    for (const [place, miss] of misses.entries()) mean.misses[place] = (mean.misses[place] as number) + weight * miss
  }
  return mean
}
