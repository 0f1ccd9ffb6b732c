import { createHash } from 'node:crypto'
import sql from 'sql-template-tag'
import type { Query } from '../database.ts'
import { ownedBy } from '../page.ts'
import type { Tenant } from '../transaction.ts'

/** Where a chain of audit entries ends: how many there are, and the hash of the last one. */
export type AuditHead = Tenant & { readonly entries: number; readonly hash: string }

/** An entry that is not as it was written, by its place in the chain, from 1. */
export type AuditFault = { readonly entryNumber: number; readonly problem: string }

/** A chain that was walked to its end; `holds` tells whether an entry with the hash that was asked for stands in it. */
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

/** The hash of an entry: over its parts, each as its length in bytes and itself, as `audit_hash` in the schema writes them. */
const chainHash = (parts: readonly (string | null)[]): string =>
  sha256(parts.map(part => (part === null ? '-' : `${Buffer.byteLength(part)}:${part}`)).join(','))

/** Read where the chains of both modes of accounts end; of all accounts where none is named. Operator. */
export const readAuditHeads = async (operator: Query, accountId: string | null): Promise<readonly AuditHead[]> => {
  const { rows } = await operator<AuditHead>(sql`
    select account_id as "accountId", live_mode as "liveMode", entries, hash from audit_heads
    where ${accountId}::text is null or account_id = ${accountId} order by account_id, live_mode desc`)
  return rows
}

/** Entries whose detail was erased must be named by an erasure, which has an entry of its own. */
const readEntries = async (operator: Query, tenant: Tenant, after: number): Promise<readonly Row[]> => {
  const { rows } = await operator<Row>(sql`
    select place, actor, action, object_id, (extract(epoch from time_created) * 1000000)::bigint::text as micros, detail::text as detail,
      detail_hash, hash,
      exists (
        select from erasures e
        where ${ownedBy(tenant)} and (e.object_id = a.object_id or a.object_id = any(e.location_ids || e.device_ids || e.other_ids))
          and exists (select from audit_log told where ${ownedBy(tenant)} and told.object_id = e.object_id and told.action like '%.erase')
      ) as erased
    from audit_log a where ${ownedBy(tenant)} and place > ${after} order by place limit ${pageSize}`)
  return rows
}

/** Say what is wrong with an entry that follows one with the hash `before`; null where it is as it was written. */
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
 * Walk a chain from its first entry to its head and compute every hash anew. Gives every entry that was altered or is missing, up to 100;
 * what follows one is judged from the hash that is stored, so that one alteration is one fault. `sought`: a hash that was noted earlier, which
 * an entry must still have, unless null. Operator.
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
