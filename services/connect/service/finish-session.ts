import type { StoredTariff } from '../../domain/tariff/stored-tariff.ts'
import { secretHashes } from '../../platform/ids/new-id.ts'
import { retrieveTariff } from '../../platform/postgres/pricing/tariffs.ts'
import type { TenantTransaction } from '../../platform/postgres/transaction.ts'
import { sessionToWire } from '../contract/connect-session.ts'
import type { StoredSession } from '../postgres/connect-sessions.ts'
import type { ConnectDependencies, ConnectTransaction } from './connect-dependencies.ts'
import { currentTariff, locationOf } from './open-session.ts'
import { isPriced } from './summary.ts'

/** Return the hashes of a token, one per secret. A new token is stored under the first hash. */
export const sessionIdsOf = (
  { secret }: Pick<ConnectDependencies, 'secret'>,
  token: string,
): readonly [string, ...string[]] => secretHashes(secret, token)

/** Check if the tariff of a session has prices at `at` (ms). */
export const isSessionPriced = async (
  dependencies: ConnectDependencies,
  transaction: TenantTransaction,
  { tariffId }: Pick<StoredSession, 'tariffId'>,
  at: number,
): Promise<boolean> => {
  const tariff = tariffId === null ? null : await retrieveTariff(transaction, tariffId)
  return isPriced(dependencies, transaction, tariff, at)
}

/**
 * Create the `connect_session.complete` event of a session that has saved a tariff, once, if the tariff has a price.
 * Source: docs/rules/connect.md #saving-the-tariff; docs/rules/events-and-webhooks.md #event-types.
 */
export const announceIfPriced = async (
  transaction: ConnectTransaction,
  session: StoredSession,
  tariff: StoredTariff | null,
): Promise<StoredSession> => {
  const { dependencies, at, effects } = transaction
  if (session.completeAction !== 'SAVE' || session.announcedAt !== null) return session
  if (!(await isPriced(dependencies, transaction, tariff, at))) return session
  const data = sessionToWire({ ...session, token: null, isPriced: true })
  effects.events.push({ type: 'connect_session.complete', objectId: session.sessionId, data })
  return { ...session, announcedAt: at }
}

/** Mark a session as complete. Its tariff is the saved tariff, or the current tariff of its location. */
export const finishSession = async (
  transaction: ConnectTransaction,
  session: StoredSession,
): Promise<StoredSession> => {
  const { at } = transaction
  const location = await locationOf(transaction, session)
  const savedTariff = session.tariffId === null ? null : await retrieveTariff(transaction, session.tariffId)
  const tariff =
    savedTariff ?? (location === null ? null : await currentTariff(transaction, location.id, session.config, at))
  const finished: StoredSession = {
    ...session,
    customerId: session.customerId ?? location?.customerId ?? null,
    locationId: location?.id ?? null,
    tariffId: tariff?.id ?? null,
    completeAction: 'SAVE',
    completedAt: session.completedAt ?? at,
  }
  return announceIfPriced(transaction, finished, tariff)
}
