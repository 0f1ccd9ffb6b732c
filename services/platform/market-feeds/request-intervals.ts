import { localDays, type TimeZone } from '../../domain/civil-time.ts'
import type { Feed, FeedInterval } from './feed.ts'

/**
 * Cut a span into those that single requests may cover: whole local days, as many as the feed takes at once, cut where it says so.
 * In the order of time, without gap or overlap, from the first to the last local day that the span touches.
 */
export const requestIntervals = (
  { maxDays, cutsAt = [] }: Pick<Feed, 'maxDays' | 'cutsAt'>,
  zone: TimeZone,
  interval: FeedInterval,
): readonly FeedInterval[] => {
  const intervals: { from: number; to: number }[] = []
  let days = 0
  for (const { start, end } of localDays(zone, interval.from, interval.to)) {
    const last = intervals.at(-1)
    if (last === undefined || days === maxDays || cutsAt.includes(start)) {
      intervals.push({ from: start, to: end })
      days = 1
    } else {
      last.to = end
      days += 1
    }
  }
  return intervals
}
