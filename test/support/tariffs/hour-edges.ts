import { localClock } from '../oracle/local-clock.ts'

const minuteMs = 60_000

/** Return the UTC offset of a time zone in minutes. `at` is a whole minute. */
export const offsetMinutesAt = (zone: string, at: number): number => {
  const { year, month, date, hour, minute } = localClock(zone, at)
  return (Date.UTC(year, month - 1, date, hour, minute) - at) / minuteMs
}

/** Find the edges of the hours of [from, to) minute by minute: `from`, full local hours, clock changes, `to`. */
export const hourEdges = (zone: string, from: number, to: number): number[] => {
  const edges = [from]
  for (let at = Math.floor(from / minuteMs + 1) * minuteMs; at < to; at += minuteMs) {
    const isChange = offsetMinutesAt(zone, at) !== offsetMinutesAt(zone, at - minuteMs)
    if (isChange || localClock(zone, at).minute === 0) edges.push(at)
  }
  return [...edges, to]
}
