import sql from 'sql-template-tag'
import { runInTimeSlices } from '../../concurrency/time-slices.ts'
import { writeJson } from '../../write-json.ts'
import { toTimestamp } from '../column.ts'
import type { Query } from '../database.ts'
import { ownedBy } from '../page.ts'
import type { Tenant, TenantTransaction } from '../transaction.ts'

/** Who did what to which object. `actor` is a key's id, `operator` or `system`; `action` is `resource.verb`; `at` in ms. */
export type AuditEntry = {
  readonly actor: string
  readonly action: string
  readonly objectId: string | null
  readonly detail: unknown
  readonly at: number
}

/**
 * Write an audit entry into the transaction of what it tells of, at its end: entries of one account and mode are chained, so whoever adds
 * one keeps the others waiting until the transaction ends. The database lets nobody change or remove it.
 */
export const appendAudit = async (query: Query, { accountId, liveMode }: Tenant, entry: AuditEntry): Promise<void> => {
  const detail = await runInTimeSlices(writeJson(entry.detail ?? {}), accountId)
  await query(sql`
    insert into audit_log (account_id, live_mode, actor, action, object_id, detail, time_created)
    values (${accountId}, ${liveMode}, ${entry.actor}, ${entry.action}, ${entry.objectId}, ${detail},
      ${toTimestamp(entry.at)})`)
}

/** Read the newest audit entries, up to `limit`. */
export const readAudit = async (
  { query, ...tenant }: TenantTransaction,
  limit: number,
): Promise<readonly AuditEntry[]> => {
  const { rows } = await query<AuditEntry>(sql`
    select actor, action, object_id as "objectId", detail, time_created as at
    from audit_log where ${ownedBy(tenant)} order by place desc limit ${limit}`)
  return rows
}
