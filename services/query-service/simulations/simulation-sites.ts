import { formatThousands } from '../../contract/message-text.ts'
import { type SimulationRequest, simulationLimits } from '../../contract/simulations/simulation-request.ts'
import { accepted, type Result, refused } from '../../domain/refusal.ts'
import {
  locationsOfCustomer,
  type SimulatedLocationRow,
  simulatedLocations,
} from '../../platform/postgres/simulations/simulated-locations.ts'
import type { TenantTransaction } from '../../platform/postgres/transaction.ts'
import { type BillingTerms, loadAllBillingTerms, type StatementStores } from '../statements/gather-statement.ts'
import type { SimulatedPlans } from './load-plans.ts'
import { findMissingDevice, validateCurrencies } from './validate-candidates.ts'

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
      : refused('location_not_found', 'No location has this id', `object_ids[${unknown}]`)
  }
  const ofCustomer = await locationsOfCustomer(transaction, customerId ?? '', maxLocations + 1)
  if (ofCustomer === null) return refused('customer_not_found', 'No customer has this id', 'customer_id')
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
