import { type Result, refused } from '../../domain/refusal.ts'
import { writeEvents } from '../../platform/postgres/events/events.ts'
import { appendAudit } from '../../platform/postgres/registry/audit-log.ts'
import { changeTenant, type Tenant } from '../../platform/postgres/transaction.ts'
import { publishRecosts } from '../../query-service/change.ts'
import type { ConnectCall } from '../contract/connect-call.ts'
import { retrieveConnectSession, type StoredSession, updateConnectSession } from '../postgres/connect-sessions.ts'
import {
  type ConnectDependencies,
  type ConnectTransaction,
  connectTransaction,
  eventsOf,
} from './connect-dependencies.ts'
import type { SessionStep } from './take-step.ts'

/** Call whose session was found. */
export type FoundSession = {
  readonly tenant: Tenant
  readonly sessionId: string
  readonly token: string
  readonly call: ConnectCall
  readonly at: number
}

export const unknownToken = refused(
  'connect_token_invalid',
  'This link is no longer valid. Request a new link',
  'connect_token',
)

/** Maximum number of attempts. A concurrent session may create the same object; the next attempt finds the object. */
const maxAttempts = 3

/**
 * Change a session in one transaction, with its tariff, events and audit entries. The transaction locks the session.
 * After the commit this waits for the recost requests. Refuses what `work` refuses; a refusal rolls back the
 * transaction.
 */
export const changeSession = async (
  dependencies: ConnectDependencies,
  { tenant, sessionId, at }: Pick<FoundSession, 'tenant' | 'sessionId' | 'at'>,
  work: (transaction: ConnectTransaction, session: StoredSession) => Promise<Result<SessionStep>>,
): Promise<Result<SessionStep>> => {
  let recostRequests: ConnectTransaction['effects']['recostRequests'] = []
  const tryChange = () =>
    changeTenant(dependencies.database, tenant, async tenantTransaction => {
      const transaction = connectTransaction(tenantTransaction, dependencies, at)
      recostRequests = transaction.effects.recostRequests
      const session = await retrieveConnectSession(transaction, sessionId, { forUpdate: true })
      if (session === null) return unknownToken
      const step = await work(transaction, session)
      if (!step.ok) return step
      await updateConnectSession(transaction, step.value.session)
      await writeEffects(transaction, session.keyId)
      return step
    })
  let outcome = await tryChange()
  for (
    let attemptNumber = 1;
    attemptNumber < maxAttempts && !outcome.ok && outcome.refusal.code === 'reference_id_taken';
    attemptNumber += 1
  )
    outcome = await tryChange()
  if (outcome.ok) await publishRecosts(dependencies, { recostRequests })
  return outcome
}

/** Write the events and audit entries of a change in its transaction. */
export const writeEffects = async (transaction: ConnectTransaction, actor: string): Promise<void> => {
  const { query, at, effects } = transaction
  await writeEvents(transaction, eventsOf(transaction), at)
  for (const auditNote of effects.audit) await appendAudit(query, transaction, { ...auditNote, actor, at })
}
