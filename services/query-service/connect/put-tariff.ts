import { tariffToWire } from '../../contract/tariff.ts'
import { replacements, startOf } from '../../domain/connect/tariff-of.ts'
import { accepted, type Result, refused } from '../../domain/refusal.ts'
import type { Tariff } from '../../domain/tariff/tariff.ts'
import { inTurns } from '../../platform/event-loop-turn.ts'
import type { ReplacedTariff } from '../../platform/postgres/connect-sessions.ts'
import { restoreTariff } from '../../platform/postgres/connect-tariffs.ts'
import type { StoredLocation } from '../../platform/postgres/location-row.ts'
import { retrieveLocation } from '../../platform/postgres/locations.ts'
import { loadLocationPricing } from '../../platform/postgres/pricing-input.ts'
import type { StoredTariff, TariffDraft } from '../../platform/postgres/tariff-row.ts'
import { createTariff, endTariff, type TariffChange, updateTariff, voidTariff } from '../../platform/postgres/tariffs.ts'
import type { TenantTransaction } from '../../platform/postgres/transaction.ts'
import { bothDone, type ConnectDependencies, type Deeds, type Done, nothingDone } from './connect-dependencies.ts'
import { locationEvent } from './keep-owner.ts'

/** A tariff that is to be kept: its start is worked out where it is not given. */
export type TariffWish = Omit<TariffDraft, 'locationId' | 'status'>

/** What auditors and lanes learn of a change of a tariff. */
export const noteOf = async (action: string, { tariff, order }: TariffChange, at: number): Promise<Deeds> => ({
  events: [],
  audit: [{ action, objectId: tariff.id, detail: await inTurns(tariffToWire(tariff, at), tariff.accountId) }],
  orders: [order],
})

/** The event that changes of its tariffs are for a location. */
export const tellLocation = async (transaction: TenantTransaction, locationId: string, at: number): Promise<Deeds> => {
  const location = await retrieveLocation(transaction, locationId)
  return location === null ? nothingDone : { ...nothingDone, events: [locationEvent('location.update', location, at)] }
}

/** The location's tariffs of a kind that are not voided, closed ones too. */
const othersOf = async (
  { query, accountId, liveMode }: TenantTransaction,
  locationId: string,
  kind: { readonly direction: string; readonly type: string },
): Promise<readonly Tariff[]> => {
  const [pricing] = await loadLocationPricing(query, [{ accountId, liveMode, locationId }])
  return (pricing?.tariffs ?? []).filter(({ direction, type }) => direction === kind.direction && type === kind.type)
}

type Replaced = { readonly replaced: readonly ReplacedTariff[]; readonly deeds: Deeds }

/** End what a new tariff takes the place of, where the new one starts. Gives what each was before. */
const replace = async (
  transaction: TenantTransaction,
  others: readonly Tariff[],
  span: { readonly start: number | null; readonly end: number | null },
  at: number,
): Promise<Result<Replaced>> => {
  const living = others.filter(({ closedAt }) => closedAt === null)
  const judged = replacements(living, span, at)
  if (!judged.ok) return judged
  const replaced: ReplacedTariff[] = []
  let deeds = nothingDone
  for (const { id, way } of judged.value) {
    const cutAt = span.start ?? at
    const ended =
      way === 'closes' ? await endTariff(transaction, id, cutAt) : await updateTariff(transaction, id, { contractEnd: cutAt }, at)
    if (!ended.ok) return ended
    deeds = bothDone(deeds, await noteOf(way === 'closes' ? 'tariff.delete' : 'tariff.update', ended.value, at))
    replaced.push({ id, way, cutAt, contractEnd: living.find(one => one.id === id)?.contractEnd ?? null })
  }
  return accepted({ replaced, deeds })
}

/** A tariff that was put, and what it has taken the place of. */
export type PutTariff = Replaced & { readonly tariff: StoredTariff }

/**
 * Give a location a tariff: what it had of the kind ends where the new one starts. Without a start the tariff holds from the local day of
 * `at` on, or always did where it is the first. Refuses what creating a tariff refuses.
 * Source: docs/rules/connect.md #start-of-the-tariff.
 */
export const putTariff = async (
  { timeZone }: ConnectDependencies,
  transaction: TenantTransaction,
  location: Pick<StoredLocation, 'id' | 'timezone'>,
  wish: TariffWish,
  at: number,
): Promise<Result<PutTariff>> => {
  const zone = timeZone(location.timezone)
  if (zone === null) throw new RangeError(`location ${location.id} lies in the unknown zone ${location.timezone}`)
  const others = await othersOf(transaction, location.id, wish)
  const start = startOf(wish.contractStart, others, zone, at)
  if (start !== null && wish.contractEnd !== null && wish.contractEnd <= start) {
    return refused(
      'end_before_start',
      'The contract has ended before the tariff could begin; give its start, or a later end',
      'contract_end_date',
    )
  }
  const made = await replace(transaction, others, { start, end: wish.contractEnd }, at)
  if (!made.ok) return made
  const created = await createTariff(transaction, { ...wish, contractStart: start, locationId: location.id, status: 'CONNECTED' }, at)
  if (!created.ok) return created
  const { replaced, deeds } = made.value
  return accepted({ tariff: created.value.tariff, replaced, deeds: bothDone(deeds, await noteOf('tariff.create', created.value, at)) })
}

/**
 * Take a tariff back that was put: it never was, and what it has taken the place of holds again. What was changed or replaced by others in
 * the meantime stays as they left it. Refuses `not_found`.
 */
export const takeBack = async (
  transaction: TenantTransaction,
  { id, locationId, direction, type }: StoredTariff,
  replaced: readonly ReplacedTariff[],
  at: number,
): Promise<Result<Done<null>>> => {
  const voided = await voidTariff(transaction, id, at)
  if (!voided.ok) return voided
  let deeds = await noteOf('tariff.void', voided.value, at)
  for (const before of replaced) {
    // The order of the voided tariff spans all that is restored: it reaches to the next tariff that none of these shares time with.
    const restored = await restoreTariff(transaction, before, await othersOf(transaction, locationId, { direction, type }))
    if (restored !== null) deeds = bothDone(deeds, await noteOf('tariff.restore', { tariff: restored, order: null }, at))
  }
  return accepted({ value: null, deeds })
}
