/** Audit entry. `actor` is the id of a key, `operator` or `system`; `action` is `resource.verb`; `at` in ms. */
export type AuditEntry = {
  readonly actor: string
  readonly action: string
  readonly objectId: string | null
  readonly detail: unknown
  readonly at: number
}

/** Audit entry with its number in the chain. `actorAddress` is the address of a user; null for keys and erased users. */
export type ListedAuditEntry = AuditEntry & { readonly entryNumber: number; readonly actorAddress: string | null }
