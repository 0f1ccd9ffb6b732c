import { createHash } from 'node:crypto'
import sql from 'sql-template-tag'
import type { AuditEntry, ListedAuditEntry } from '../../../domain/registry/audit-entry.ts'
import { toTimestamp, toTimestampOrNull } from '../column.ts'
import { type Query, readRows } from '../database.ts'
import { matching, ownedBy } from '../page.ts'
import type { Tenant, TenantTransaction } from '../transaction.ts'

/**
 * Write an audit entry at the end of the transaction of its change. Entries of one account and mode form a chain, so
 * other writers wait until the transaction ends. The database refuses changes and deletions of entries.
 */
export const appendAudit = async (query: Query, { accountId, liveMode }: Tenant, entry: AuditEntry): Promise<void> => {
  const detail = JSON.stringify(entry.detail ?? {})
  await query(sql`
    insert into audit_log (account_id, live_mode, actor, action, object_id, detail, time_created)
    values (${accountId}, ${liveMode}, ${entry.actor}, ${entry.action}, ${entry.objectId}, ${detail},
      ${toTimestamp(entry.at)})`)
}

/** Read the newest audit entries of an object, or with null of all objects, up to `limit`. */
export const readAudit = (
  { query, ...tenant }: TenantTransaction,
  limit: number,
  objectId: string | null = null,
): Promise<readonly AuditEntry[]> =>
  readRows(query)(sql`
    select actor, action, object_id as "objectId", detail, time_created as at
    from audit_log where ${ownedBy(tenant)} and ${matching('object_id', objectId)} order by place desc limit ${limit}`)

/** Filter of audit entries; null: all. `action` may end with a star: `user.*`. Instants in ms, `to` exclusive. */
export type AuditFilter = {
  readonly actor: string | null
  readonly action: string | null
  readonly objectId: string | null
  readonly from: number | null
  readonly to: number | null
}

/** List audit entries, newest first: up to `limit` entries before the entry `before`, or the newest. */
export const listAudit = (
  { query, ...tenant }: TenantTransaction,
  { actor, action, objectId, from, to }: AuditFilter,
  before: number | null,
  limit: number,
): Promise<readonly ListedAuditEntry[]> => {
  const group = action?.endsWith('*') === true ? action.slice(0, -1) : null
  return readRows(query)(sql`
    select place as "entryNumber", actor, action, object_id as "objectId", detail, time_created as at,
      (select address from users u where u.account_id = a.account_id and u.id = a.actor limit 1) as "actorAddress"
    from audit_log a
    where ${ownedBy(tenant)} and place < ${before ?? Number.MAX_SAFE_INTEGER}
      and (${actor}::text is null or actor = ${actor})
      and (${group}::text is null or starts_with(action, ${group}))
      and (${action}::text is null or ${group}::text is not null or action = ${action})
      and (${objectId}::text is null or object_id = ${objectId})
      and (${toTimestampOrNull(from)}::timestamptz is null or time_created >= ${toTimestampOrNull(from)})
      and (${toTimestampOrNull(to)}::timestamptz is null or time_created < ${toTimestampOrNull(to)})
    order by place desc limit ${limit}`)
}

/** End of a chain of audit entries: their number, and the hash of the last one. */
export type AuditHead = Tenant & { readonly entries: number; readonly hash: string }

/** Altered or missing entry, by its number in the chain, from 1. */
export type AuditFault = { readonly entryNumber: number; readonly problem: string }

/** Result of a chain verification. `hasExpectedHash`: an entry has the hash that the caller expects. */
export type ChainVerification = {
  readonly entries: number
  readonly hash: string
  readonly faults: readonly AuditFault[]
  readonly hasExpectedHash: boolean
}

type Row = {
  place: number
  actor: string
  action: string
  object_id: string | null
  micros: string
  detail: string
  detail_hash: string
  hash: string
  erased: boolean
}

