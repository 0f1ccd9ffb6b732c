import type { CandidateTariff, SimulatedCandidate } from '../../contract/simulations/simulation-request.ts'
import type { Charge, ChargeTerms } from '../../domain/charge/charge.ts'
import type { DayRange } from '../../domain/charge/charge-days.ts'
import { chargesOfPlan, tariffsOfPlan } from '../../domain/simulation/plan-prices.ts'
import type { BillingTerms } from '../statements/gather-statement.ts'
import type { SimulatedPlans } from './load-plans.ts'

/** Tariffs and charges of a candidate at a location. `tariffs` null: those of the stored costs. */
export type CandidateAt = Pick<SimulatedCandidate, 'marketSourceId'> & {
  readonly tariffs: readonly CandidateTariff[] | null
  readonly charges: readonly Charge[]
}

const chargesFrom = (terms: readonly ChargeTerms[]): readonly Charge[] =>
  terms.map((one, index): Charge => ({ ...one, id: `charges[${index}]`, planId: null }))

/** Return the charges of a candidate or its plan on some days; null: the candidate has the stored charges. */
export const ownChargesOf = (
  { charges, planId }: Pick<SimulatedCandidate, 'charges' | 'planId'>,
  plans: SimulatedPlans,
  range: DayRange,
): readonly ChargeTerms[] | null => {
  const plan = planId === null ? undefined : plans.get(planId)
  return charges ?? (plan === undefined ? null : chargesOfPlan(plan, range))
}

/** Return the tariffs and charges of a candidate at a location. Members of the candidate replace those of its plan. */
export const candidateAt = (
  { tariffs, charges, planId, marketSourceId }: SimulatedCandidate,
  { timeZone, charges: stored }: Pick<BillingTerms, 'timeZone' | 'charges'>,
  plans: SimulatedPlans,
  range: DayRange,
): CandidateAt => {
  const plan = planId === null ? undefined : plans.get(planId)
  const terms = ownChargesOf({ charges, planId }, plans, range)
  return {
    tariffs: tariffs ?? (plan === undefined ? null : tariffsOfPlan(plan, timeZone)),
    charges: terms === null ? stored : chargesFrom(terms),
    marketSourceId,
  }
}
