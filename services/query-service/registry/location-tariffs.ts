import { type LocationView, type TariffKind, type TariffStatus, tariffKinds } from '../../contract/location.ts'
import type { StructureType } from '../../contract/location-status.ts'
import type { PostalAddress } from '../../contract/postal-address.ts'
import { hasFailed } from '../../domain/tariff/on-its-way.ts'
import type { Tariff, TariffDirection, TariffType } from '../../domain/tariff/tariff.ts'
import { scheduleAt } from '../../domain/tariff/tariff-version.ts'
import type { StoredLocation } from '../../platform/postgres/location-row.ts'

type Kinded = { readonly direction: TariffDirection; readonly type: TariffType }
type Termed = Kinded & { readonly contractStart: number | null; readonly contractEnd: number | null }

const kindOf = ({ direction, type }: Kinded): TariffKind => {
  if (direction === 'LOCAL') return 'local'
  const way = direction === 'IMPORT' ? 'import' : 'export'
  return type === 'COMMODITY' ? `commodity_${way}` : `non_commodity_${way}`
}

const startOf = ({ contractStart }: Termed): number => contractStart ?? Number.NEGATIVE_INFINITY

/** Tell whether the contract of a tariff runs at `at` (ms). */
export const isInForce = (tariff: Pick<Termed, 'contractStart' | 'contractEnd'>, at: number): boolean =>
  (tariff.contractStart ?? Number.NEGATIVE_INFINITY) <= at && at < (tariff.contractEnd ?? Number.POSITIVE_INFINITY)

/**
 * Pick the tariff of a kind that a location shows at `at` (ms): the one in force, else the next one, else the last one.
 * Source: docs/rules/registry.md #tariff-status.
 */
export const shownTariff = <T extends Termed>(tariffs: readonly T[], kind: TariffKind, at: number): T | undefined => {
  const ofKind = tariffs.filter(tariff => kindOf(tariff) === kind).toSorted((a, b) => startOf(a) - startOf(b))
  return ofKind.find(tariff => isInForce(tariff, at)) ?? ofKind.find(tariff => startOf(tariff) > at) ?? ofKind.at(-1)
}

/**
 * Return the status of a kind of tariff at a location at `at` (ms): that of the tariff in force; without one, of a tariff that its provider
 * has not delivered yet. Grid fees on export do not exist. Source: docs/rules/registry.md #tariff-status.
 */
export const statusAt = (
  { tariffs, onTheirWay = [] }: Pick<StoredLocation, 'tariffs' | 'onTheirWay'>,
  kind: TariffKind,
  at: number,
): TariffStatus => {
  if (kind === 'non_commodity_export') return 'NOT_SUPPORTED'
  const current = shownTariff(tariffs, kind, at)
  if (current !== undefined && isInForce(current, at)) return current.status
  const coming = onTheirWay.find(one => kindOf(one) === kind)
  if (coming === undefined) return 'NOT_CONNECTED'
  return hasFailed(coming, at) ? 'ERROR' : 'PENDING'
}

/** Build a record with one member for each kind of tariff. */
export const forEachKind = <T>(give: (kind: TariffKind) => T): Record<TariffKind, T> =>
  Object.fromEntries(tariffKinds.map(kind => [kind, give(kind)])) as Record<TariffKind, T>

/**
 * Name how a tariff's price moves at `at` (ms): FIXED by one band all the time, TIME_OF_DAY by several; on market tariffs MARKET and DYNAMIC.
 * Tiers do not count: they follow energy, not time.
 */
export const structureType = (
  { marketRates, ...prices }: Pick<Tariff, 'contractStart' | 'marketRates' | 'schedule' | 'versions'>,
  at: number,
): StructureType => {
  const bands = scheduleAt(prices, at).flatMap(entry => entry.daysAndHours.flatMap(({ hours }) => hours))
  const isOneBand = bands.length === 1
  if (marketRates) return isOneBand ? 'MARKET' : 'DYNAMIC'
  return isOneBand ? 'FIXED' : 'TIME_OF_DAY'
}

/** Show a stored location as it is at `at` (ms), the state of its tariffs worked out. */
export const locationView = (location: StoredLocation, at: number): LocationView => ({
  id: location.id,
  liveMode: location.liveMode,
  accountId: location.accountId,
  referenceId: location.referenceId,
  customerId: location.customerId,
  timezone: location.timezone,
  currencyCode: location.currencyCode,
  postalAddress: location.postalAddress as PostalAddress | null,
  geoLocation: location.geoLocation,
  tariffStatus: forEachKind(kind => statusAt(location, kind, at)),
  tariffIds: location.tariffs.map(({ id }) => id),
  importSourceId: location.importSourceId,
  exportSourceId: location.exportSourceId,
  metadata: location.metadata,
  createdAt: location.createdAt,
})
