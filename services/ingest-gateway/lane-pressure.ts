import type { Lag, Log } from '../platform/log/log.ts'

/** What stands against more records in a lane. */
export type LanePressure = {
  /** Tell whether records of a mode may go into a lane now. */
  readonly takes: (lane: number, liveMode: boolean) => boolean
  /** Look again how far the lanes' worker is behind, at `now` in ms. A lane that cannot be looked at stays as it was. */
  readonly look: (now: number) => Promise<void>
}

type Lane = { seen: Pick<Lag, 'committed' | 'firstUnreadAgeMs' | 'fill'>; movedAt: number }

const topic = 'meter.records.v1'
const reader = 'cost-worker'
const behindMs = 30_000
/** A worker that has not moved for so long is not slow but away, and what it will have to do later may still be taken. */
const awayMs = 30_000
const mostFill = 0.5

/**
 * Watch the lanes. Test mode waits while a lane's worker is more than 30 s behind though it moves. Nobody's records are taken any more
 * once unread ones fill a half of the lane's room or retention: beyond it they could be lost before they are read.
 * Source: docs/architecture.md #shedding.
 */
export const lanePressure = (log: Pick<Log, 'lag' | 'partitions'>): LanePressure => {
  const unseen = (): Lane => ({ seen: { committed: -1, firstUnreadAgeMs: 0, fill: 0 }, movedAt: 0 })
  const lanes = Array.from({ length: log.partitions(topic) }, unseen)
  let looked = 0
  const lookAt = async (lane: Lane, index: number): Promise<void> => {
    const lag = await log.lag(topic, index, reader)
    if (lag.committed !== lane.seen.committed) lane.movedAt = looked
    lane.seen = lag
  }
  return {
    takes: (index, liveMode) => {
      const lane = lanes[index]
      if (lane === undefined || lane.seen.fill >= mostFill) return false
      const isSlow = lane.seen.firstUnreadAgeMs > behindMs && looked - lane.movedAt < awayMs
      return liveMode || !isSlow
    },
    look: async now => {
      looked = now
      await Promise.allSettled(lanes.map(lookAt))
    },
  }
}
