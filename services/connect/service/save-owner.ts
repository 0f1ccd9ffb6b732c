import { customerObject } from '../../contract/registry/customer.ts'
import { emptyLocation } from '../../contract/registry/location.ts'
import { locationEvent } from '../../contract/registry/location-view.ts'
import { unambiguousArea } from '../../domain/geocoding/market-areas.ts'
import { accepted, type Result, refused } from '../../domain/refusal.ts'
import type { Location, LocationDraft, LocationInput } from '../../domain/registry/location.ts'
import { defaultCalendarId } from '../../platform/holidays/country-calendar.ts'
import { marketOfArea } from '../../platform/postgres/pricing/markets.ts'
import { createCustomer, listCustomers, retrieveCustomer } from '../../platform/postgres/registry/customers.ts'
import { createLocation, lockLocation, updateLocation } from '../../platform/postgres/registry/locations.ts'
import { changedChoice, locationDraft, resolveLocation } from '../../query-service/registry/resolve-location.ts'
import type { ConnectState } from '../domain/session.ts'
import { findOrCreateAreaSource } from '../postgres/connect-session-markets.ts'
import type { StoredSession } from '../postgres/connect-sessions.ts'
import { addOwnerEvent, type ConnectTransaction } from './connect-dependencies.ts'
import { postalOf } from './geocode-address.ts'
import { locationOf } from './open-session.ts'

/**
 * Find or create the customer of a session; null if the session has none. Refuses `customer_not_found` for a deleted
 * customer.
 */
const saveCustomer = async (
  transaction: ConnectTransaction,
  { customerId, request }: StoredSession,
): Promise<Result<string | null>> => {
  const id = customerId ?? request.customerId
  if (id !== null) {
    const customer = await retrieveCustomer(transaction, id)
    return customer === null
      ? refused('customer_not_found', 'The customer of this session was deleted. Request a new link')
      : accepted(id)
  }
  const referenceId = request.customerReferenceId
  if (referenceId === null) return accepted(null)
  const page = await listCustomers(transaction, { referenceId }, { limit: 1, startingAfter: null, endingBefore: null })
  const found = page.ok ? page.value.items[0] : undefined
  if (found !== undefined) return accepted(found.id)
  const customer = await createCustomer(transaction, { referenceId, displayName: null, metadata: {} }, transaction.at)
  const data = customerObject.toWire(customer)
  addOwnerEvent(transaction.effects, { type: 'customer.create', objectId: customer.id, data })
  return accepted(customer.id)
}

const newChoice = ({ request, state }: StoredSession, customerId: string | null): LocationInput => ({
  ...emptyLocation,
  referenceId: request.locationReferenceId,
  customerId,
  postalAddress: postalOf(state.address),
})

/** Return the market area of a session; null if the address fits no area or several areas. */
const areaOf = ({ region, regions }: ConnectState): string | null => region ?? unambiguousArea(regions)

/** Resolve the location of a session. `needsMarketSource`: find or create the market source of its area. */
const draftLocation = async (
  transaction: ConnectTransaction,
  choice: LocationInput,
  { state }: StoredSession,
  needsMarketSource: boolean,
): Promise<Result<LocationDraft>> => {
  const { dependencies, at } = transaction
  const geoPlace = resolveLocation(choice, dependencies)
  if (!geoPlace.ok) return geoPlace
  const { currencyCode } = geoPlace.value
  const calendarId = await defaultCalendarId(dependencies, choice.postalAddress, at)
  const area = areaOf(state) ?? geoPlace.value.marketArea
  if (area === null) return accepted(locationDraft(choice, geoPlace.value, null, calendarId))
  const known = (await marketOfArea(transaction, area, currencyCode))?.id ?? null
  const source =
    needsMarketSource && choice.importSourceId === null
      ? await findOrCreateAreaSource(dependencies.database, area, currencyCode, at)
      : known
  // The region that the person chose takes precedence over the address.
  const chosen =
    state.region === null || choice.importSourceId !== null ? choice : { ...choice, importSourceId: source }
  return accepted(locationDraft(chosen, geoPlace.value, source, calendarId))
}

const comparedMembers = ['customerId', 'timezone', 'currencyCode', 'importSourceId', 'exportSourceId'] as const

const isChanged = (before: Location, draft: LocationDraft): boolean =>
  comparedMembers.some(member => before[member] !== draft[member]) ||
  JSON.stringify(before.postalAddress) !== JSON.stringify(draft.postalAddress)

const currencyInUse = refused(
  'currency_in_use',
  'This address has another currency than the location. Enter an address in the same currency area',
)

const noLocation = refused('location_not_found', 'The location of this session was deleted. Request a new link')

type OwnerOptions = { readonly customerId: string | null; readonly needsMarketSource: boolean }

const changeLocation = async (
  transaction: ConnectTransaction,
  session: StoredSession,
  found: Location,
  { customerId, needsMarketSource }: OwnerOptions,
): Promise<Result<Location>> => {
  const { dependencies, at, effects } = transaction
  const before = await lockLocation(transaction, found.id)
  if (before === null) return noLocation
  const isCustomerNew = before.customerId === null && customerId !== null
  const choice = changedChoice(before, {
    ...(isCustomerNew ? { customerId } : {}),
    ...(session.state.isPlaced ? { postalAddress: postalOf(session.state.address) } : {}),
  })
  const draft = await draftLocation(transaction, choice, session, needsMarketSource)
  if (!draft.ok) return draft
  if (!isChanged(before, draft.value)) return accepted(before)
  if (
    draft.value.currencyCode !== before.currencyCode &&
    (await dependencies.metering.hasRecords(transaction, before.id))
  )
    return currencyInUse
  const changed = await updateLocation(transaction, before, draft.value, at)
  if (!changed.ok) return changed
  const { location, recostRequest } = changed.value
  addOwnerEvent(effects, locationEvent('location.update', location, at))
  effects.recostRequests.push(recostRequest)
  return accepted(location)
}

/**
 * Find or create the customer and the location of a session, and update the location with the data of the session.
 * `needsMarketSource`: the tariff follows market prices and needs the source of its area.
 * Returns the location, and the session with both ids. Refuses what creating a customer or a location refuses.
 * Source: docs/rules/connect.md #saving-the-tariff.
 */
export const saveOwner = async (
  transaction: ConnectTransaction,
  session: StoredSession,
  needsMarketSource: boolean,
): Promise<Result<{ readonly session: StoredSession; readonly location: Location }>> => {
  const customer = await saveCustomer(transaction, session)
  if (!customer.ok) return customer
  const options = { customerId: customer.value, needsMarketSource }
  const found = await locationOf(transaction, session)
  if (found === null && (session.locationId ?? session.request.locationId) !== null) return noLocation
  const saved =
    found === null
      ? await createSessionLocation(transaction, session, options)
      : await changeLocation(transaction, session, found, options)
  if (!saved.ok) return saved
  const location = saved.value
  return accepted({ session: { ...session, customerId: customer.value, locationId: location.id }, location })
}

const createSessionLocation = async (
  transaction: ConnectTransaction,
  session: StoredSession,
  { customerId, needsMarketSource }: OwnerOptions,
): Promise<Result<Location>> => {
  const { at, effects } = transaction
  const draft = await draftLocation(transaction, newChoice(session, customerId), session, needsMarketSource)
  if (!draft.ok) return draft
  const location = await createLocation(transaction, draft.value, at)
  if (location.ok) addOwnerEvent(effects, locationEvent('location.create', location.value, at))
  return location
}
