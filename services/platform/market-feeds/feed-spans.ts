import { localDays, type TimeZone } from '../../domain/civil-time.ts'
import type { Feed, Span } from './feed.ts'

/**
 * Cut a span into those that single requests may cover: whole local days, as many as the feed takes at once, cut where it says so.
 * In the order of time, without gap or overlap, from the first to the last local day that the span touches.
 */
export const requestSpans = (
  { longestDays, cutsAt = [] }: Pick<Feed, 'longestDays' | 'cutsAt'>,
  zone: TimeZone,
  span: Span,
): readonly Span[] => {
  const spans: { from: number; to: number }[] = []
  let days = 0
  for (const { start, end } of localDays(zone, span.from, span.to)) {
    const last = spans.at(-1)
    if (last === undefined || days === longestDays || cutsAt.includes(start)) {
      spans.push({ from: start, to: end })
      days = 1
    } else {
      last.to = end
      days += 1
    }
  }
  return spans
}
