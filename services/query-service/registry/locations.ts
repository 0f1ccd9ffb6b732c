import { refuseFixedChange } from '../../contract/fixed-member.ts'
import { changeableMembers } from '../../contract/object-member.ts'
import {
  locationCreate,
  locationDelete,
  locationList,
  locationMembers,
  locationRetrieve,
  locationUpdate,
} from '../../contract/registry/location.ts'
import {
  locationStatusRetrieve,
  locationStatusToWire,
  type TariffKindStatus,
} from '../../contract/registry/location-status.ts'
import {
  forEachKind,
  locationToWire,
  shownTariff,
  structureType,
  tariffStatusAt,
} from '../../contract/registry/location-view.ts'
import { noNamedObject, noObject } from '../../domain/no-object.ts'
import { accepted, type Result, refused } from '../../domain/refusal.ts'
import type { Location, LocationDraft, LocationInput } from '../../domain/registry/location.ts'
import type { StoredTariff } from '../../domain/tariff/stored-tariff.ts'
import { defaultCalendarId } from '../../platform/holidays/country-calendar.ts'
import { type Binding, bind } from '../../platform/http/binding.ts'
import { marketOfArea } from '../../platform/postgres/pricing/markets.ts'
import { listTariffs } from '../../platform/postgres/pricing/tariffs.ts'
import { retrieveCustomer } from '../../platform/postgres/registry/customers.ts'
import {
  createLocation,
  deleteLocation,
  listLocations,
  lockLocation,
  retrieveLocation,
  updateLocation,
} from '../../platform/postgres/registry/locations.ts'
import { type Tenant, type TenantTransaction, withTenant } from '../../platform/postgres/transaction.ts'
import { type Change, change, deletion, tenantOf } from '../change.ts'
import { changeOrRehearse } from '../change-or-rehearse.ts'
import type { QueryServiceDependencies } from '../dependencies.ts'
import { answerList, answerOne } from '../list.ts'
import {
  changedChoice,
  locationDraft,
  type ResolvedLocation,
  resolvedChange,
  resolveLocation,
} from './resolve-location.ts'

const noCustomer = noNamedObject('customer', 'customer_id')
const noLocation = noObject('location')

/** Location to store, and a hint to the caller about its market area; null if there is no hint. */
type ResolvedChoice = { readonly draft: LocationDraft; readonly hint: string | null }

/** List the market areas of an address that fits several areas. Source: docs/rules/registry.md #market-area. */
const hintOf = ({ importSourceId }: LocationInput, { marketArea, marketAreas }: ResolvedLocation): string | null => {
  if (importSourceId !== null || marketArea !== null || marketAreas.length < 2) return null
  const areas = `${marketAreas.slice(0, -1).join(', ')} and ${marketAreas.at(-1)}`
  return `The address fits the market areas ${areas}. Set market_sources.import to the source of the right area.`
}

/** Resolve the input of a location to the location to store, with its place and market source. */
const resolveChoice = async (
  transaction: TenantTransaction,
  choice: LocationInput,
  dependencies: QueryServiceDependencies,
  at: number,
): Promise<Result<ResolvedChoice>> => {
  const resolvedLocation = resolveLocation(choice, dependencies)
  if (!resolvedLocation.ok) return resolvedLocation
  const { marketArea, currencyCode } = resolvedLocation.value
  const source = marketArea === null ? null : await marketOfArea(transaction, marketArea, currencyCode)
  const calendarId = choice.calendarId === null ? await defaultCalendarId(dependencies, choice.postalAddress, at) : null
  return accepted({
    draft: locationDraft(choice, resolvedLocation.value, source?.id ?? null, calendarId),
    hint: hintOf(choice, resolvedLocation.value),
  })
}

const locationChange = (
  type: string,
  location: Location,
  at: number,
  hint: string | null = null,
): Change<ReturnType<typeof locationToWire>> => {
  const wire = locationToWire(location, at)
  return { value: hint === null ? wire : { ...wire, hint }, events: [{ type, objectId: location.id, data: wire }] }
}

const statusOf = (
  tariff: StoredTariff,
  provider: TariffKindStatus['provider'] | undefined,
  at: number,
): Omit<TariffKindStatus, 'status'> => ({
  connectionType: tariff.connectionType,
  provider: provider ?? null,
  tariff: {
    id: tariff.id,
    displayName: tariff.displayName,
    structureType: structureType(tariff, at),
    contractStart: tariff.contractStart,
    contractEnd: tariff.contractEnd,
  },
})

const noTariffStatus: Omit<TariffKindStatus, 'status'> = { connectionType: null, provider: null, tariff: null }

