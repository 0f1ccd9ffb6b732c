import { sessionToWire } from '../../contract/connect/connect-session.ts'
import { secretHashes } from '../../platform/ids/new-id.ts'
import type { StoredSession } from '../../platform/postgres/connect/connect-sessions.ts'
import { retrieveTariff } from '../../platform/postgres/pricing/tariffs.ts'
import type { TenantTransaction } from '../../platform/postgres/transaction.ts'
import { type ConnectDependencies, noEffects, type WithEffects } from './connect-dependencies.ts'
import { currentTariff, locationOf } from './open-session.ts'
import { isPriced } from './summary.ts'

/** Return the hashes of a token, one per secret. A new token is stored under the first hash. */
export const sessionIdsOf = (
  { secret }: Pick<ConnectDependencies, 'secret'>,
  token: string,
): readonly [string, ...string[]] => secretHashes(secret, token)

/**
 * Create the `connect_session.complete` event of a session that has saved a tariff, once, if the tariff has a price.
 * Source: docs/rules/connect.md #saving-the-tariff; docs/rules/events-and-webhooks.md #event-types.
 */
export const announceIfPriced = (session: StoredSession, hasPrice: boolean, at: number): WithEffects<StoredSession> => {
  const isDue = session.completeAction === 'SAVE' && session.announcedAt === null
  if (!isDue || !hasPrice) return { value: session, effects: noEffects }
  const data = sessionToWire({ ...session, token: null, isPriced: true })
  const event = { type: 'connect_session.complete', objectId: session.sessionId, data }
  return { value: { ...session, announcedAt: at }, effects: { ...noEffects, events: [event] } }
}

/** Mark a session as complete. Its tariff is the saved tariff, or the current tariff of its location. */
export const finishSession = async (
  dependencies: ConnectDependencies,
  transaction: TenantTransaction,
  session: StoredSession,
  at: number,
): Promise<WithEffects<StoredSession>> => {
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
  return announceIfPriced(finished, await isPriced(dependencies, transaction, tariff, at), at)
}
