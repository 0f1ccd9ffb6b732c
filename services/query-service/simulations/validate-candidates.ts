import {
  type SimulatedCandidate,
  type SimulationRequest,
  simulationLimits,
} from '../../contract/simulations/simulation-request.ts'
import { validateChargeDays } from '../../domain/charge/validate-charge.ts'
import { type Refusal, refused } from '../../domain/refusal.ts'
import type { Tariff } from '../../domain/tariff/tariff.ts'
import { validateSpecialDaysInSteps } from '../../domain/tariff/validate-coverage.ts'
import { retrieveMarket } from '../../platform/postgres/pricing/markets.ts'
import { findActiveDevices } from '../../platform/postgres/registry/devices.ts'
import type { SimulatedLocationRow } from '../../platform/postgres/simulations/simulated-locations.ts'
import type { TenantTransaction } from '../../platform/postgres/transaction.ts'
import { candidateAt } from './candidate-at.ts'
import type { SimulatedPlans } from './load-plans.ts'
import type { SimulatedSite } from './simulation-sites.ts'

type MarketTariff = Pick<Tariff, 'marketRates' | 'direction'> & { readonly field: string }

/** List the tariffs of a candidate, or of its plan, with the field that a refusal names. */
const namedTariffs = (
  { tariffs, planId }: SimulatedCandidate,
  path: string,
  plans: SimulatedPlans,
): readonly MarketTariff[] => {
  if (tariffs !== null)
    return tariffs.map((tariff, index) => ({ ...tariff, field: `${path}.tariffs[${index}].market_rates` }))
  const versions = planId === null ? [] : (plans.get(planId)?.versions ?? [])
  return versions.flatMap(version => version.tariffs.map(tariff => ({ ...tariff, field: `${path}.plan_id` })))
}

const refuseMarket = async (
  transaction: TenantTransaction,
  marketSourceId: string,
  currency: string | undefined,
  field: string,
): Promise<Refusal | null> => {
  const market = await retrieveMarket(transaction, marketSourceId)
  if (market === null) return refused('market_source_not_found', 'No market source has this id', field).refusal
  if (market.currencyCode === currency) return null
  const message = `The market source is in ${market.currencyCode}: choose a source in ${currency}`
  return refused('currency_mismatch', message, field).refusal
}

/** Refuse several currencies, plans of another currency, and market sources that are unknown or have another currency. */
export const validateCurrencies = async (
  transaction: TenantTransaction,
  { candidates }: SimulationRequest,
  locations: readonly SimulatedLocationRow[],
  plans: SimulatedPlans,
): Promise<Refusal | null> => {
  const currencies = [...new Set(locations.map(({ currencyCode }) => currencyCode))].sort()
  const [currency] = currencies
  if (currencies.length > 1) {
    const message = `The locations have the currencies ${currencies.join(', ')}: simulate those of one currency`
    return refused('currency_mismatch', message).refusal
  }
  for (const [index, candidate] of candidates.entries()) {
    const path = `candidates[${index}]`
    const { planId, marketSourceId } = candidate
    const plan = planId === null ? undefined : plans.get(planId)
    if (plan !== undefined && plan.currencyCode !== currency) {
      const message = `The plan is in ${plan.currencyCode}, and the locations in ${currency}: use a plan in ${currency}`
      return refused('currency_mismatch', message, `${path}.plan_id`).refusal
    }
    if (marketSourceId !== null) {
      const refusal = await refuseMarket(transaction, marketSourceId, currency, `${path}.market_source_id`)
      if (refusal !== null) return refusal
      continue
    }
    for (const { marketRates, direction, field } of namedTariffs(candidate, path, plans)) {
      const without = locations.find(
        ({ importCurrency, exportCurrency }) => (direction === 'EXPORT' ? exportCurrency : importCurrency) !== currency,
      )
      if (!marketRates || without === undefined) continue
      const message = `Location ${without.id} has no market source in ${currency}: set market_source_id of the candidate`
      return refused('currency_mismatch', message, field).refusal
    }
  }
  return null
}

/** Refuse the first device of a charge that does not exist. */
export const findMissingDevice = async (
  transaction: TenantTransaction,
  { candidates }: SimulationRequest,
): Promise<Refusal | null> => {
  const named = new Map<string, string>()
  for (const [index, { charges }] of candidates.entries()) {
    for (const [place, terms] of (charges ?? []).entries()) {
      const ids = ('deviceIds' in terms ? terms.deviceIds : null) ?? []
      for (const [position, id] of ids.entries())
        if (!named.has(id)) named.set(id, `candidates[${index}].charges[${place}].device_ids[${position}]`)
    }
  }
  if (named.size === 0) return null
  const found = await findActiveDevices(transaction, [...named.keys()])
  for (const [id, path] of named) {
    if (!found.has(id)) return refused('device_not_found', 'No device has this id', path).refusal
  }
  return null
}

function* validateCandidate(
  candidate: SimulatedCandidate,
  path: string,
  { terms }: SimulatedSite,
  plans: SimulatedPlans,
  range: SimulationRequest,
): Generator<unknown, Refusal | null> {
  const { tariffs, charges } = candidateAt(candidate, terms, plans, range)
  const of = ({ code, message, field }: Refusal, member: string, isOfPlan: boolean): Refusal => ({
    code,
    message: `${message}, at location ${terms.location.id}`,
    field: isOfPlan ? `${path}.plan_id` : [path, member, ...(field === undefined ? [] : [field])].join('.'),
  })
  for (const [index, { schedule }] of (tariffs ?? []).entries()) {
    const refusal = yield* validateSpecialDaysInSteps(schedule, terms.calendar)
    if (refusal !== undefined) return of(refusal, `tariffs[${index}]`, candidate.tariffs === null)
  }
  if (candidate.charges === null && candidate.planId === null) return null
  if (charges.length > simulationLimits.charges) {
    const message = `The plan has ${charges.length} charges in these days: at most ${simulationLimits.charges} are allowed`
    return refused('charge_invalid', message, `${path}.plan_id`).refusal
  }
  for (const [index, charge] of charges.entries()) {
    const refusal = yield* validateChargeDays(charge, terms.calendar)
    if (refusal !== null) return of(refusal, `charges[${index}]`, candidate.charges === null)
  }
  return null
}

/** Refuse special days of candidates that the calendar of a location does not have, with pauses. */
export function* refuseSpecialDays(
  request: SimulationRequest,
  sites: readonly SimulatedSite[],
  plans: SimulatedPlans,
): Generator<unknown, Refusal | null> {
  for (const site of sites) {
    for (const [index, candidate] of request.candidates.entries()) {
      const refusal = yield* validateCandidate(candidate, `candidates[${index}]`, site, plans, request)
      if (refusal !== null) return refusal
    }
    yield
  }
  return null
}
