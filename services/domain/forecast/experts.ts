import { type Blocks, hoursPerBlock } from './blocks.ts'
import { blockAnomaly, gatherOriginFacts, type OriginFacts, profileBase } from './features.ts'
import { createWorkspace, fitHour, minTrainingDays, type RegressionWorkspace, warmUpDays } from './regression.ts'

/** Number of past days whose errors estimate future errors. */
export const errorDays = 112
/** Age in days at which the error of an expert has half weight. */
const halfLifeDays = 60
/** Training days at which the regressions have their full weight. */
const fullTrainingDays = 84
/**
 * Weight of the profile relative to the regressions, and the share of the last day's anomaly that it continues, for one
 * to five days ahead.
 */
const profileShares = [0.25, 0.35, 0.4, 0.45, 0.5]
const carriedShares = [0.75, 0.5, 0.35, 0.27, 0.2]
/** Shares of the profile's weight for simpler experts with equal errors: with regressions, and (larger) without. */
const sameDayShares = { fitted: 0.1, alone: 0.3 }
const lastWeekShares = { fitted: 0.03, alone: 0.25 }
/**
 * Exponent by which an expert with larger errors loses weight, and the smallest error that counts, as a share of the
 * profile's error.
 */
const errorExponent = 4
const minErrorShare = 0.02

/** Input of the experts, collected once per forecast. `facts` is null if there is too little training data. */
type ExpertPanel = {
  readonly blocks: Blocks
  readonly facts: readonly OriginFacts[] | null
  readonly anomalies: Float64Array
  readonly workspace: RegressionWorkspace
}

/** Collect the input of the experts. */
export const createExpertPanel = (blocks: Blocks): ExpertPanel => {
  const { days } = blocks
  const anomalies = new Float64Array(days)
  for (let block = Math.min(7, days - 1); block < days; block += 1)
    anomalies[block] = blockAnomaly(blocks, block, block)
  const canLearn = days >= warmUpDays + minTrainingDays
  const facts = canLearn ? Array.from({ length: days }, (_, block) => gatherOriginFacts(blocks, block)) : null
  return { blocks, facts, anomalies, workspace: createWorkspace(canLearn ? days : 0) }
}

/**
 * Prediction for the hours of a day ahead, on the stabilised scale. `residuals` at age × 24 + hour are those of past
 * days; NaN if unknown.
 */
export type DayPrediction = { readonly values: Float64Array; readonly residuals: Float64Array }

const emptyPrediction = (): DayPrediction => ({
  values: new Float64Array(hoursPerBlock),
  residuals: new Float64Array(errorDays * hoursPerBlock),
})

/** Return the predictions of the experts without training for an hour of a block, if `from` is the last known block. */
const baselinePredictions = (
  { blocks, anomalies }: ExpertPanel,
  from: number,
  block: number,
  hour: number,
): readonly number[] => {
  const carriedShare = carriedShares[block - from - 1] as number
  const index = block * hoursPerBlock + hour
  return [
    profileBase(blocks, from, block, hour) + carriedShare * (anomalies[from] as number),
    (blocks.levels[from] as number) + (blocks.sameDayShapes[index] as number),
    blocks.scaled[index - 7 * hoursPerBlock] as number,
  ]
}

/** Ask all experts: the profile, the same weekdays alone, the week before repeated, and the regressions. */
const askExperts = (panel: ExpertPanel, daysAhead: number): readonly DayPrediction[] => {
  const { blocks, facts, workspace } = panel
  const origin = blocks.days - 1
  const predictions = Array.from({ length: facts === null ? 3 : 4 }, emptyPrediction)
  for (const { residuals } of predictions) residuals.fill(Number.NaN)
  for (let hour = 0; hour < hoursPerBlock; hour += 1) {
    const fitted = facts === null ? null : fitHour({ blocks, facts, daysAhead, hour }, errorDays, workspace)
    const setValues = (values: readonly number[], set: (prediction: DayPrediction, value: number) => void): void => {
      for (const [expert, value] of values.entries()) set(predictions[expert] as DayPrediction, value)
    }
    const values = baselinePredictions(panel, origin, origin + daysAhead, hour)
    setValues(fitted === null ? values : [...values, fitted.value], (prediction, value) => {
      prediction.values[hour] = value
    })
    for (let daysAgo = 0; origin - daysAgo - daysAhead >= 7 && daysAgo < errorDays; daysAgo += 1) {
      const block = origin - daysAgo
      const index = block * hoursPerBlock + hour
      if (blocks.known[index] === 0) continue
      const residuals = baselinePredictions(panel, block - daysAhead, block, hour).map(
        value => (blocks.scaled[index] as number) - value,
      )
      setValues(
        fitted === null ? residuals : [...residuals, fitted.residuals[daysAgo] ?? Number.NaN],
        (prediction, residual) => {
          prediction.residuals[daysAgo * hoursPerBlock + hour] = residual
        },
      )
    }
  }
  return predictions
}

const meanError = ({ residuals }: DayPrediction): number => {
  let [sum, weights] = [0, 0]
  for (const [index, residual] of residuals.entries()) {
    if (Number.isNaN(residual)) continue
    const weight = 0.5 ** (Math.floor(index / hoursPerBlock) / halfLifeDays)
    sum += weight * Math.abs(residual)
    weights += weight
  }
  return weights === 0 ? 0 : sum / weights
}

const weightsOf = (
  { blocks, facts }: ExpertPanel,
  daysAhead: number,
  predictions: readonly DayPrediction[],
): readonly number[] => {
  // A model trained on few days counts for less.
  const trainedShare = facts === null ? 0 : Math.min(1, (blocks.days - warmUpDays) / fullTrainingDays)
  const profileWeight = 1 - (1 - (profileShares[daysAhead - 1] as number)) * trainedShare
  const [sameDay, lastWeek] = [sameDayShares, lastWeekShares].map(
    ({ fitted, alone }) => alone + (fitted - alone) * trainedShare,
  ) as [number, number]
  const priorWeights = [1 - sameDay - lastWeek, sameDay, lastWeek].map(share => share * profileWeight)
  const errors = predictions.map(meanError)
  const typical = Math.max(errors[0] ?? 0, Number.MIN_VALUE)
  const weights = errors.map(
    (error, expert) => (priorWeights[expert] ?? 1 - profileWeight) / (minErrorShare + error / typical) ** errorExponent,
  )
  const sum = weights.reduce((all, one) => all + one, 0)
  return weights.map(weight => weight / sum)
}

/**
 * Predict the hours of a day ahead (1 … 5): the weighted mean of all experts. Experts with smaller recent errors have
 * more weight.
 * Source: Timmermann, Forecast Combinations (2006), https://doi.org/10.1016/S1574-0706(05)01004-9.
 */
export const predictDay = (panel: ExpertPanel, daysAhead: number): DayPrediction => {
  const predictions = askExperts(panel, daysAhead)
  const mean = emptyPrediction()
  for (const [expert, weight] of weightsOf(panel, daysAhead, predictions).entries()) {
    const { values, residuals } = predictions[expert] as DayPrediction
    for (const [hour, value] of values.entries()) mean.values[hour] = (mean.values[hour] as number) + weight * value
    for (const [index, residual] of residuals.entries())
      mean.residuals[index] = (mean.residuals[index] as number) + weight * residual
  }
  return mean
}
