import { type Lag, type Log, recordTopic } from '../platform/log/log.ts'
import type { SlowBacklogSource } from '../platform/role-module.ts'

/** What stands against more records in a lane. */
export type PartitionBacklog = {
  /** Tell whether records of an account in a mode may go into a lane now. */
  readonly accepts: (partition: number, liveMode: boolean, accountId: string) => boolean
  /** Look again how far the lanes' worker is behind, at `now` in ms. A lane that cannot be looked at stays as it was. */
  readonly refresh: (now: number) => Promise<void>
}

/** `endBefore`: where the lane ended at the look before the last one. */
type PartitionState = {
  lag: Pick<Lag, 'end' | 'committed' | 'firstUnreadAgeMs' | 'fill'>
  movedAt: number
  previousEnd: number
}

const noBacklog: SlowBacklogSource = { isLogFull: () => false, readUpTo: () => null }

const group = 'cost-worker'
const maxUnreadAgeMs = 30_000
/** A worker that has not moved for so long is not slow but away, and what it will have to do later may still be taken. */
const stoppedAfterMs = 30_000
const maxFill = 0.5

/**
 * Watch the lanes. Test mode waits while a lane's worker is more than 30 s behind though it moves. Nobody's records are taken any more
 * once unread ones fill a half of the lane's room or retention: beyond it they could be lost before they are read.
 * An account of which much slow work waits is not taken; a lane that waits for slow work alone, and is read on, is not behind for others.
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
  /** Tell whether all that stood in a lane at the look before the last one was read: what is not committed waits for slow work. */
  const isBeingRead = (index: number, { previousEnd }: PartitionState): boolean =>
    (backlog.readUpTo(index) ?? -1) >= previousEnd
  return {
    accepts: (index, liveMode, accountId) => {
      const state = partitions[index]
      if (state === undefined || state.lag.fill >= maxFill || backlog.isLogFull(accountId)) return false
      const isSlow = state.lag.firstUnreadAgeMs > maxUnreadAgeMs && refreshedAt - state.movedAt < stoppedAfterMs
      return liveMode || !isSlow || isBeingRead(index, state)
    },
    refresh: async now => {
      refreshedAt = now
      await Promise.allSettled(partitions.map(refreshPartition))
    },
  }
}