/** Return the status of a location at `at` (ms) as a JSON object; null if the location does not exist. */
const locationStatus = async (
  { database, providersOf }: QueryServiceDependencies,
  tenant: Tenant,
  id: string,
  at: number,
): Promise<ReturnType<typeof locationStatusToWire> | null> => {
  const stored = await withTenant(database, tenant, async transaction => {
    const location = await retrieveLocation(transaction, id)
    return location === null
      ? null
      : { location, tariffs: await listTariffs(transaction, { locationId: id, direction: null, type: null }) }
  })
  if (stored === null) return null
  const { location, tariffs } = stored
  const providerIds = tariffs.map(({ providerId }) => providerId).filter(providerId => providerId !== null)
  const providers = new Map(
    (providerIds.length === 0 ? [] : await providersOf(providerIds)).map(provider => [provider.id, provider]),
  )
  const kinds = forEachKind(kind => {
    const found = shownTariff(tariffs, kind, at)
    const shown = found === undefined ? noTariffStatus : statusOf(found, providers.get(found.providerId ?? ''), at)
    return { status: tariffStatusAt(location, kind, at), ...shown }
  })
  return locationStatusToWire({ ...location, kinds })
}

const currencyInUse = refused(
  'currency_in_use',
  'The currency cannot change after tariffs or records exist. Create another location',
  'currency_code',
)

const updateBinding = (dependencies: QueryServiceDependencies): Binding =>
  bind(locationUpdate, async request => {
    const { sent, change: body } = request.body
    const hasRecords =
      body.currencyCode === undefined && body.postalAddress === undefined
        ? false
        : await dependencies.metering.hasRecords(tenantOf(request), request.id)
    return changeOrRehearse(dependencies, locationUpdate, request, async (transaction, impact) => {
      const before = await lockLocation(transaction, request.id)
      if (before === null) return noLocation
      const fixedFieldRefusal = refuseFixedChange(
        sent,
        locationToWire(before, request.at),
        changeableMembers(locationMembers),
      )
      if (fixedFieldRefusal !== null) return { ok: false, refusal: fixedFieldRefusal }
      const resolved = resolvedChange(body)
      const resolution =
        resolved === null
          ? await resolveChoice(transaction, changedChoice(before, body), dependencies, request.at)
          : accepted({ draft: { ...before, ...resolved }, hint: null })
      if (!resolution.ok) return resolution
      const { draft, hint } = resolution.value
      if (hasRecords && draft.currencyCode !== before.currencyCode) return currencyInUse
      const location = await updateLocation(transaction, before, draft, request.at)
      if (!location.ok) return location
      const { repriced } = location.value
      if (repriced !== null)
        impact?.addPrices(
          request.id,
          (['IMPORT', 'EXPORT', 'LOCAL'] as const).map(direction => ({ direction, ...repriced })),
        )
      return accepted({
        ...locationChange('location.update', location.value.location, request.at, hint),
        recostRequests: [location.value.recostRequest],
      })
    })
  })

/** Bind the operations on locations. */
export const locationOperations = (dependencies: QueryServiceDependencies): readonly Binding[] => [
  bind(locationCreate, request =>
    changeOrRehearse(dependencies, locationCreate, request, async transaction => {
      const resolution = await resolveChoice(transaction, request.body, dependencies, request.at)
      if (!resolution.ok) return resolution
      const { draft, hint } = resolution.value
      const location = await createLocation(transaction, draft, request.at)
      return location.ok ? accepted(locationChange('location.create', location.value, request.at, hint)) : location
    }),
  ),
  bind(locationList, request =>
    answerList(
      dependencies,
      request,
      '/locations',
      async (transaction, page) => {
        const { reference_id: referenceId = null, customer_id: customerId = null } = request.query
        if (customerId !== null && (await retrieveCustomer(transaction, customerId)) === null) return noCustomer
        return listLocations(transaction, { referenceId, customerId }, page)
      },
      locations => locations.map(location => locationToWire(location, request.at)),
    ),
  ),
  bind(locationRetrieve, request =>
    answerOne(dependencies, request, retrieveLocation, noLocation, location => locationToWire(location, request.at)),
  ),
  bind(locationStatusRetrieve, async request => {
    const status = await locationStatus(dependencies, tenantOf(request), request.id, request.at)
    return status === null ? noLocation : accepted(status)
  }),
  updateBinding(dependencies),
  bind(locationDelete, request =>
    change(dependencies, locationDelete, request, async transaction => {
      const deleted = await deleteLocation(transaction, request.id, request.at)
      if (!deleted.ok) return deleted
      return accepted(deletion(locationChange('location.delete', deleted.value, request.at).events))
    }),
  ),
]
