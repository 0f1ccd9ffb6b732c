import sql from 'sql-template-tag'
import { toTimestamp } from '../column.ts'
import { readFirst } from '../database.ts'
import { isActive, ownedBy } from '../page.ts'
import type { Tenant, TenantTransaction } from '../transaction.ts'

/** User who may sign in. `passwordHash` is null without a password. */
type SignInUser = Tenant & {
  readonly id: string
  readonly address: string
  readonly passwordHash: string | null
  readonly sessionGeneration: number
}

const columns = sql`
  account_id as "accountId", live_mode as "liveMode", id, address, password_hash as "passwordHash",
  session_generation as "sessionGeneration"`

/** Set the password of a user and end its sessions. Accepts the invitation. Returns null if the user was removed. */
export const setUserPassword = (
  transaction: TenantTransaction,
  id: string,
  passwordHash: string,
  at: number,
): Promise<SignInUser | null> =>
  readFirst(transaction.query)(sql`
    update users set password_hash = ${passwordHash}, accepted_at = coalesce(accepted_at, ${toTimestamp(at)}),
      session_generation = session_generation + 1
    where ${ownedBy(transaction)} and id = ${id} and ${isActive} returning ${columns}`)
