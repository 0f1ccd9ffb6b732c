import { formatThousands } from '../../contract/message-text.ts'
import {
  type SimulatedCandidate,
  type SimulationRequest,
  simulationLimits,
} from '../../contract/simulations/simulation-request.ts'
import { noNamedObject } from '../../domain/no-object.ts'
import { accepted, type Refusal, type Result, refused } from '../../domain/refusal.ts'
import type { Tariff } from '../../domain/tariff/tariff.ts'
import { retrieveMarket } from '../../platform/postgres/pricing/markets.ts'
import { findActiveDevices } from '../../platform/postgres/registry/devices.ts'
import {
  locationsOfCustomer,
  type SimulatedLocationRow,
  simulatedLocations,
} from '../../platform/postgres/simulations/simulated-locations.ts'
import type { TenantTransaction } from '../../platform/postgres/transaction.ts'
import { type BillingTerms, loadAllBillingTerms, type StatementStores } from '../statements/gather-statement.ts'
import type { SimulatedPlans } from './load-plans.ts'

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
  if (market === null) return noNamedObject('market source', field).refusal
  if (market.currencyCode === currency) return null
  const message = `The market source is in ${market.currencyCode}: choose a source in ${currency}`
  return refused('currency_mismatch', message, field).refusal
}

/** Refuse several currencies, plans of another currency, and market sources that are unknown or have another currency. */
const validateCurrencies = async (
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
const findMissingDevice = async (
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
    if (!found.has(id)) return noNamedObject('device', path).refusal
  }
  return null
}

/** Location of a simulation, with its market sources and the terms of its bills. */
export type SimulatedSite = { readonly location: SimulatedLocationRow; readonly terms: BillingTerms }

const { locations: maxLocations } = simulationLimits

const findLocations = async (
  transaction: TenantTransaction,
  { locationIds, customerId }: Pick<SimulationRequest, 'locationIds' | 'customerId'>,
): Promise<Result<readonly SimulatedLocationRow[]>> => {
  if (locationIds !== null) {
    const found = new Map((await simulatedLocations(transaction, locationIds)).map(one => [one.id, one]))
    const unknown = locationIds.findIndex(id => !found.has(id))
    return unknown < 0
      ? accepted(locationIds.flatMap(id => found.get(id) ?? []))
      : noNamedObject('location', `object_ids[${unknown}]`)
  }
  const ofCustomer = await locationsOfCustomer(transaction, customerId ?? '', maxLocations + 1)
  if (ofCustomer === null) return noNamedObject('customer', 'customer_id')
  if (ofCustomer.length === 0) return refused('location_not_found', 'The customer has no locations', 'customer_id')
  return ofCustomer.length > maxLocations
    ? refused(
        'value_out_of_range',
        `The customer has more than ${formatThousands(maxLocations)} locations: name some of them in object_ids`,
        'customer_id',
      )
    : accepted(ofCustomer)
}

/**
 * Load the locations of a simulation, in the order of the request. Refuses unknown locations, customers and devices,
 * several currencies, and plans and market sources of another currency.
 */
export const loadSites = async (
  stores: Pick<StatementStores, 'timeZone'>,
  transaction: TenantTransaction,
  request: SimulationRequest,
  plans: SimulatedPlans,
): Promise<Result<readonly SimulatedSite[]>> => {
  const locations = await findLocations(transaction, request)
  if (!locations.ok) return locations
  const refusal =
    (await validateCurrencies(transaction, request, locations.value, plans)) ??
    (await findMissingDevice(transaction, request))
  if (refusal !== null) return { ok: false, refusal }
  const ids = locations.value.map(({ id }) => id)
  const termsOf = await loadAllBillingTerms(stores, transaction, ids)
  return accepted(
    locations.value.flatMap(location => {
      const terms = termsOf.get(location.id)
      return terms === undefined ? [] : [{ location, terms }]
    }),
  )
}
