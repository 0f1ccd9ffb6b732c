import type { Location } from '../../domain/registry/location.ts'
import { hasTimedOut } from '../../domain/tariff/pending-tariff.ts'
import type { StoredTariff } from '../../domain/tariff/stored-tariff.ts'
import { scheduleAt } from '../../domain/tariff/tariff-version.ts'
import { type LibraryTariff, listLibraryTariffs } from '../../platform/postgres/pricing/library-tariffs.ts'
import { listTariffs, retrieveTariff } from '../../platform/postgres/pricing/tariffs.ts'
import { listLocations, retrieveLocation } from '../../platform/postgres/registry/locations.ts'
import { findProviders, type StoredProvider } from '../../platform/postgres/registry/providers.ts'
import type { TenantTransaction } from '../../platform/postgres/transaction.ts'
import type { ConnectTariffStatus } from '../domain/advance.ts'
import { prefillOf } from '../domain/connect-tariff.ts'
import { type ChosenProvider, type ConnectState, isCompleteAddress } from '../domain/session.ts'
import type { StoredSession } from '../postgres/connect-sessions.ts'
import { findCredentials, isTariffPending } from '../postgres/tariff-credentials.ts'
import type { ConnectTransaction } from './connect-dependencies.ts'
import { geocodeIfComplete, knownAddressOf } from './geocode-address.ts'
import { standingChargeOf } from './save-standing-charge.ts'

const oneItem = { limit: 1, startingAfter: null, endingBefore: null }

/**
 * Find the location of a session: the saved location, the named location, or the location with the reference; null if
 * none exists.
 */
export const locationOf = async (
  transaction: TenantTransaction,
  {
    locationId,
    request,
  }: {
    readonly locationId: string | null
    readonly request: Pick<StoredSession['request'], 'locationId' | 'locationReferenceId'>
  },
): Promise<Location | null> => {
  const id = locationId ?? request.locationId
  if (id !== null) return retrieveLocation(transaction, id)
  if (request.locationReferenceId === null) return null
  const page = await listLocations(transaction, { referenceId: request.locationReferenceId, customerId: null }, oneItem)
  return page.ok ? (page.value.items[0] ?? null) : null
}

type TariffKind = Pick<StoredSession['config'], 'direction' | 'type'>

/** List the active tariffs of a kind at a location, in the order of their contracts. */
export const activeTariffs = async (
  transaction: TenantTransaction,
  locationId: string,
  { direction, type }: TariffKind,
): Promise<readonly StoredTariff[]> => {
  const tariffs = await listTariffs(transaction, { locationId, direction, type })
  const startOf = (tariff: StoredTariff): number => tariff.contractStart ?? Number.NEGATIVE_INFINITY
  return tariffs.toSorted((a, b) => startOf(a) - startOf(b))
}

/** Return the tariff of a kind that represents its location at `at` (ms): the current one, otherwise the next one. */
export const currentTariff = async (
  transaction: TenantTransaction,
  locationId: string,
  kind: TariffKind,
  at: number,
): Promise<StoredTariff | null> => {
  const active = await activeTariffs(transaction, locationId, kind)
  return active.findLast(tariff => (tariff.contractStart ?? Number.NEGATIVE_INFINITY) <= at) ?? active[0] ?? null
}

/**
 * Return the status of the tariff of a session's kind at its location. `pending`: this session waits for the tariff of
 * a provider, also if the location had a tariff before. `connected`: a contract runs or is going to begin.
 */
export const connectTariffStatusOf = async (
  transaction: TenantTransaction,
  location: Location | null,
  { id, config }: Pick<StoredSession, 'id' | 'config'>,
  at: number,
): Promise<ConnectTariffStatus> => {
  if (location === null) return 'none'
  const kind = { locationId: location.id, direction: config.direction, type: config.type }
  const credentials = await findCredentials(transaction, kind)
  if (credentials !== null && hasTimedOut(credentials, at)) return 'failed'
  if (await isTariffPending(transaction, kind, id)) return 'pending'
  const active = await activeTariffs(transaction, location.id, config)
  return active.some(({ contractEnd }) => contractEnd === null || contractEnd > at) ? 'connected' : 'none'
}

