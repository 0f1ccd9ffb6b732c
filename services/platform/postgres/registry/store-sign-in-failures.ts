import sql from 'sql-template-tag'
import { writeInstant } from '../../../domain/instant.ts'
import {
  type SignInFailure,
  type SignInFailureCounter,
  signInFailureCounter,
  type TenantFailures,
} from '../../access/sign-in-failures.ts'
import { isDoneWithin } from '../../concurrency/timeout.ts'
import type { Logger } from '../../telemetry/logger.ts'
import { type Database, type Query, readRows } from '../database.ts'
import { withTenant } from '../transaction.ts'
import { appendAudit } from './audit-log.ts'

/** Failed sign-ins of a process. `report` only counts. Dispose stores the counts that are left. */
export type SignInFailures = AsyncDisposable & {
  readonly report: (failure: SignInFailure) => void
  /** Store the counts that are due, or with `isStopping` all counts. */
  readonly store: (isStopping: boolean) => Promise<void>
}

const storeIntervalMs = 10_000
/** Max time of a stop for the counts that are left. */
const stopLimitMs = 1_000

/** Return the accounts that exist. A wrong key can name any account. Operator. */
const existingAccounts = async (operator: Query, ids: readonly string[]): Promise<ReadonlySet<string>> => {
  const rows = await readRows(operator)<{ id: string }>(sql`select id from accounts where id = any(${ids})`)
  return new Set(rows.map(({ id }) => id))
}

const writeFailures = (database: Database, { failures, ...tenant }: TenantFailures, at: number): Promise<void> =>
  withTenant(database, tenant, async transaction => {
    for (const { action, objectId, reason, peer, attempts, firstAt, lastAt } of failures) {
      const times = { first_at: writeInstant(firstAt), last_at: writeInstant(lastAt) }
      const detail = { reason, peer, attempts, ...times }
      await appendAudit(transaction.query, transaction, { actor: 'system', action, objectId, detail, at })
    }
  })

type StoreDependencies = { readonly database: Database; readonly logger: Pick<Logger, 'warn'> }

/** Store the counts of one counter that are due. Counts that cannot be stored stay in the counter. */
const storeTaken = async (
  { database, logger }: StoreDependencies,
  counter: SignInFailureCounter,
  at: number,
  isStopping: boolean,
): Promise<void> => {
  const dropped = counter.takeUncounted()
  if (dropped > 0) logger.warn({ dropped }, 'Failed sign-ins of too many accounts: some have no audit entry')
  const taken = counter.take(at, isStopping)
  if (taken.length === 0) return
  const left = new Set(taken)
  try {
    const ids = taken.map(({ accountId }) => accountId)
    const accounts = await existingAccounts(database.operator, ids)
    for (const one of taken) {
      if (accounts.has(one.accountId)) await writeFailures(database, one, at)
      else counter.forget(one)
      left.delete(one)
    }
  } catch (error) {
    for (const one of left) counter.putBack(one, at)
    logger.warn({ err: error }, 'Failed sign-ins are not stored yet, retrying')
  }
}

/**
 * Open the audit of failed sign-ins. A failure whose process ends without a stop before its entry is stored has no entry.
 * Source: docs/audit-log.md #failed-sign-ins.
 */
export const openSignInFailures = (dependencies: StoreDependencies, now: () => number): SignInFailures => {
  const users = signInFailureCounter()
  // A wrong key can name any account, so its counts must not take the memory of known users and keys.
  const wrongKeys = signInFailureCounter()
  let storing = Promise.resolve()
  const store = (isStopping: boolean): Promise<void> => {
    storing = storing.then(async () => {
      for (const counter of [users, wrongKeys]) await storeTaken(dependencies, counter, now(), isStopping)
    })
    return storing
  }
  const timer = setInterval(() => void store(false), storeIntervalMs).unref()
  return {
    report: failure => (failure.reason === 'wrong_key' ? wrongKeys : users).add(failure, now()),
    store,
    [Symbol.asyncDispose]: async () => {
      clearInterval(timer)
      await isDoneWithin(stopLimitMs, store(true))
    },
  }
}