const pageSize = 1_000
const maxFaults = 100

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

/**
 * Hash of an entry: of its parts, each as its length in bytes and its text, as `audit_hash` of the schema calculates
 * it.
 */
const chainHash = (parts: readonly (string | null)[]): string =>
  sha256(parts.map(part => (part === null ? '-' : `${Buffer.byteLength(part)}:${part}`)).join(','))

/** Read the heads of the chains of both modes of an account; null: of all accounts. Operator. */
export const readAuditHeads = (operator: Query, accountId: string | null): Promise<readonly AuditHead[]> =>
  readRows(operator)(sql`
    select account_id as "accountId", live_mode as "liveMode", entries, hash from audit_heads
    where ${accountId}::text is null or account_id = ${accountId} order by account_id, live_mode desc`)

/**
 * Read a page of entries. `erased`: an erasure with its own audit entry names the entry, so its detail may be empty.
 */
const readEntries = (operator: Query, tenant: Tenant, after: number): Promise<readonly Row[]> =>
  readRows(operator)(sql`
    select place, actor, action, object_id, (extract(epoch from time_created) * 1000000)::bigint::text as micros,
      detail::text as detail,
      detail_hash, hash,
      exists (
        select from erasures e
        where ${ownedBy(tenant)} and (e.object_id = a.object_id
          or a.object_id = any(e.location_ids || e.device_ids || e.other_ids))
          and exists (select from audit_log erasure
          where ${ownedBy(tenant)} and erasure.object_id = e.object_id and erasure.action like '%.erase')
      ) as erased
    from audit_log a where ${ownedBy(tenant)} and place > ${after} order by place limit ${pageSize}`)

/** Return the problem of an entry that follows the hash `before`; null if the entry is unchanged. */
const faultOf = (row: Row, entryNumber: number, before: string, { accountId, liveMode }: Tenant): string | null => {
  if (row.place !== entryNumber) return `entry ${entryNumber} is missing`
  const parts = [
    before,
    accountId,
    String(liveMode),
    String(entryNumber),
    row.actor,
    row.action,
    row.object_id,
    row.micros,
    row.detail_hash,
  ]
  if (chainHash(parts) !== row.hash)
    return `entry ${entryNumber} (${row.action} of ${row.object_id ?? 'nothing'}) was altered`
  if (sha256(row.detail) === row.detail_hash || (row.detail === '{}' && row.erased)) return null
  return `the detail of entry ${entryNumber} (${row.action} of ${row.object_id ?? 'nothing'}) was altered`
}

/**
 * Verify a chain from its first entry to its head and calculate every hash. Returns up to 100 altered or missing
 * entries. After a fault the next entry is compared with the stored hash, so that one alteration is one fault.
 * `expectedHash`: a hash from an earlier verification that an entry must still have, or null. Operator.
 */
export const verifyAuditChain = async (
  operator: Query,
  head: AuditHead,
  expectedHash: string | null,
): Promise<ChainVerification> => {
  const faults: AuditFault[] = []
  let last = { place: 0, hash: '' }
  let hasExpectedHash = expectedHash === null
  for (let rows: readonly Row[] | null = null; rows === null || rows.length === pageSize; ) {
    rows = await readEntries(operator, head, last.place)
    for (const row of rows) {
      const problem = faultOf(row, last.place + 1, last.hash, head)
      if (problem !== null && faults.length < maxFaults) faults.push({ entryNumber: last.place + 1, problem })
      else if (row.place === head.entries && row.hash !== head.hash)
        faults.push({ entryNumber: row.place, problem: `entry ${row.place} was replaced` })
      last = row
      hasExpectedHash ||= row.hash === expectedHash
    }
  }
  if (last.place < head.entries)
    faults.push({ entryNumber: last.place + 1, problem: `entries ${last.place + 1} to ${head.entries} are missing` })
  return { entries: last.place, hash: last.hash, faults, hasExpectedHash }
}
