import { tariffToWire } from '../../contract/tariffs/tariff.ts'
import { tariffStartOf, tariffsToReplace } from '../../domain/connect/connect-tariff.ts'
import { accepted, type Result, refused } from '../../domain/refusal.ts'
import type { Tariff } from '../../domain/tariff/tariff.ts'
import { runInTimeSlices } from '../../platform/concurrency/time-slices.ts'
import type { ReplacedTariff } from '../../platform/postgres/connect/connect-sessions.ts'
import { restoreTariff } from '../../platform/postgres/connect/connect-tariffs.ts'
import { loadLocationPricing } from '../../platform/postgres/pricing/pricing-input.ts'
import type { StoredTariff, TariffDraft } from '../../platform/postgres/pricing/tariff-row.ts'
import {
  createTariff,
  endTariff,
  type TariffChange,
  updateTariff,
  voidTariff,
} from '../../platform/postgres/pricing/tariffs.ts'
import type { StoredLocation } from '../../platform/postgres/registry/location-row.ts'
import { retrieveLocation } from '../../platform/postgres/registry/locations.ts'
import type { TenantTransaction } from '../../platform/postgres/transaction.ts'
import {
  type ConnectDependencies,
  type Effects,
  mergeEffects,
  noEffects,
  type WithEffects,
} from './connect-dependencies.ts'
import { locationEvent } from './save-owner.ts'

/** A tariff that is to be kept: its start is worked out where it is not given. */
export type DesiredTariff = Omit<TariffDraft, 'locationId' | 'status'>

/** What auditors and lanes learn of a change of a tariff. */
export const tariffEffects = async (
  action: string,
  { tariff, recostRequest }: TariffChange,
  at: number,
): Promise<Effects> => ({
  events: [],
  audit: [{ action, objectId: tariff.id, detail: await runInTimeSlices(tariffToWire(tariff, at), tariff.accountId) }],
  recostRequests: [recostRequest],
})

/** The event that changes of its tariffs are for a location. */
export const locationUpdateEffects = async (
  transaction: TenantTransaction,
  locationId: string,
  at: number,
): Promise<Effects> => {
  const location = await retrieveLocation(transaction, locationId)
  return location === null ? noEffects : { ...noEffects, events: [locationEvent('location.update', location, at)] }
}

/** The location's tariffs of a kind that are not voided, closed ones too. */
const otherTariffsOf = async (
  { query, accountId, liveMode }: TenantTransaction,
  locationId: string,
  kind: { readonly direction: string; readonly type: string },
): Promise<readonly Tariff[]> => {
  const [pricing] = await loadLocationPricing(query, [{ accountId, liveMode, locationId }])
  return (pricing?.tariffs ?? []).filter(({ direction, type }) => direction === kind.direction && type === kind.type)
}

type ReplacementResult = { readonly replaced: readonly ReplacedTariff[]; readonly effects: Effects }

/** End what a new tariff takes the place of, where the new one starts. Gives what each was before. */
const endReplacedTariffs = async (
  transaction: TenantTransaction,
  otherTariffs: readonly Tariff[],
  interval: { readonly start: number | null; readonly end: number | null },
  at: number,
): Promise<Result<ReplacementResult>> => {
  const active = otherTariffs.filter(({ closedAt }) => closedAt === null)
  const replacementPlan = tariffsToReplace(active, interval, at)
  if (!replacementPlan.ok) return replacementPlan
  const replaced: ReplacedTariff[] = []
  let effects = noEffects
  for (const { id, way } of replacementPlan.value) {
    const cutAt = interval.start ?? at
    const ended =
      way === 'closes'
        ? await endTariff(transaction, id, cutAt)
        : await updateTariff(transaction, id, { contractEnd: cutAt }, at)
    if (!ended.ok) return ended
    effects = mergeEffects(
      effects,
      await tariffEffects(way === 'closes' ? 'tariff.delete' : 'tariff.update', ended.value, at),
    )
    replaced.push({ id, way, cutAt, contractEnd: active.find(one => one.id === id)?.contractEnd ?? null })
  }
  return accepted({ replaced, effects })
}

/** A tariff that was put, and what it has taken the place of. */
export type PutTariffResult = ReplacementResult & { readonly tariff: StoredTariff }

/**
 * Give a location a tariff: what it had of the kind ends where the new one starts. Without a start the tariff holds from the local day of
 * `at` on, or always did where it is the first. Refuses what creating a tariff refuses.
 * Source: docs/rules/connect.md #start-of-the-tariff.
 */
export const putTariff = async (
  { timeZone }: ConnectDependencies,
  transaction: TenantTransaction,
  location: Pick<StoredLocation, 'id' | 'timezone'>,
  desiredTariff: DesiredTariff,
  at: number,
): Promise<Result<PutTariffResult>> => {
  const zone = timeZone(location.timezone)
  if (zone === null) throw new RangeError(`location ${location.id} lies in the unknown zone ${location.timezone}`)
  const otherTariffs = await otherTariffsOf(transaction, location.id, desiredTariff)
  const start = tariffStartOf(desiredTariff.contractStart, otherTariffs, zone, at)
  if (start !== null && desiredTariff.contractEnd !== null && desiredTariff.contractEnd <= start) {
    return refused(
      'end_before_start',
      'The contract has ended before the tariff could begin; give its start, or a later end',
      'contract_end_date',
    )
  }
  const replacement = await endReplacedTariffs(transaction, otherTariffs, { start, end: desiredTariff.contractEnd }, at)
  if (!replacement.ok) return replacement
  const created = await createTariff(
    transaction,
    { ...desiredTariff, contractStart: start, locationId: location.id, status: 'CONNECTED' },
    at,
  )
  if (!created.ok) return created
  const { replaced, effects } = replacement.value
  return accepted({
    tariff: created.value.tariff,
    replaced,
    effects: mergeEffects(effects, await tariffEffects('tariff.create', created.value, at)),
  })
}

/**
 * Take a tariff back that was put: it never was, and what it has taken the place of holds again. What was changed or replaced by others in
 * the meantime stays as they left it. Refuses `not_found`.
 */
export const takeBackTariff = async (
  transaction: TenantTransaction,
  { id, locationId, direction, type }: StoredTariff,
  replaced: readonly ReplacedTariff[],
  at: number,
): Promise<Result<WithEffects<null>>> => {
  const voided = await voidTariff(transaction, id, at)
  if (!voided.ok) return voided
  let effects = await tariffEffects('tariff.void', voided.value, at)
  for (const before of replaced) {
    // The order of the voided tariff spans all that is restored: it reaches to the next tariff that none of these shares time with.
    const restored = await restoreTariff(
      transaction,
      before,
      await otherTariffsOf(transaction, locationId, { direction, type }),
    )
    if (restored !== null)
      effects = mergeEffects(
        effects,
        await tariffEffects('tariff.restore', { tariff: restored, recostRequest: null }, at),
      )
  }
  return accepted({ value: null, effects })
}
