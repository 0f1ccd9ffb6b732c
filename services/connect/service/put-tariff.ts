import { locationEvent } from '../../contract/registry/location-view.ts'
import { tariffToWire } from '../../contract/tariffs/tariff.ts'
import { accepted, type Result, refused } from '../../domain/refusal.ts'
import type { Location } from '../../domain/registry/location.ts'
import type { StoredTariff } from '../../domain/tariff/stored-tariff.ts'
import type { Tariff } from '../../domain/tariff/tariff.ts'
import { loadLocationPricing } from '../../platform/postgres/pricing/pricing-input.ts'
import type { TariffDraft } from '../../platform/postgres/pricing/tariff-row.ts'
import {
  createTariff,
  endTariff,
  type TariffChange,
  updateTariff,
  voidTariff,
} from '../../platform/postgres/pricing/tariffs.ts'
import { retrieveLocation } from '../../platform/postgres/registry/locations.ts'
import type { TenantTransaction } from '../../platform/postgres/transaction.ts'
import { followTariff } from '../../query-service/charges/tariff-charges.ts'
import { tariffStartOf, tariffsToReplace } from '../domain/connect-tariff.ts'
import { type ReplacedTariff, restoreTariff } from '../postgres/connect-sessions.ts'
import type { ConnectTransaction } from './connect-dependencies.ts'

/** Tariff to save. If it has no start, the start is calculated. */
export type DesiredTariff = Omit<TariffDraft, 'locationId' | 'status'>

/** Add the audit entry and the recost request of a change of a tariff. The charges of the tariff follow it. */
export const addTariffChange = async (
  transaction: ConnectTransaction,
  action: string,
  { tariff, recostRequest }: TariffChange,
): Promise<void> => {
  const { at, effects } = transaction
  const detail = tariffToWire(tariff, at)
  effects.audit.push({ action, objectId: tariff.id, detail })
  effects.recostRequests.push(recostRequest)
  const followed = await followTariff(transaction.dependencies, transaction, tariff, at)
  effects.events.push(...followed.events)
  effects.audit.push(...followed.audit)
}

/** Add the event that reports changes of its tariffs for a location. */
export const addLocationUpdate = async (transaction: ConnectTransaction, locationId: string): Promise<void> => {
  const location = await retrieveLocation(transaction, locationId)
  if (location !== null) transaction.effects.events.push(locationEvent('location.update', location, transaction.at))
}

/** Load the location's tariffs of a kind that are not voided, including closed tariffs. */
const otherTariffsOf = async (
  { query, accountId, liveMode }: TenantTransaction,
  locationId: string,
  kind: { readonly direction: string; readonly type: string },
): Promise<readonly Tariff[]> => {
  const [pricing] = await loadLocationPricing(query, [{ accountId, liveMode, locationId }])
  return (pricing?.tariffs ?? []).filter(({ direction, type }) => direction === kind.direction && type === kind.type)
}

/** End the tariffs that a new tariff replaces, at the start of the new tariff. Returns their previous ends. */
const endReplacedTariffs = async (
  transaction: ConnectTransaction,
  otherTariffs: readonly Tariff[],
  interval: { readonly start: number | null; readonly end: number | null },
): Promise<Result<readonly ReplacedTariff[]>> => {
  const { at } = transaction
  const active = otherTariffs.filter(({ closedAt }) => closedAt === null)
  const replacementPlan = tariffsToReplace(active, interval, at)
  if (!replacementPlan.ok) return replacementPlan
  const replaced: ReplacedTariff[] = []
  for (const { id, way } of replacementPlan.value) {
    const cutAt = interval.start ?? at
    const ended =
      way === 'closes'
        ? await endTariff(transaction, id, cutAt)
        : await updateTariff(transaction, id, { contractEnd: cutAt }, at)
    if (!ended.ok) return ended
    await addTariffChange(transaction, way === 'closes' ? 'tariff.delete' : 'tariff.update', ended.value)
    replaced.push({ id, way, cutAt, contractEnd: active.find(tariff => tariff.id === id)?.contractEnd ?? null })
  }
  return accepted(replaced)
}

/** Saved tariff, and the tariffs that it has replaced. */
export type PutTariffResult = { readonly tariff: StoredTariff; readonly replaced: readonly ReplacedTariff[] }

/**
 * Save a tariff for a location. Existing tariffs of the kind end at the start of the new tariff. Without a start the
 * tariff applies from the local day of `at`; the first tariff of a location applies without a start.
 * Refuses what creating a tariff refuses.
 * Source: docs/rules/connect.md #start-of-the-tariff.
 */
export const putTariff = async (
  transaction: ConnectTransaction,
  location: Pick<Location, 'id' | 'timezone'>,
  desiredTariff: DesiredTariff,
): Promise<Result<PutTariffResult>> => {
  const { dependencies, at } = transaction
  const zone = dependencies.timeZone(location.timezone)
  if (zone === null) throw new RangeError(`Location ${location.id} has the unknown time zone ${location.timezone}.`)
  const otherTariffs = await otherTariffsOf(transaction, location.id, desiredTariff)
  const start = tariffStartOf(desiredTariff.contractStart, otherTariffs, zone, at)
  if (start !== null && desiredTariff.contractEnd !== null && desiredTariff.contractEnd <= start) {
    return refused(
      'end_before_start',
      'The contract ends before the tariff can start. Enter the start of the contract, or a later end',
      'contract_end_date',
    )
  }
  const replaced = await endReplacedTariffs(transaction, otherTariffs, { start, end: desiredTariff.contractEnd })
  if (!replaced.ok) return replaced
  const created = await createTariff(
    transaction,
    { ...desiredTariff, contractStart: start, locationId: location.id, status: 'CONNECTED' },
    at,
  )
  if (!created.ok) return created
  await addTariffChange(transaction, 'tariff.create', created.value)
  return accepted({ tariff: created.value.tariff, replaced: replaced.value })
}

/**
 * Void a saved tariff and restore the tariffs that it replaced. Tariffs that others have changed or replaced in the
 * meantime remain unchanged. Refuses `not_found`.
 */
export const takeBackTariff = async (
  transaction: ConnectTransaction,
  { id, locationId, direction, type }: StoredTariff,
  replaced: readonly ReplacedTariff[],
): Promise<Result<null>> => {
  const voided = await voidTariff(transaction, id, transaction.at)
  if (!voided.ok) return voided
  await addTariffChange(transaction, 'tariff.void', voided.value)
  for (const before of replaced) {
    // The recost request of the voided tariff covers the restored tariffs:
    // it reaches to the next tariff that does not overlap.
    const others = await otherTariffsOf(transaction, locationId, { direction, type })
    const restored = await restoreTariff(transaction, before, others)
    if (restored !== null)
      await addTariffChange(transaction, 'tariff.restore', { tariff: restored, changed: null, recostRequest: null })
  }
  return accepted(null)
}
