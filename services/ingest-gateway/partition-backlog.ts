import { type Lag, type Log, recordTopic } from '../platform/log/log.ts'
import type { SlowBacklogSource } from '../platform/role-module.ts'

/** Backlog of the partitions: whether they accept more records. */
export type PartitionBacklog = {
  /** Return whether a partition accepts records of an account and mode now. */
  readonly accepts: (partition: number, liveMode: boolean, accountId: string) => boolean
  /** Return whether some partition refuses all records. */
  readonly isFull: () => boolean
  /** Read the backlog of all partitions at `now` (ms). If a read fails, the last state of the partition stays. */
  readonly refresh: (now: number) => Promise<void>
}

/**
 * State of a partition. `movedAt`: last change of its committed offset. `previousEnd`: its end at the read before the
 * last one.
 */
type PartitionState = {
  lag: Pick<Lag, 'end' | 'committed' | 'firstUnreadAgeMs' | 'fill'>
  movedAt: number
  previousEnd: number
}

const noBacklog: SlowBacklogSource = { isLogFull: () => false, readUpTo: () => null }

const group = 'cost-worker'
const maxUnreadAgeMs = 30_000
/** A worker without a commit for this time is stopped, not slow. Its partitions still accept records. */
const stoppedAfterMs = 30_000
const maxFill = 0.5

/**
 * Create the backlog of all partitions. A partition refuses test mode while its worker commits, but is more than 30 s
 * late. A partition refuses all records if unread messages fill half of its capacity or retention: more of them could
 * be lost before they are read.
 * The records of an account are refused while too much slow work of it waits. A partition that only waits for slow
 * work, and is read, is not late for other accounts.
 * Source: docs/architecture.md #shedding.
 */
export const partitionBacklog = (
  log: Pick<Log, 'lag' | 'partitions'>,
  backlog: SlowBacklogSource = noBacklog,
): PartitionBacklog => {
  const initialState = (): PartitionState => ({
    lag: { end: 0, committed: -1, firstUnreadAgeMs: 0, fill: 0 },
    movedAt: 0,
    previousEnd: 0,
  })
  const partitions = Array.from({ length: log.partitions(recordTopic) }, initialState)
  let refreshedAt = 0
  const refreshPartition = async (state: PartitionState, index: number): Promise<void> => {
    const lag = await log.lag(recordTopic, index, group)
    if (lag.committed !== state.lag.committed) state.movedAt = refreshedAt
    state.previousEnd = state.lag.end
    state.lag = lag
  }
  /**
   * Return whether the worker has read all messages up to the previous end. The uncommitted ones then wait for slow
   * work.
   */
  const isBeingRead = (index: number, { previousEnd }: PartitionState): boolean =>
    (backlog.readUpTo(index) ?? -1) >= previousEnd
  return {
    accepts: (index, liveMode, accountId) => {
      const state = partitions[index]
      if (state === undefined || state.lag.fill >= maxFill || backlog.isLogFull(accountId)) return false
      const isSlow = state.lag.firstUnreadAgeMs > maxUnreadAgeMs && refreshedAt - state.movedAt < stoppedAfterMs
      return liveMode || !isSlow || isBeingRead(index, state)
    },
    isFull: () => partitions.some(({ lag }) => lag.fill >= maxFill),
    refresh: async now => {
      refreshedAt = now
      await Promise.allSettled(partitions.map(refreshPartition))
    },
  }
}