/** List the library tariffs of a provider that match the address and tariff kind of a session. */
export const libraryTariffsOf = (
  { query }: TenantTransaction,
  { config, state, request }: Pick<StoredSession, 'config' | 'state' | 'request'>,
  providerId: string | null,
): Promise<readonly LibraryTariff[]> =>
  listLibraryTariffs(query, {
    providerIds: providerId === null ? [] : [providerId],
    country: state.address.country_code ?? '',
    addressType: request.addressType,
    currencyCode: state.currencyCode ?? '',
    direction: config.direction,
    type: config.type,
  })

/** Convert a provider to the chosen provider of a session. */
export const chosenProvider = async (
  transaction: TenantTransaction,
  provider: StoredProvider,
  session: Pick<StoredSession, 'config' | 'state' | 'request'>,
): Promise<ChosenProvider> => {
  const library = await libraryTariffsOf(transaction, session, provider.id)
  return {
    id: provider.id,
    displayName: provider.displayName,
    logoUrl: provider.logoUrl,
    loginUrl: provider.direct?.loginUrl ?? null,
    hasLibrary: library.length > 0,
  }
}

/** Prefill a session with the values of the tariff that it renews. */
const withRenewedTariff = async (
  transaction: TenantTransaction,
  session: StoredSession,
  state: ConnectState,
  at: number,
): Promise<ConnectState> => {
  const { tariffId } = session.request
  const tariff = tariffId === null ? null : await retrieveTariff(transaction, tariffId)
  if (tariff === null) return state
  const [provider] = tariff.providerId === null ? [] : await findProviders(transaction.query, [tariff.providerId])
  const chosen = provider === undefined ? null : await chosenProvider(transaction, provider, { ...session, state })
  return {
    ...state,
    ...prefillOf({ ...tariff, schedule: scheduleAt(tariff, at) }),
    name: tariff.displayName,
    standingCharge: await standingChargeOf(transaction, tariff.id),
    provider: chosen,
  }
}

/** Return the provider from which the location's tariff is or will be fetched; null if there is none. */
const connectingProvider = async (
  transaction: TenantTransaction,
  session: StoredSession,
  location: Location | null,
): Promise<ChosenProvider | null> => {
  if (location === null) return null
  const credentials = await findCredentials(transaction, {
    locationId: location.id,
    direction: session.config.direction,
    type: session.config.type,
  })
  const [provider] = credentials === null ? [] : await findProviders(transaction.query, [credentials.providerId])
  return provider === undefined ? null : chosenProvider(transaction, provider, session)
}

/**
 * Create the first state of a session from its location, its address and the tariff that it renews. `edits`: the
 * location has a tariff that the session may change, or the session was created to change one.
 */
export const initialState = async (
  transaction: ConnectTransaction,
  session: StoredSession,
  location: Location | null,
  edits: boolean,
): Promise<ConnectState> => {
  const { config, state } = session
  const ofLocation = knownAddressOf(location?.postalAddress ?? null)
  const hasAddress = Object.keys(state.address).length > 0
  // An incomplete address must not replace the address of a location whose tariff is edited.
  const isOwn = !hasAddress || (edits && !isCompleteAddress(state.address) && ofLocation.country_code !== undefined)
  const address = isOwn ? ofLocation : state.address
  const geocoded = await geocodeIfComplete(transaction.dependencies, config, address, location, edits)
  const located = { ...state, address, isPlaced: geocoded !== null, ...geocoded }
  const provider = await connectingProvider(transaction, session, location)
  return withRenewedTariff(transaction, session, { ...located, provider }, transaction.at)
}
