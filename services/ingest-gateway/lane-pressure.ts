import type { Lag, Log } from '../platform/log/log.ts'
import type { SlowBacklogSource } from '../platform/slow-backlog.ts'

/** What stands against more records in a lane. */
export type LanePressure = {
  /** Tell whether records of an account in a mode may go into a lane now. */
  readonly takes: (lane: number, liveMode: boolean, accountId: string) => boolean
  /** Look again how far the lanes' worker is behind, at `now` in ms. A lane that cannot be looked at stays as it was. */
  readonly look: (now: number) => Promise<void>
}

/** `endBefore`: where the lane ended at the look before the last one. */
type Lane = { seen: Pick<Lag, 'end' | 'committed' | 'firstUnreadAgeMs' | 'fill'>; movedAt: number; endBefore: number }

const noBacklog: SlowBacklogSource = { isFull: () => false, readUpTo: () => null }

const topic = 'meter.records.v1'
const reader = 'cost-worker'
const behindMs = 30_000
/** A worker that has not moved for so long is not slow but away, and what it will have to do later may still be taken. */
const awayMs = 30_000
const mostFill = 0.5

/**
 * Watch the lanes. Test mode waits while a lane's worker is more than 30 s behind though it moves. Nobody's records are taken any more
 * once unread ones fill a half of the lane's room or retention: beyond it they could be lost before they are read.
 * An account of which much slow work waits is not taken; a lane that waits for slow work alone, and is read on, is not behind for others.
 * Source: docs/architecture.md #shedding.
 */
export const lanePressure = (log: Pick<Log, 'lag' | 'partitions'>, backlog: SlowBacklogSource = noBacklog): LanePressure => {
  const unseen = (): Lane => ({ seen: { end: 0, committed: -1, firstUnreadAgeMs: 0, fill: 0 }, movedAt: 0, endBefore: 0 })
  const lanes = Array.from({ length: log.partitions(topic) }, unseen)
  let looked = 0
  const lookAt = async (lane: Lane, index: number): Promise<void> => {
    const lag = await log.lag(topic, index, reader)
    if (lag.committed !== lane.seen.committed) lane.movedAt = looked
    lane.endBefore = lane.seen.end
    lane.seen = lag
  }
  /** Tell whether all that stood in a lane at the look before the last one was read: what is not committed waits for slow work. */
  const isReadOn = (index: number, { endBefore }: Lane): boolean => (backlog.readUpTo(index) ?? -1) >= endBefore
  return {
    takes: (index, liveMode, accountId) => {
      const lane = lanes[index]
      if (lane === undefined || lane.seen.fill >= mostFill || backlog.isFull(accountId)) return false
      const isSlow = lane.seen.firstUnreadAgeMs > behindMs && looked - lane.movedAt < awayMs
      return liveMode || !isSlow || isReadOn(index, lane)
    },
    look: async now => {
      looked = now
      await Promise.allSettled(lanes.map(lookAt))
    },
  }
}
