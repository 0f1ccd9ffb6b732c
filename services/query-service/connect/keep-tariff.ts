import { createHash } from 'node:crypto'
import { tariffToWire } from '../../contract/tariff.ts'
import { replacements, startOf, termsOf } from '../../domain/connect/tariff-of.ts'
import { accepted, type Result, refused } from '../../domain/refusal.ts'
import type { Tariff } from '../../domain/tariff/tariff.ts'
import type { TariffTerms } from '../../domain/tariff/validate-schedule.ts'
import type { StoredSession } from '../../platform/postgres/connect-sessions.ts'
import { findLibraryTariff } from '../../platform/postgres/library-tariffs.ts'
import type { StoredLocation } from '../../platform/postgres/location-row.ts'
import { retrieveLocation } from '../../platform/postgres/locations.ts'
import { loadLocationPricing } from '../../platform/postgres/pricing-input.ts'
import { forgetCredentials } from '../../platform/postgres/tariff-credentials.ts'
import { type ConnectionType, type StoredTariff, type TariffDraft, termsToText } from '../../platform/postgres/tariff-row.ts'
import { createTariff, endTariff, retrieveTariff, type TariffChange, updateTariff, voidTariff } from '../../platform/postgres/tariffs.ts'
import type { TenantTransaction } from '../../platform/postgres/transaction.ts'
import { bothDone, type ConnectDependencies, type Deeds, type Done, done, nothingDone } from './connect-dependencies.ts'
import { keepOwner, locationEvent } from './keep-owner.ts'
import { livingTariffs } from './open-session.ts'

/** A tariff that is to be kept: its start is worked out where it is not given. */
export type TariffWish = Omit<TariffDraft, 'locationId' | 'status'>

