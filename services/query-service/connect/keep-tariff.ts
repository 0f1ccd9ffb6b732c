import { createHash } from 'node:crypto'
import { termsOf } from '../../domain/connect/tariff-of.ts'
import { accepted, type Result, refused } from '../../domain/refusal.ts'
import type { TariffTerms } from '../../domain/tariff/validate-schedule.ts'
import { inTurns } from '../../platform/event-loop-turn.ts'
import type { StoredSession } from '../../platform/postgres/connect-sessions.ts'
import { findLibraryTariff } from '../../platform/postgres/library-tariffs.ts'
import type { StoredLocation } from '../../platform/postgres/location-row.ts'
import { forgetCredentials } from '../../platform/postgres/tariff-credentials.ts'
import { type ConnectionType, type StoredTariff, termsToText } from '../../platform/postgres/tariff-row.ts'
import { endTariff, retrieveTariff, updateTariff } from '../../platform/postgres/tariffs.ts'
import type { TenantTransaction } from '../../platform/postgres/transaction.ts'
import { bothDone, type ConnectDependencies, type Deeds, type Done, done, nothingDone } from './connect-dependencies.ts'
import { keepOwner } from './keep-owner.ts'
import { livingTariffs } from './open-session.ts'
import { noteOf, putTariff, type TariffWish, takeBack, tellLocation } from './put-tariff.ts'

/** Where the terms of a session's tariff come from. */
type Origin = { readonly terms: TariffTerms; readonly connectionType: ConnectionType; readonly libraryTariffId: string | null }

const originOf = async (transaction: TenantTransaction, { accountId, config, state }: StoredSession): Promise<Result<Origin>> => {
  const contract = { start: state.term?.start ?? null, end: state.term?.end ?? null }
  if (state.source !== 'library') {
    const terms = await inTurns(termsOf(config, state, contract), accountId)
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
const printOf = async ({ displayName: _, contractEnd: __, schedule, ...wish }: TariffWish, location: StoredLocation): Promise<string> => {
  const terms = await inTurns(termsToText(schedule), location.accountId)
  return createHash('sha256')
    .update(JSON.stringify([location.id, terms, wish]))
    .digest('hex')
}

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
  return accepted(bothDone(await noteOf('tariff.update', updated.value, at), await tellLocation(transaction, kept.locationId, at)))
}

/**
 * Keep the tariff of a session, with its customer and location. The same again changes nothing; another one in the same session takes the
 * place of the first, which never was: what the first had ended holds again. Gives the session with the ids of what was kept.
 * Source: docs/rules/connect.md #saving-the-tariff.
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
  const print = await printOf(wish.value, location)
  const before = session.tariffId === null ? null : await retrieveTariff(transaction, session.tariffId)
  if (before !== null && session.savedPrint === print) {
    const again = await keepAgain(transaction, before, wish.value, at)
    return again.ok ? done(owned, bothDone(owner.value.deeds, again.value)) : again
  }
  let deeds = owner.value.deeds
  if (before !== null && session.savedPrint !== null) {
    const taken = await takeBack(transaction, before, session.replaced, at)
    if (!taken.ok) return taken
    deeds = bothDone(deeds, taken.value.deeds)
  }
  const put = await putTariff(dependencies, transaction, location, wish.value, at)
  if (!put.ok) return put
  const { tariff, replaced } = put.value
  const { direction, type } = session.config
  await forgetCredentials(transaction, { locationId: location.id, direction, type })
  deeds = bothDone(bothDone(deeds, put.value.deeds), await tellLocation(transaction, location.id, at))
  return done({ ...owned, tariffId: tariff.id, savedPrint: print, replaced }, deeds)
}

/**
 * End the tariff of a session's kind at its location now; its history stays, and what fetches it is forgotten. A location without one stays
 * as it is. Source: docs/rules/connect.md #saving-the-tariff.
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
    deeds = bothDone(deeds, await noteOf('tariff.delete', ended.value, at))
  }
  const { direction, type } = session.config
  await forgetCredentials(transaction, { locationId: location.id, direction, type })
  if (living.length > 0) deeds = bothDone(deeds, await tellLocation(transaction, location.id, at))
  return done({ ...session, locationId: location.id, tariffId: null, savedPrint: null, replaced: [] }, deeds)
}
