import {
  type SimulatedCandidate,
  type SimulationRequest,
  simulationLimits,
} from '../../contract/simulations/simulation-request.ts'
import { validateChargeDays } from '../../domain/charge/validate-charge.ts'
import { type Refusal, refused } from '../../domain/refusal.ts'
import { validateSpecialDays } from '../../domain/tariff/validate-coverage.ts'
import { startTimeSlices } from '../../platform/concurrency/time-slices.ts'
import { candidateAt } from './candidate-at.ts'
import type { SimulatedPlans } from './load-plans.ts'
import type { SimulatedSite } from './simulation-sites.ts'

const validateCandidate = (
  candidate: SimulatedCandidate,
  path: string,
  { terms }: SimulatedSite,
  plans: SimulatedPlans,
  range: SimulationRequest,
): Refusal | null => {
  const { tariffs, charges } = candidateAt(candidate, terms, plans, range)
  const of = ({ code, message, field }: Refusal, member: string, isOfPlan: boolean): Refusal => ({
    code,
    message: `${message}, at location ${terms.location.id}`,
    field: isOfPlan ? `${path}.plan_id` : [path, member, ...(field === undefined ? [] : [field])].join('.'),
  })
  for (const [index, { schedule }] of (tariffs ?? []).entries()) {
    const refusal = validateSpecialDays(schedule, terms.calendar)
    if (refusal !== undefined) return of(refusal, `tariffs[${index}]`, candidate.tariffs === null)
  }
  if (candidate.charges === null && candidate.planId === null) return null
  if (charges.length > simulationLimits.charges) {
    const message = `The plan has ${charges.length} charges in these days: at most ${simulationLimits.charges} are allowed`
    return refused('charge_invalid', message, `${path}.plan_id`).refusal
  }
  for (const [index, charge] of charges.entries()) {
    const refusal = validateChargeDays(charge, terms.calendar)
    if (refusal !== null) return of(refusal, `charges[${index}]`, candidate.charges === null)
  }
  return null
}

/** Refuse special days of candidates that the calendar of a location does not have. Other work runs between locations. */
export const refuseSpecialDays = async (
  request: SimulationRequest,
  sites: readonly SimulatedSite[],
  plans: SimulatedPlans,
  account: string,
): Promise<Refusal | null> => {
  const slices = startTimeSlices(account)
  for (const site of sites) {
    for (const [index, candidate] of request.candidates.entries()) {
      const refusal = validateCandidate(candidate, `candidates[${index}]`, site, plans, request)
      if (refusal !== null) return refusal
    }
    if (slices.isOver()) await slices.pause()
  }
  return null
}
