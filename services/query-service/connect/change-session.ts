import type { ConnectCall } from '../../contract/connect-call.ts'
import { type Result, refused } from '../../domain/refusal.ts'
import { appendAudit } from '../../platform/postgres/audit-log.ts'
import { retrieveSession, type StoredSession, updateSession } from '../../platform/postgres/connect-sessions.ts'
import { writeEvents } from '../../platform/postgres/events.ts'
import { changeTenant, type Tenant, type TenantTransaction } from '../../platform/postgres/transaction.ts'
import { publishSoon } from '../change.ts'
import type { ConnectDependencies } from './connect-dependencies.ts'
import type { Step } from './take-step.ts'

/** A call whose session was found. */
export type Found = {
  readonly tenant: Tenant
  readonly sessionId: string
  readonly token: string
  readonly call: ConnectCall
  readonly at: number
}

export const unknownToken = refused('connect_token_invalid', 'This link is not valid any more; ask for a new one', 'connect_token')

/** Another session of the same references may be creating what this one creates: then it is there at the next attempt. */
const attempts = 3

/**
 * Change a session in one transaction with all that the change does: tariff, events, audit entries. Whoever comes for the same session
 * waits. What it owes the lanes is there when this returns. Refuses what `work` refuses, and undoes it then.
 */
export const changeSession = async (
  dependencies: ConnectDependencies,
  { tenant, sessionId, at }: Pick<Found, 'tenant' | 'sessionId' | 'at'>,
  work: (transaction: TenantTransaction, session: StoredSession) => Promise<Result<Step>>,
): Promise<Result<Step>> => {
  const attempt = () =>
    changeTenant(dependencies.database, tenant, async transaction => {
      const session = await retrieveSession(transaction, sessionId, { forUpdate: true })
      if (session === null) return unknownToken
      const step = await work(transaction, session)
      if (!step.ok) return step
      await updateSession(transaction, step.value.session)
      await writeDeeds(transaction, session.keyId, step.value, at)
      return step
    })
  let made = await attempt()
  for (let again = 1; again < attempts && !made.ok && made.refusal.code === 'reference_id_taken'; again += 1) made = await attempt()
  if (made.ok) await publishSoon(dependencies, { orders: made.value.deeds.orders })
  return made
}

/** Write events and audit entries of a change into its transaction. */
export const writeDeeds = async (
  transaction: TenantTransaction,
  actor: string,
  { deeds }: Pick<Step, 'deeds'>,
  at: number,
): Promise<void> => {
  await writeEvents(transaction, deeds.events, at)
  for (const note of deeds.audit) await appendAudit(transaction.query, transaction, { ...note, actor, at })
}
