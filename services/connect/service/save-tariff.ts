import { createHash } from 'node:crypto'
import { accepted, type Result, refused } from '../../domain/refusal.ts'
import type { Location } from '../../domain/registry/location.ts'
import type { ConnectionType, StoredTariff } from '../../domain/tariff/stored-tariff.ts'
import type { TariffTerms } from '../../domain/tariff/tariff.ts'
import { findLibraryTariff } from '../../platform/postgres/pricing/library-tariffs.ts'
import { termsToText } from '../../platform/postgres/pricing/tariff-row.ts'
import { endTariff, retrieveTariff, updateTariff } from '../../platform/postgres/pricing/tariffs.ts'
import type { TenantTransaction } from '../../platform/postgres/transaction.ts'
import { tariffTermsOf } from '../contract/captured-tariff.ts'
import type { StoredSession } from '../postgres/connect-sessions.ts'
import { forgetCredentials } from '../postgres/tariff-credentials.ts'
import type { ConnectTransaction } from './connect-dependencies.ts'
import { activeTariffs } from './open-session.ts'
import { addLocationUpdate, addTariffChange, type DesiredTariff, putTariff, takeBackTariff } from './put-tariff.ts'
import { saveOwner } from './save-owner.ts'
import { saveStandingCharge } from './save-standing-charge.ts'

/** Terms of a session's tariff, with their origin. */
type TariffOrigin = {
  readonly terms: TariffTerms
  readonly connectionType: ConnectionType
  readonly libraryTariffId: string | null
}

const originOf = async (
  transaction: TenantTransaction,
  { config, state }: StoredSession,
): Promise<Result<TariffOrigin>> => {
  const contract = { start: state.term?.start ?? null, end: state.term?.end ?? null }
  if (state.source !== 'library') {
    const terms = tariffTermsOf(config, state, contract)
    if (!terms.ok) return terms
    const connectionType = terms.value.marketRates ? 'MARKET' : 'MANUAL'
    return accepted({ terms: terms.value, connectionType, libraryTariffId: null })
  }
  const tariff = await findLibraryTariff(transaction.query, state.libraryTariffId ?? '')
  if (tariff === null)
    return refused('tariff_not_found', 'The provider no longer offers this tariff. Choose another tariff')
  const { direction, type, marketRates, schedule } = tariff
  const terms = { direction, type, marketRates, schedule, contractStart: contract.start, contractEnd: contract.end }
  return accepted({ terms, connectionType: 'LIBRARY', libraryTariffId: tariff.id })
}

/** Return the tariff that a session is going to save. Refuses invalid terms. */
export const desiredTariffOf = async (
  transaction: TenantTransaction,
  session: StoredSession,
): Promise<Result<DesiredTariff>> => {
  const origin = await originOf(transaction, session)
  if (!origin.ok) return origin
  const { terms, connectionType, libraryTariffId } = origin.value
  const { provider, name } = session.state
  const displayName = name ?? provider?.displayName ?? null
  return accepted({ ...terms, connectionType, libraryTariffId, providerId: provider?.id ?? null, displayName })
}

/** Return the fingerprint of a tariff: all members except its name and its end, which can change. */
const fingerprintOf = async (
  { displayName: _, contractEnd: __, schedule, ...desiredTariff }: DesiredTariff,
  location: Location,
): Promise<string> => {
  const terms = termsToText(schedule)
  return createHash('sha256')
    .update(JSON.stringify([location.id, terms, desiredTariff]))
    .digest('hex')
}

/** Update the name and the end of a tariff that the session has saved before. */
const updateSavedTariff = async (
  transaction: ConnectTransaction,
  savedTariff: StoredTariff,
  { displayName, contractEnd }: DesiredTariff,
): Promise<Result<null>> => {
  if (savedTariff.displayName === displayName && savedTariff.contractEnd === contractEnd) return accepted(null)
  const updated = await updateTariff(transaction, savedTariff.id, { displayName, contractEnd }, transaction.at)
  if (!updated.ok) return updated
  await addTariffChange(transaction, 'tariff.update', updated.value)
  await addLocationUpdate(transaction, savedTariff.locationId)
  return accepted(null)
}

/** Take back the tariff that a session has saved itself. Without such a tariff nothing changes. */
export const takeBackSaved = async (
  transaction: ConnectTransaction,
  { tariffId, savedPrint, replaced }: Pick<StoredSession, 'tariffId' | 'savedPrint' | 'replaced'>,
): Promise<Result<null>> => {
  const saved = tariffId === null || savedPrint === null ? null : await retrieveTariff(transaction, tariffId)
  return saved === null ? accepted(null) : takeBackTariff(transaction, saved, replaced)
}

/**
 * Save the tariff of a session, with its customer and location. Saving the same tariff again changes nothing. Another
 * tariff in the same session replaces the first one: the first tariff is voided, and the tariffs that it had ended
 * apply again.
 * Returns the session with the ids of the saved objects.
 * Source: docs/rules/connect.md #saving-the-tariff.
 */
export const saveTariff = async (
  transaction: ConnectTransaction,
  session: StoredSession,
): Promise<Result<StoredSession>> => {
  const desiredTariff = await desiredTariffOf(transaction, session)
  if (!desiredTariff.ok) return desiredTariff
  const savedOwner = await saveOwner(transaction, session, desiredTariff.value.marketRates)
  if (!savedOwner.ok) return savedOwner
  const { session: ownedSession, location } = savedOwner.value
  const fingerprint = await fingerprintOf(desiredTariff.value, location)
  const previous = session.tariffId === null ? null : await retrieveTariff(transaction, session.tariffId)
  if (previous !== null && session.savedPrint === fingerprint) {
    const again = await updateSavedTariff(transaction, previous, desiredTariff.value)
    if (!again.ok) return again
    const kept = await saveStandingCharge(transaction, session, previous)
    return kept.ok ? accepted(ownedSession) : kept
  }
  const takenBack = await takeBackSaved(transaction, session)
  if (!takenBack.ok) return takenBack
  const placed = await putTariff(transaction, location, desiredTariff.value)
  if (!placed.ok) return placed
  const { tariff, replaced } = placed.value
  const charged = await saveStandingCharge(transaction, session, tariff)
  if (!charged.ok) return charged
  const { direction, type } = session.config
  await forgetCredentials(transaction, { locationId: location.id, direction, type })
  await addLocationUpdate(transaction, location.id)
  return accepted({ ...ownedSession, tariffId: tariff.id, savedPrint: fingerprint, replaced })
}

/**
 * End the tariff of a session's kind at its location now. Its history remains; its provider credentials are deleted. A
 * location without a tariff does not change.
 * Source: docs/rules/connect.md #saving-the-tariff.
 */
export const disconnectTariff = async (
  transaction: ConnectTransaction,
  session: StoredSession,
  location: Location | null,
): Promise<Result<StoredSession>> => {
  const { at } = transaction
  if (location === null) return accepted(session)
  const active = await activeTariffs(transaction, location.id, session.config)
  const currentIndex = active.findLastIndex(({ contractStart }) => (contractStart ?? Number.NEGATIVE_INFINITY) <= at)
  for (const { id } of active.slice(Math.max(currentIndex, 0))) {
    const ended = await endTariff(transaction, id, at)
    if (!ended.ok) return ended
    await addTariffChange(transaction, 'tariff.delete', ended.value)
  }
  const { direction, type } = session.config
  await forgetCredentials(transaction, { locationId: location.id, direction, type })
  if (active.length > 0) await addLocationUpdate(transaction, location.id)
  return accepted({ ...session, locationId: location.id, tariffId: null, savedPrint: null, replaced: [] })
}
