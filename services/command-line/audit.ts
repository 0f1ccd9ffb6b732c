import type { AuditEntry } from '../domain/registry/audit-entry.ts'
import { appendAudit } from '../platform/postgres/registry/audit-log.ts'
import type { OperatorTransaction } from '../platform/postgres/transaction.ts'

type AuditNote = Omit<AuditEntry, 'actor'>

/** Write an audit entry with actor `operator` into one mode of an account. */
export const auditKey = (
  { query }: OperatorTransaction,
  tenant: { accountId: string; liveMode: boolean },
  auditNote: AuditNote,
): Promise<void> => appendAudit(query, tenant, { ...auditNote, actor: 'operator' })

/** Write an audit entry into both modes of an account, because the audit log is read by mode. */
export const auditAccount = async (
  transaction: OperatorTransaction,
  accountId: string,
  auditNote: AuditNote,
): Promise<void> => {
  for (const liveMode of [true, false]) await auditKey(transaction, { accountId, liveMode }, auditNote)
}