const noteOf = (action: string, { tariff, order }: TariffChange): Deeds => ({
  events: [],
  audit: [{ action, objectId: tariff.id, detail: tariffToWire(tariff) }],
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

/** End what a new tariff takes the place of, where the new one starts. */
const replace = async (
  transaction: TenantTransaction,
  others: readonly Tariff[],
  span: { readonly start: number | null; readonly end: number | null },
  at: number,
): Promise<Result<Deeds>> => {
  const living = others.filter(({ closedAt }) => closedAt === null)
  const replaced = replacements(living, span, at)
  if (!replaced.ok) return replaced
  let deeds = nothingDone
  for (const { id, way } of replaced.value) {
    const start = span.start ?? at
    const ended =
      way === 'closes' ? await endTariff(transaction, id, start) : await updateTariff(transaction, id, { contractEnd: start }, at)
    if (!ended.ok) return ended
    deeds = bothDone(deeds, noteOf(way === 'closes' ? 'tariff.delete' : 'tariff.update', ended.value))
  }
  return accepted(deeds)
}

/**
 * Give a location a tariff: what it had of the kind ends where the new one starts. Without a start the tariff holds from the local day of
 * `at` on, or always did where it is the first. Refuses what creating a tariff refuses. Source: Connect reference 5.
 */
export const putTariff = async (
  { timeZone }: ConnectDependencies,
  transaction: TenantTransaction,
  location: Pick<StoredLocation, 'id' | 'timezone'>,
  wish: TariffWish,
  at: number,
): Promise<Result<Done<StoredTariff>>> => {
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
  const replaced = await replace(transaction, others, { start, end: wish.contractEnd }, at)
  if (!replaced.ok) return replaced
  const created = await createTariff(transaction, { ...wish, contractStart: start, locationId: location.id, status: 'CONNECTED' }, at)
  if (!created.ok) return created
  return done(created.value.tariff, bothDone(replaced.value, noteOf('tariff.create', created.value)))
}

/** Where the terms of a session's tariff come from. */
type Origin = { readonly terms: TariffTerms; readonly connectionType: ConnectionType; readonly libraryTariffId: string | null }

const originOf = async (transaction: TenantTransaction, { config, state }: StoredSession): Promise<Result<Origin>> => {
  const contract = { start: state.term?.start ?? null, end: state.term?.end ?? null }
  if (state.source !== 'library') {
    const terms = termsOf(config, state, contract)
    if (!terms.ok) return terms
    const connectionType = terms.value.marketRates ? 'MARKET' : 'MANUAL'
    return accepted({ terms: terms.value, connectionType, libraryTariffId: null })
  }
  const tariff = await findLibraryTariff(transaction.query, state.libraryTariffId ?? '')
  if (tariff === null) return refused('tariff_not_found', 'The provider does not offer this tariff any more; choose another one')
  const { direction, type, marketRates, schedule } = tariff
  const terms = { direction, type, marketRates, schedule, contractStart: contract.start, contractEnd: contract.end }
  return accepted({ terms, connectionType: 'LIBRARY', libraryTariffId: tariff.id })
}

/** Give a session's tariff as it is to be kept. Refuses what its terms refuse. */
export const wishOf = async (transaction: TenantTransaction, session: StoredSession): Promise<Result<TariffWish>> => {
  const origin = await originOf(transaction, session)
  if (!origin.ok) return origin
  const { terms, connectionType, libraryTariffId } = origin.value
  const { provider, name } = session.state
  const displayName = name ?? provider?.displayName ?? null
  return accepted({ ...terms, connectionType, libraryTariffId, providerId: provider?.id ?? null, displayName })
}

/** What makes a tariff the one that was kept already: all of it but its name and its end, which can change. */
const printOf = ({ displayName: _, contractEnd: __, schedule, ...wish }: TariffWish, locationId: string): string =>
  createHash('sha256')
    .update(JSON.stringify([locationId, termsToText(schedule), wish]))
    .digest('hex')

/** Name and end of a tariff that the session has kept before; the rest is as it was. */
const keepAgain = async (
  transaction: TenantTransaction,
  kept: StoredTariff,
  { displayName, contractEnd }: TariffWish,
  at: number,
): Promise<Result<Deeds>> => {
  if (kept.displayName === displayName && kept.contractEnd === contractEnd) return accepted(nothingDone)
  const updated = await updateTariff(transaction, kept.id, { displayName, contractEnd }, at)
  if (!updated.ok) return updated
  return accepted(bothDone(noteOf('tariff.update', updated.value), await tellLocation(transaction, kept.locationId, at)))
}

/**
 * Keep the tariff of a session, with its customer and location. The same again changes nothing; another one in the same session takes the
 * place of the first, which never was. Gives the session with the ids of what was kept. Source: Connect reference 5.
 */
export const keepTariff = async (
  dependencies: ConnectDependencies,
  transaction: TenantTransaction,
  session: StoredSession,
  at: number,
): Promise<Result<Done<StoredSession>>> => {
  const wish = await wishOf(transaction, session)
  if (!wish.ok) return wish
  const owner = await keepOwner(dependencies, transaction, session, { mustFollow: wish.value.marketRates, at })
  if (!owner.ok) return owner
  const { session: owned, location } = owner.value.value
  const print = printOf(wish.value, location.id)
  const before = session.tariffId === null ? null : await retrieveTariff(transaction, session.tariffId)
  if (before !== null && session.savedPrint === print) {
    const again = await keepAgain(transaction, before, wish.value, at)
    return again.ok ? done(owned, bothDone(owner.value.deeds, again.value)) : again
  }
  let deeds = owner.value.deeds
  if (before !== null && session.savedPrint !== null) {
    const voided = await voidTariff(transaction, before.id, at)
    if (!voided.ok) return voided
    deeds = bothDone(deeds, noteOf('tariff.void', voided.value))
  }
  const put = await putTariff(dependencies, transaction, location, wish.value, at)
  if (!put.ok) return put
  const { direction, type } = session.config
  await forgetCredentials(transaction, { locationId: location.id, direction, type })
  deeds = bothDone(bothDone(deeds, put.value.deeds), await tellLocation(transaction, location.id, at))
  return done({ ...owned, tariffId: put.value.value.id, savedPrint: print }, deeds)
}

/**
 * End the tariff of a session's kind at its location now; its history stays, and what fetches it is forgotten. A location without one stays
 * as it is. Source: Connect reference 5; contract decisions 10.
 */
export const disconnectTariff = async (
  transaction: TenantTransaction,
  session: StoredSession,
  location: StoredLocation | null,
  at: number,
): Promise<Result<Done<StoredSession>>> => {
  if (location === null) return done(session)
  const living = await livingTariffs(transaction, location.id, session.config)
  const speaking = living.findLastIndex(({ contractStart }) => (contractStart ?? Number.NEGATIVE_INFINITY) <= at)
  let deeds = nothingDone
  for (const { id } of living.slice(Math.max(speaking, 0))) {
    const ended = await endTariff(transaction, id, at)
    if (!ended.ok) return ended
    deeds = bothDone(deeds, noteOf('tariff.delete', ended.value))
  }
  const { direction, type } = session.config
  await forgetCredentials(transaction, { locationId: location.id, direction, type })
  if (living.length > 0) deeds = bothDone(deeds, await tellLocation(transaction, location.id, at))
  return done({ ...session, locationId: location.id, tariffId: null, savedPrint: null }, deeds)
}
