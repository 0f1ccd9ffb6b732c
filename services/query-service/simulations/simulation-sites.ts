import { formatThousands } from '../../contract/message-text.ts'
import type { SimulatedCandidate, SimulationRequest } from '../../contract/simulations/simulation-request.ts'
import { simulationLimits } from '../../contract/simulations/simulation-request.ts'
import { validateWindowDays } from '../../domain/charge/validate-charge.ts'
import { accepted, type Refusal, type Result, refused } from '../../domain/refusal.ts'
import { specialDaysOf } from '../../domain/tariff/special-days.ts'
import type { ScheduleEntry } from '../../domain/tariff/tariff.ts'
import { validateSpecialDaysInSteps } from '../../domain/tariff/validate-coverage.ts'
import { retrieveMarket } from '../../platform/postgres/pricing/markets.ts'
import { findActiveDevices } from '../../platform/postgres/registry/devices.ts'
import {
  locationsOfCustomer,
  type SimulatedLocationRow,
  simulatedLocations,
} from '../../platform/postgres/simulations/simulated-locations.ts'
import type { TenantTransaction } from '../../platform/postgres/transaction.ts'
import { type BillingTerms, loadBillingTerms, type StatementStores } from '../statements/gather-statement.ts'

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

/** Refuse several currencies, and market sources that are unknown or have another currency. */
const validateCurrencies = async (
  transaction: TenantTransaction,
  { candidates }: SimulationRequest,
  locations: readonly SimulatedLocationRow[],
): Promise<Refusal | null> => {
  const currencies = [...new Set(locations.map(({ currencyCode }) => currencyCode))].sort()
  const [currency] = currencies
  if (currencies.length > 1) {
    const message = `The locations have the currencies ${currencies.join(', ')}: simulate those of one currency`
    return refused('currency_mismatch', message).refusal
  }
  for (const [index, { tariffs, marketSourceId }] of candidates.entries()) {
    const path = `candidates[${index}]`
    if (marketSourceId !== null) {
      const market = await retrieveMarket(transaction, marketSourceId)
      const field = `${path}.market_source_id`
      if (market === null) return refused('market_source_not_found', 'No market source has this id', field).refusal
      if (market.currencyCode !== currency) {
        const message = `The market source is in ${market.currencyCode}: choose a source in ${currency}`
        return refused('currency_mismatch', message, field).refusal
      }
      continue
    }
    for (const [tariffIndex, { marketRates, direction }] of (tariffs ?? []).entries()) {
      const without = locations.find(
        ({ importCurrency, exportCurrency }) => (direction === 'EXPORT' ? exportCurrency : importCurrency) !== currency,
      )
      if (!marketRates || without === undefined) continue
      const message = `Location ${without.id} has no market source in ${currency}: set market_source_id of the candidate`
      return refused('currency_mismatch', message, `${path}.tariffs[${tariffIndex}].market_rates`).refusal
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
    if (!found.has(id)) return refused('device_not_found', 'No device has this id', path).refusal
  }
  return null
}

/** Part of a candidate that names special days: a schedule, or the windows of a charge. */
function* validateSchedule(
  schedule: readonly ScheduleEntry[],
  { calendar }: BillingTerms,
): Generator<unknown, Refusal | null> {
  if (specialDaysOf(schedule).length === 0) return null
  return (yield* validateSpecialDaysInSteps(schedule, calendar)) ?? null
}

function* validateCandidate(
  { tariffs, charges }: SimulatedCandidate,
  path: string,
  terms: BillingTerms,
): Generator<unknown, Refusal | null> {
  const of = (refusal: Refusal, member: string): Refusal => ({
    code: refusal.code,
    message: `${refusal.message}, at location ${terms.location.id}`,
    field: refusal.field === undefined ? `${path}.${member}` : `${path}.${member}.${refusal.field}`,
  })
  for (const [index, { schedule }] of (tariffs ?? []).entries()) {
    const refusal = yield* validateSchedule(schedule, terms)
    if (refusal !== null) return of(refusal, `tariffs[${index}]`)
  }
  for (const [index, charge] of (charges ?? []).entries()) {
    const windows = 'windows' in charge ? validateWindowDays(charge.windows, terms.calendar) : null
    const refusal = windows ?? (charge.kind === 'USAGE' ? yield* validateSchedule(charge.schedule ?? [], terms) : null)
    if (refusal !== null) return of(refusal, `charges[${index}]`)
  }
  return null
}

/** Refuse special days of candidates that the calendar of a location does not have, with pauses. */
export function* refuseSpecialDays(
  { candidates }: SimulationRequest,
  sites: readonly SimulatedSite[],
): Generator<unknown, Refusal | null> {
  for (const { terms } of sites) {
    for (const [index, candidate] of candidates.entries()) {
      const refusal = yield* validateCandidate(candidate, `candidates[${index}]`, terms)
      if (refusal !== null) return refusal
    }
    yield
  }
  return null
}

/**
 * Load the locations of a simulation, in the order of the request. Refuses unknown locations, customers and devices,
 * several currencies, and market sources of another currency.
 */
export const loadSites = async (
  stores: Pick<StatementStores, 'timeZone'>,
  transaction: TenantTransaction,
  request: SimulationRequest,
): Promise<Result<readonly SimulatedSite[]>> => {
  const locations = await findLocations(transaction, request)
  if (!locations.ok) return locations
  const refusal =
    (await validateCurrencies(transaction, request, locations.value)) ?? (await findMissingDevice(transaction, request))
  if (refusal !== null) return { ok: false, refusal }
  const sites: SimulatedSite[] = []
  for (const location of locations.value) {
    const terms = await loadBillingTerms(stores, transaction, location.id)
    if (terms !== null) sites.push({ location, terms })
  }
  return accepted(sites)
}
