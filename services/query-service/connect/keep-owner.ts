import { customerToWire } from '../../contract/customer.ts'
import { locationToWire } from '../../contract/location.ts'
import type { LocationChoice } from '../../contract/location-choice.ts'
import type { ConnectState } from '../../domain/connect/session.ts'
import { accepted, type Result, refused } from '../../domain/refusal.ts'
import { decidedArea } from '../../platform/place/market-areas.ts'
import { areaSource } from '../../platform/postgres/connect-session-markets.ts'
import type { StoredSession } from '../../platform/postgres/connect-sessions.ts'
import { createCustomer, listCustomers, retrieveCustomer } from '../../platform/postgres/customers.ts'
import type { EventDraft } from '../../platform/postgres/events.ts'
import type { LocationDraft, StoredLocation } from '../../platform/postgres/location-row.ts'
import { createLocation, lockLocation, updateLocation } from '../../platform/postgres/locations.ts'
import { marketOfArea } from '../../platform/postgres/markets.ts'
import type { TenantTransaction } from '../../platform/postgres/transaction.ts'
import { locationView } from '../registry/location-tariffs.ts'
import { changedChoice, draftOf, resolvePlace } from '../registry/resolve-location.ts'
import { type ConnectDependencies, type Deeds, type Done, done, nothingDone } from './connect-dependencies.ts'
import { locationOf } from './open-session.ts'
import { postalOf } from './place-address.ts'

/** The event that a new or changed location is. */
export const locationEvent = (type: 'location.create' | 'location.update', location: StoredLocation, at: number): EventDraft => ({
  type,
  objectId: location.id,
  data: locationToWire(locationView(location, at)),
})

/** Find the customer of a session, or create it; null where none was asked for. Refuses `customer_not_found` for one that is gone. */
const keepCustomer = async (
  transaction: TenantTransaction,
  { customerId, request }: StoredSession,
  at: number,
): Promise<Result<Done<string | null>>> => {
  const id = customerId ?? request.customerId
  if (id !== null) {
    const customer = await retrieveCustomer(transaction, id)
    return customer === null ? refused('customer_not_found', 'The customer of this session was deleted; ask for a new link') : done(id)
  }
  const referenceId = request.customerReferenceId
  if (referenceId === null) return done(null)
  const page = await listCustomers(transaction, { referenceId }, { limit: 1, startingAfter: null, endingBefore: null })
  const found = page.ok ? page.value.items[0] : undefined
  if (found !== undefined) return done(found.id)
  const customer = await createCustomer(transaction, { referenceId, metadata: {} }, at)
  const event = { type: 'customer.create', objectId: customer.id, data: customerToWire(customer) }
  return done(customer.id, { ...nothingDone, events: [event] })
}

const newChoice = ({ request, state }: StoredSession, customerId: string | null): LocationChoice => ({
  referenceId: request.locationReferenceId,
  customerId,
  postalAddress: postalOf(state.address) as LocationChoice['postalAddress'],
  timezone: null,
  currencyCode: null,
  importSourceId: null,
  exportSourceId: null,
  metadata: {},
})

/** The area whose prices a session's market tariff follows; null where the address leaves none, or several. */
const areaOf = ({ region, regions }: ConnectState): string | null => region ?? decidedArea(regions)

/** Work out what the location of a session is to be; `mustFollow` finds or makes the market source of its area. */
const draftLocation = async (
  dependencies: ConnectDependencies,
  transaction: TenantTransaction,
  choice: LocationChoice,
  { state }: StoredSession,
  { mustFollow, at }: { readonly mustFollow: boolean; readonly at: number },
): Promise<Result<LocationDraft>> => {
  const place = resolvePlace(choice, dependencies)
  if (!place.ok) return place
  const { currencyCode } = place.value
  const area = areaOf(state) ?? place.value.marketArea
  if (area === null) return accepted(draftOf(choice, place.value, null))
  const known = (await marketOfArea(transaction, area, currencyCode))?.id ?? null
  const source = mustFollow && choice.importSourceId === null ? await areaSource(dependencies.database, area, currencyCode, at) : known
  // What a person chose of several regions stays, whatever the address alone would say.
  const chosen = state.region === null || choice.importSourceId !== null ? choice : { ...choice, importSourceId: source }
  return accepted(draftOf(chosen, place.value, source))
}

