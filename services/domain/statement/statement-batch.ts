import { dayMs } from '../interval.ts'
import type { RefusalCode } from '../refusal.ts'
import type { OwnedObject } from '../tenant.ts'

/** RUNNING: locations are left. STOPPED: the owner stopped the batch; statements that became FINAL stay FINAL. */
export type BatchStatus = 'RUNNING' | 'DONE' | 'STOPPED'

/** Location of a batch without a statement. */
export type BatchFailure = { readonly locationId: string; readonly code: RefusalCode; readonly message: string }

/** Stored batch. `finishedAt` in ms; null while the batch runs. */
export type StoredBatch = OwnedObject & {
  readonly status: BatchStatus
  readonly total: number
  readonly done: number
  readonly failed: number
  readonly finishedAt: number | null
}

/** Maximum number of locations of a batch. */
export const maxBatchLocations = 100_000
/** Maximum number of batches of an account and mode that run at the same time. */
export const maxRunningBatches = 2
/** Number of locations that a process claims at a time. Their months of hourly records are read at once. */
export const batchPageSize = 80
/** Time in ms for which a batch and its export are kept after its end. */
export const batchRetentionMs: number = 30 * dayMs
