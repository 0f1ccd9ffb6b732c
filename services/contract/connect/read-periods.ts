import type { CostPeriod } from '../../domain/connect/session.ts'
import { accepted, type Refusal, type Result, refused } from '../../domain/refusal.ts'

const daySeconds = 86_400
const clockText = /^([01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d))?$/

/** Seconds of the day; undefined for what is no time of day. 24:00:00 is the end of the day. */
const parseClock = (text: string): number | undefined => {
  if (/^24:00(:00)?$/.test(text)) return 0
  const match = clockText.exec(text)
  return match === null ? undefined : Number(match[1]) * 3600 + Number(match[2]) * 60 + Number(match[3] ?? 0)
}

const padTwo = (value: number): string => String(value).padStart(2, '0')
const formatClock = (second: number): string =>
  `${padTwo(Math.floor(second / 3600) % 24)}:${padTwo(Math.floor(second / 60) % 60)}:${padTwo(second % 60)}`

type DayInterval = { readonly from: number; readonly to: number; readonly index: number }

/** A period that wraps over midnight is two spans of the day; equal ends are the whole day at midnight, and nothing elsewhere. */
const dayIntervalsOf = (period: CostPeriod, index: number): Result<readonly DayInterval[]> => {
  const field = `data.hours[${index}]`
  const from = parseClock(period.valid_from)
  if (from === undefined)
    return refused('valid_from_invalid', 'valid_from must be a time of day such as 07:00:00', `${field}.valid_from`)
  const to = parseClock(period.valid_to)
  if (to === undefined)
    return refused('valid_to_invalid', 'valid_to must be a time of day such as 23:30:00', `${field}.valid_to`)
  if (from === to && from !== 0)
    return refused('valid_to_invalid', 'valid_to must differ from valid_from', `${field}.valid_to`)
  const end = to === 0 ? daySeconds : to
  if (from < end) return accepted([{ from, to: end, index }])
  return accepted([
    { from, to: daySeconds, index },
    { from: 0, to: end, index },
  ])
}

/** The first place where the spans of a day overlap or leave time open; a day without its beginning or end is not complete. */
const findFault = (intervals: readonly DayInterval[]): Refusal | null => {
  let at = 0
  for (const { from, to, index } of intervals.toSorted((a, b) => a.from - b.from || a.to - b.to)) {
    if (from < at) {
      const message = `The periods overlap at ${formatClock(from)}; each must begin where another one ends`
      return refused('valid_from_invalid', message, `data.hours[${index}].valid_from`).refusal
    }
    if (from > at) return refuseOpenTime(at, from, at === 0)
    at = to
  }
  return at < daySeconds ? refuseOpenTime(at, daySeconds, true) : null
}

const refuseOpenTime = (from: number, to: number, isEdge: boolean): Refusal =>
  refused(
    isEdge ? 'incomplete_time_period' : 'gap_in_time_period',
    `The periods leave ${formatClock(from)} to ${formatClock(to)} open; together they must cover the whole day`,
    'data.hours',
  ).refusal

/**
 * Judge the periods of a day: together they cover it, none overlaps; 00:00:00 to 00:00:00 is the whole day, an end before its start wraps
 * over midnight. Gives them with their times as HH:MM:SS. Refuses `valid_from_invalid` (also where periods overlap), `valid_to_invalid`,
 * `gap_in_time_period` between periods, and `incomplete_time_period` where the day's beginning or end is left open.
 */
export const readPeriods = (periods: readonly CostPeriod[]): Result<readonly CostPeriod[]> => {
  if (periods.length === 0)
    return refused('incomplete_time_period', 'Give periods that cover the whole day', 'data.hours')
  const allIntervals: DayInterval[] = []
  for (const [index, period] of periods.entries()) {
    const intervals = dayIntervalsOf(period, index)
    if (!intervals.ok) return intervals
    allIntervals.push(...intervals.value)
  }
  const fault = findFault(allIntervals)
  if (fault !== null) return { ok: false, refusal: fault }
  const normalized = (text: string): string => formatClock(parseClock(text) ?? 0)
  return accepted(
    periods.map(one => ({
      cost: one.cost,
      valid_from: normalized(one.valid_from),
      valid_to: normalized(one.valid_to),
    })),
  )
}
