import type { Location, LocationTariff } from '../../domain/registry/location.ts'
import { hasTimedOut, type PendingTariff } from '../../domain/tariff/pending-tariff.ts'
import type { Tariff, TariffDirection, TariffType } from '../../domain/tariff/tariff.ts'
import { scheduleAt } from '../../domain/tariff/tariff-version.ts'
import { objectToWire } from '../answer-field.ts'
import { writeMembers } from '../object-member.ts'
import { type LocationWire, locationMembers, type TariffKind, type TariffStatus, tariffKinds } from './location.ts'
import type { StructureType } from './location-status.ts'

type DirectionAndType = { readonly direction: TariffDirection; readonly type: TariffType }
type ContractedTariff = DirectionAndType & {
  readonly contractStart: number | null
  readonly contractEnd: number | null
}

const kindOf = ({ direction, type }: DirectionAndType): TariffKind => {
  if (direction === 'LOCAL') return 'local'
  const flow = direction === 'IMPORT' ? 'import' : 'export'
  return type === 'COMMODITY' ? `commodity_${flow}` : `non_commodity_${flow}`
}

const startOf = ({ contractStart }: ContractedTariff): number => contractStart ?? Number.NEGATIVE_INFINITY

/** True if the contract of a tariff is in force at `at` (ms). */
export const isInForce = (tariff: Pick<ContractedTariff, 'contractStart' | 'contractEnd'>, at: number): boolean =>
  (tariff.contractStart ?? Number.NEGATIVE_INFINITY) <= at && at < (tariff.contractEnd ?? Number.POSITIVE_INFINITY)

/**
 * Return the tariff of a kind that a location shows at `at` (ms): the tariff in force, else the next one, else the last
 * one.
 * Source: docs/rules/registry.md #tariff-status.
 */
export const shownTariff = <T extends ContractedTariff>(
  tariffs: readonly T[],
  kind: TariffKind,
  at: number,
): T | undefined => {
  const ofKind = tariffs.filter(tariff => kindOf(tariff) === kind).toSorted((a, b) => startOf(a) - startOf(b))
  return ofKind.find(tariff => isInForce(tariff, at)) ?? ofKind.find(tariff => startOf(tariff) > at) ?? ofKind.at(-1)
}

/**
 * Return the status of a kind of tariff at a location at `at` (ms). The tariff in force decides; without one, a pending
 * tariff decides. Grid fees on export do not exist. Source: docs/rules/registry.md #tariff-status.
 */
export const tariffStatusAt = (
  {
    tariffs,
    pendingTariffs = [],
  }: {
    readonly tariffs: readonly (ContractedTariff & Pick<LocationTariff, 'status'>)[]
    readonly pendingTariffs?: readonly PendingTariff[]
  },
  kind: TariffKind,
  at: number,
): TariffStatus => {
  if (kind === 'non_commodity_export') return 'NOT_SUPPORTED'
  const current = shownTariff(tariffs, kind, at)
  if (current !== undefined && isInForce(current, at)) return current.status
  const pending = pendingTariffs.find(one => kindOf(one) === kind)
  if (pending === undefined) return 'NOT_CONNECTED'
  return hasTimedOut(pending, at) ? 'ERROR' : 'PENDING'
}

/** Return an object with one member for each kind of tariff. */
export const forEachKind = <T>(toValue: (kind: TariffKind) => T): Record<TariffKind, T> =>
  Object.fromEntries(tariffKinds.map(kind => [kind, toValue(kind)])) as Record<TariffKind, T>

/**
 * Return the structure type of a tariff at `at` (ms): FIXED for one time band, TIME_OF_DAY for several; for market
 * tariffs MARKET and DYNAMIC. Tiers do not count, because they depend on energy and not on time.
 */
export const structureType = (
  { marketRates, ...prices }: Pick<Tariff, 'contractStart' | 'marketRates' | 'schedule' | 'versions'>,
  at: number,
): StructureType => {
  const timeBands = scheduleAt(prices, at).flatMap(entry => entry.daysAndHours.flatMap(({ hours }) => hours))
  const hasOneBand = timeBands.length === 1
  if (marketRates) return hasOneBand ? 'MARKET' : 'DYNAMIC'
  return hasOneBand ? 'FIXED' : 'TIME_OF_DAY'
}

/** Write a location as of `at` (ms), with the status of its tariffs. */
export const locationToWire = (location: Location, at: number): LocationWire =>
  objectToWire(
    'location',
    location,
    writeMembers(locationMembers, {
      ...location,
      tariffStatus: forEachKind(kind => tariffStatusAt(location, kind, at)),
      marketSources: { import: location.importSourceId, export: location.exportSourceId },
    }),
  )

/** Return the event of a changed location, with the location as of `at` (ms). */
export const locationEvent = (
  type: 'location.create' | 'location.update' | 'location.delete',
  location: Location,
  at: number,
) => ({ type, objectId: location.id, data: locationToWire(location, at) })
