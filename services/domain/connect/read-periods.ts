import { accepted, type Refusal, type Result, refused } from '../refusal.ts'
import type { CostPeriod } from './session.ts'

const daySeconds = 86_400
const clockText = /^([01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d))?$/

/** Seconds of the day; undefined for what is no time of day. 24:00:00 is the end of the day. */
const secondOf = (text: string): number | undefined => {
  if (/^24:00(:00)?$/.test(text)) return 0
  const match = clockText.exec(text)
  return match === null ? undefined : Number(match[1]) * 3600 + Number(match[2]) * 60 + Number(match[3] ?? 0)
}

const two = (value: number): string => String(value).padStart(2, '0')
const clock = (second: number): string => `${two(Math.floor(second / 3600) % 24)}:${two(Math.floor(second / 60) % 60)}:${two(second % 60)}`

type Span = { readonly from: number; readonly to: number; readonly index: number }

/** A period that wraps over midnight is two spans of the day; equal ends are the whole day at midnight, and nothing elsewhere. */
const spansOf = (period: CostPeriod, index: number): Result<readonly Span[]> => {
  const field = `data.hours[${index}]`
  const from = secondOf(period.valid_from)
  if (from === undefined) return refused('valid_from_invalid', 'valid_from must be a time of day such as 07:00:00', `${field}.valid_from`)
  const to = secondOf(period.valid_to)
  if (to === undefined) return refused('valid_to_invalid', 'valid_to must be a time of day such as 23:30:00', `${field}.valid_to`)
  if (from === to && from !== 0) return refused('valid_to_invalid', 'valid_to must differ from valid_from', `${field}.valid_to`)
  const end = to === 0 ? daySeconds : to
  if (from < end) return accepted([{ from, to: end, index }])
  return accepted([
    { from, to: daySeconds, index },
    { from: 0, to: end, index },
  ])
}

/** The first place where the spans of a day overlap or leave time open; a day without its beginning or end is not complete. */
const faultOf = (spans: readonly Span[]): Refusal | null => {
  let at = 0
  for (const { from, to, index } of spans.toSorted((a, b) => a.from - b.from || a.to - b.to)) {
    if (from < at) {
      const message = `The periods overlap at ${clock(from)}; each must begin where another one ends`
      return refused('valid_from_invalid', message, `data.hours[${index}].valid_from`).refusal
    }
    if (from > at) return openFrom(at, from, at === 0)
    at = to
  }
  return at < daySeconds ? openFrom(at, daySeconds, true) : null
}

const openFrom = (from: number, to: number, isEdge: boolean): Refusal =>
  refused(
    isEdge ? 'incomplete_time_period' : 'gap_in_time_period',
    `The periods leave ${clock(from)} to ${clock(to)} open; together they must cover the whole day`,
    'data.hours',
  ).refusal

/**
 * Judge the periods of a day: together they cover it, none overlaps; 00:00:00 to 00:00:00 is the whole day, an end before its start wraps
 * over midnight. Gives them with their times as HH:MM:SS. Refuses `valid_from_invalid` (also where periods overlap), `valid_to_invalid`,
 * `gap_in_time_period` between periods, and `incomplete_time_period` where the day's beginning or end is left open.
 */
export const readPeriods = (periods: readonly CostPeriod[]): Result<readonly CostPeriod[]> => {
  if (periods.length === 0) return refused('incomplete_time_period', 'Give periods that cover the whole day', 'data.hours')
  const all: Span[] = []
  for (const [index, period] of periods.entries()) {
    const spans = spansOf(period, index)
    if (!spans.ok) return spans
    all.push(...spans.value)
  }
  const fault = faultOf(all)
  if (fault !== null) return { ok: false, refusal: fault }
  const written = (text: string): string => clock(secondOf(text) ?? 0)
  return accepted(periods.map(one => ({ cost: one.cost, valid_from: written(one.valid_from), valid_to: written(one.valid_to) })))
}
