import { type SimulationRequest, simulationLimits } from '../../contract/simulations/simulation-request.ts'
import { noNamedObject } from '../../domain/no-object.ts'
import { accepted, type Result, refused } from '../../domain/refusal.ts'
import type { SimulatedPlan } from '../../domain/simulation/plan-prices.ts'
import { lengthOfPrices, readPlanPrices } from '../../platform/postgres/plans/plan-prices.ts'
import { lockPlan, versionsOfPlans } from '../../platform/postgres/plans/plans.ts'
import type { TenantTransaction } from '../../platform/postgres/transaction.ts'

/** Plans of candidates by their ids. */
export type SimulatedPlans = ReadonlyMap<string, SimulatedPlan>

const readPlan = async (
  transaction: TenantTransaction,
  { id, currencyCode }: Pick<SimulatedPlan, 'id' | 'currencyCode'>,
): Promise<SimulatedPlan> => {
  const versions = await versionsOfPlans(transaction, [id])
  const pricesOf = await readPlanPrices(transaction, id)
  return {
    id,
    currencyCode,
    versions: versions.map(({ version, startDay }) => ({ version, startDay, ...pricesOf(version) })),
  }
}

/**
 * Load the plans of the candidates with all their versions, each plan once.
 * Refuses `plan_not_found`, and `value_out_of_range` for plans with more than 1 MiB of prices.
 */
export const loadPlans = async (
  transaction: TenantTransaction,
  { candidates }: SimulationRequest,
): Promise<Result<SimulatedPlans>> => {
  const plans = new Map<string, SimulatedPlan>()
  let bytes = 0
  for (const [index, { planId }] of candidates.entries()) {
    if (planId === null || plans.has(planId)) continue
    const field = `candidates[${index}].plan_id`
    // The lock keeps versions and prices together while they are read one after the other.
    const plan = await lockPlan(transaction, planId, 'share')
    if (plan === null) return noNamedObject('plan', field)
    bytes += await lengthOfPrices(transaction, planId)
    if (bytes > simulationLimits.planBytes) {
      const message = `The plans of the candidates have more than ${simulationLimits.planBytes / 2 ** 20} MiB of prices. Simulate fewer plans at once`
      return refused('value_out_of_range', message, field)
    }
    plans.set(planId, await readPlan(transaction, plan))
  }
  return accepted(plans)
}
