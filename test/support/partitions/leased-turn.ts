import type { LeasedTurn } from '../../../services/platform/role-module.ts'

/** Turn of leased work that always has the lease. */
export const leasedTurn: LeasedTurn = {
  renewLease: async () => ({ name: 'test', holder: 'test', epoch: 1 }),
  signal: new AbortController().signal,
}
