import { locationStatusToWire, type TariffKindStatus } from '../../contract/registry/location-status.ts'
import { forEachKind, locationView, shownTariff, structureType } from '../../contract/registry/location-view.ts'
import type { StoredTariff } from '../../platform/postgres/pricing/tariff-row.ts'
import { listTariffs } from '../../platform/postgres/pricing/tariffs.ts'
import { retrieveLocation } from '../../platform/postgres/registry/locations.ts'
import { type Tenant, type TenantTransaction, withTenant } from '../../platform/postgres/transaction.ts'
import type { QueryServiceDependencies } from '../dependencies.ts'

/** Page of all tariffs: more than any location has. */
const allItems = { limit: 10_000, startingAfter: null, endingBefore: null }

const tariffsOf = async (transaction: TenantTransaction, locationId: string): Promise<readonly StoredTariff[]> => {
  const page = await listTariffs(transaction, { locationId, direction: null, type: null }, allItems)
  if (!page.ok) throw new Error(`tariffs of ${locationId}: ${page.refusal.message}`)
  return page.value.items
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

const noTariff: Omit<TariffKindStatus, 'status'> = { connectionType: null, provider: null, tariff: null }

/** Return the status of a location at `at` (ms) as a JSON object; null if the location does not exist. */
export const locationStatus = async (
  { database, providersOf }: QueryServiceDependencies,
  tenant: Tenant,
  id: string,
  at: number,
): Promise<ReturnType<typeof locationStatusToWire> | null> => {
  const stored = await withTenant(database, tenant, async transaction => {
    const location = await retrieveLocation(transaction, id)
    return location === null ? null : { location, tariffs: await tariffsOf(transaction, id) }
  })
  if (stored === null) return null
  const { location, tariffs } = stored
  const providerIds = tariffs.map(({ providerId }) => providerId).filter(providerId => providerId !== null)
  const providers = new Map(
    (providerIds.length === 0 ? [] : await providersOf(providerIds)).map(provider => [provider.id, provider]),
  )
  const { tariffStatus } = locationView(location, at)
  const kinds = forEachKind(kind => {
    const found = shownTariff(tariffs, kind, at)
    const shown = found === undefined ? noTariff : statusOf(found, providers.get(found.providerId ?? ''), at)
    return { status: tariffStatus[kind], ...shown }
  })
  return locationStatusToWire({ ...location, kinds })
}
