import { dayMs } from '../../../domain/interval.ts'
import type { TenantTransaction } from '../transaction.ts'
import { appendAudit, listAudit } from './audit-log.ts'

/** Action of the audit entry that begins an undo. The object is the account, and the detail names the import. */
const action = 'readings.import_undo'
/** Time after which an undo is forgotten, because the submissions of its import are. Source: docs/rules/imports.md #undo. */
const rememberedMs = 2 * dayMs
const maxUndos = 10_000

/** Note that an undo of an import begins: from then on, its records count as not sent. */
export const beginUndo = (
  { query, ...tenant }: TenantTransaction,
  { importId, actor, at }: { readonly importId: string; readonly actor: string; readonly at: number },
): Promise<void> =>
  appendAudit(query, tenant, { actor, action, objectId: tenant.accountId, detail: { import_id: importId }, at })

/** Return the imports whose undo began in the last two days, with the start of their last undo in ms. */
export const undoneImports = async (
  transaction: TenantTransaction,
  at: number,
): Promise<ReadonlyMap<string, number>> => {
  const filter = { actor: null, action, objectId: transaction.accountId, from: at - rememberedMs, to: null }
  const entries = await listAudit(transaction, filter, null, maxUndos)
  return new Map(
    entries.toReversed().map(({ detail, at: undoneAt }) => {
      const { import_id: importId } = detail as { readonly import_id: string }
      return [importId, undoneAt] as const
    }),
  )
}