const members = ['customerId', 'timezone', 'currencyCode', 'importSourceId', 'exportSourceId'] as const

const isChanged = (before: StoredLocation, draft: LocationDraft): boolean =>
  members.some(member => before[member] !== draft[member]) || JSON.stringify(before.postalAddress) !== JSON.stringify(draft.postalAddress)

const currencyInUse = refused(
  'currency_in_use',
  'The currency at this address differs from that of the location; give an address in the same currency area',
)

const noLocation = refused('location_not_found', 'The location of this session was deleted; ask for a new link')

const changeLocation = async (
  dependencies: ConnectDependencies,
  transaction: TenantTransaction,
  session: StoredSession,
  found: StoredLocation,
  { customerId, mustFollow, at }: { readonly customerId: string | null; readonly mustFollow: boolean; readonly at: number },
): Promise<Result<Done<StoredLocation>>> => {
  const before = await lockLocation(transaction, found.id)
  if (before === null) return noLocation
  const isCustomerNew = before.customerId === null && customerId !== null
  const postalAddress = session.state.isPlaced ? (postalOf(session.state.address) as LocationChoice['postalAddress']) : undefined
  const choice = changedChoice(before, {
    ...(isCustomerNew ? { customerId } : {}),
    ...(postalAddress === undefined ? {} : { postalAddress }),
  })
  const draft = await draftLocation(dependencies, transaction, choice, session, { mustFollow, at })
  if (!draft.ok) return draft
  if (!isChanged(before, draft.value)) return done(before)
  if (draft.value.currencyCode !== before.currencyCode && (await dependencies.metering.hasRecords(transaction, before.id)))
    return currencyInUse
  const changed = await updateLocation(transaction, before, draft.value, at)
  if (!changed.ok) return changed
  const { location, order } = changed.value
  return done(location, { ...nothingDone, events: [locationEvent('location.update', location, at)], orders: [order] })
}

/**
 * Find customer and location of a session, or create them as the API does, and give the location what the session has learned of it.
 * `mustFollow`: a market tariff comes, which needs the source of its area. Gives the session with their ids.
 * Refuses what creating them refuses.
 * Source: docs/rules/connect.md #saving-the-tariff.
 */
export const keepOwner = async (
  dependencies: ConnectDependencies,
  transaction: TenantTransaction,
  session: StoredSession,
  { mustFollow, at }: { readonly mustFollow: boolean; readonly at: number },
): Promise<Result<Done<{ readonly session: StoredSession; readonly location: StoredLocation }>>> => {
  const customer = await keepCustomer(transaction, session, at)
  if (!customer.ok) return customer
  const customerId = customer.value.value
  const found = await locationOf(transaction, session)
  if (found === null && (session.locationId ?? session.request.locationId) !== null) return noLocation
  const kept =
    found === null
      ? await createFor(dependencies, transaction, session, { customerId, mustFollow, at })
      : await changeLocation(dependencies, transaction, session, found, { customerId, mustFollow, at })
  if (!kept.ok) return kept
  const location = kept.value.value
  const deeds: Deeds = { ...kept.value.deeds, events: [...customer.value.deeds.events, ...kept.value.deeds.events] }
  return done({ session: { ...session, customerId, locationId: location.id }, location }, deeds)
}

const createFor = async (
  dependencies: ConnectDependencies,
  transaction: TenantTransaction,
  session: StoredSession,
  { customerId, mustFollow, at }: { readonly customerId: string | null; readonly mustFollow: boolean; readonly at: number },
): Promise<Result<Done<StoredLocation>>> => {
  const draft = await draftLocation(dependencies, transaction, newChoice(session, customerId), session, { mustFollow, at })
  if (!draft.ok) return draft
  const location = await createLocation(transaction, draft.value, at)
  return location.ok ? done(location.value, { ...nothingDone, events: [locationEvent('location.create', location.value, at)] }) : location
}
