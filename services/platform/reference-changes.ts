import type { Tenant } from './postgres/transaction.ts'

/** Tells what this process has in memory of own references that those of a tenant may have changed. */
export type ReferenceChanges = {
  /** Call after the commit of a change, and before its answer. */
  readonly announce: (tenant: Tenant) => void
  readonly listen: (listener: (tenant: Tenant) => void) => void
}

export const referenceChanges = (): ReferenceChanges => {
  const listeners: ((tenant: Tenant) => void)[] = []
  return {
    announce: tenant => {
      for (const listener of listeners) listener(tenant)
    },
    listen: listener => {
      listeners.push(listener)
    },
  }
}
