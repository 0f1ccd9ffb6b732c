import { dayNumber, daysInMonth } from '../../../domain/civil-date.ts'
import { parseInstant } from '../../../domain/instant.ts'
import { dayMs, minuteMs } from '../../../domain/interval.ts'

/**
 * Time of a file: an instant (ms), a local time (ms, read as if in UTC), or hours since the start of a local day, by its
 * day number.
 */
export type FileTime =
  | { readonly at: number }
  | { readonly local: number }
  | { readonly day: number; readonly hours: number }

/** Form of times in a file: `read` returns undefined for texts of another form. */
export type TimeFormat = { readonly pattern: string; readonly read: (text: string) => FileTime | undefined }

/** Parts of a format, as digits of a text. */
const partPatterns: Readonly<Record<string, string>> = {
  yyyy: '(\\d{4})',
  MM: '(\\d{2})',
  M: '(\\d{1,2})',
  dd: '(\\d{2})',
  d: '(\\d{1,2})',
  HH: '(\\d{2})',
  H: '(\\d{1,2})',
  hh: '(\\d{2})',
  h: '(\\d{1,2})',
  mm: '(\\d{2})',
  ss: '(\\d{2}(?:\\.\\d{1,3})?)',
  a: '([AaPp]\\.?[Mm]\\.?)',
  n: '(\\d{1,2})',
}

const partNames = /yyyy|MM?|dd?|HH?|hh?|mm|ss|a|n/g
const offsetPattern = '(?: ?(Z|[+-]\\d{2}:?\\d{2}))?'

type Parts = ReadonlyMap<string, string>

const numberOf = (parts: Parts, short: string, fallback: number): number => {
  const text = parts.get(short) ?? parts.get(short + short)
  return text === undefined ? fallback : Number(text)
}

/** Return the hour of the day; NaN if the hour does not exist. */
const hourOf = (parts: Parts): number => {
  const half = parts.get('a')
  if (half === undefined) return numberOf(parts, 'H', numberOf(parts, 'h', 0))
  const hour = numberOf(parts, 'h', numberOf(parts, 'H', 0))
  return hour < 1 || hour > 12 ? Number.NaN : (hour % 12) + (/^p/i.test(half) ? 12 : 0)
}

const localOf = (parts: Parts): number | undefined => {
  const [year, month, date] = [Number(parts.get('yyyy')), numberOf(parts, 'M', 1), numberOf(parts, 'd', 1)]
  const [hour, minute, second] = [hourOf(parts), numberOf(parts, 'm', 0), numberOf(parts, 's', 0)]
  if (!(month >= 1 && month <= 12 && date >= 1 && date <= daysInMonth(year, month))) return undefined
  const isEndOfDay = hour === 24 && minute === 0 && second === 0
  if (!((hour <= 23 || isEndOfDay) && minute <= 59 && second < 60)) return undefined
  return dayNumber(year, month, date) * dayMs + (hour * 60 + minute) * minuteMs + Math.round(second * 1000)
}

/** Return the offset in minutes of `Z`, `+01:00` or `+0100`. */
const offsetMinutes = (text: string): number => {
  if (text === 'Z') return 0
  const minutes = Number(text.slice(1, 3)) * 60 + Number(text.slice(-2))
  return text.startsWith('-') ? 0 - minutes : minutes
}

/**
 * Return the format of a pattern of yyyy MM dd HH hh mm ss a, such as `dd.MM.yyyy HH:mm`. One letter (`d`, `M`, `H`,
 * `h`) takes one or two digits. Hour 24 is the end of the day. An offset after the time wins. `n` counts the hours since
 * the start of the local day, up to 25: it replaces the time.
 * Returns undefined for a pattern without year, month or day, with a part twice, or with `n` and a time.
 */
export const timeFormat = (pattern: string): TimeFormat | undefined => {
  const names: readonly string[] = pattern.match(partNames) ?? []
  const has = (name: string) => names.includes(name)
  const isComplete = has('yyyy') && (has('MM') || has('M')) && (has('dd') || has('d'))
  if (!isComplete || new Set(names.map(name => name[0])).size !== names.length || pattern.length > 40) return undefined
  if (has('n') && names.length !== 4) return undefined
  const literal = (text: string) => text.replace(/[.*+?^${}()|[\]\\/-]/g, '\\$&')
  const body = pattern
    .split(partNames)
    .map((text, index) => literal(text) + (partPatterns[names[index] ?? ''] ?? ''))
    .join('')
  const matcher = new RegExp(`^${body}${offsetPattern}$`)
  const read = (text: string): FileTime | undefined => {
    const match = matcher.exec(text.trim())
    if (match === null) return undefined
    const parts = new Map(names.map((name, index) => [name, match[index + 1] as string]))
    const local = localOf(parts)
    const offset = match[names.length + 1]
    if (local === undefined) return undefined
    const hours = parts.get('n')
    if (hours !== undefined) return { day: local / dayMs, hours: Number(hours) }
    return offset === undefined ? { local } : { at: local - offsetMinutes(offset) * minuteMs }
  }
  return { pattern, read }
}

const isoPatterns = ['yyyy-MM-ddTHH:mm:ss', 'yyyy-MM-dd HH:mm:ss', 'yyyy-MM-ddTHH:mm', 'yyyy-MM-dd HH:mm', 'yyyy-MM-dd']
const isoFormats = isoPatterns.map(timeFormat)

/** Seconds since 1970, from March 1973 on: shorter numbers are other things. */
const epochSeconds = /^\d{9,10}$/

/** Format of ISO 8601: date and time with or without an offset. Numbers are seconds since 1970. */
export const isoTime: TimeFormat = {
  pattern: 'yyyy-MM-ddTHH:mm:ss',
  read: text => {
    const at = parseInstant(text)
    if (at !== undefined) return { at }
    if (epochSeconds.test(text)) return { at: Number(text) * 1000 }
    for (const format of isoFormats) {
      const time = format?.read(text)
      if (time !== undefined) return time
    }
    return undefined
  },
}

/** Formats that could be taken for ISO 8601 with the day before the month. */
const dayBeforeMonth = /^yyyy-d/

/**
 * Return a reader of times in a format. A text of RFC 3339 with an offset, and one of ISO 8601, as cells of a worksheet have
 * it, are read in every format.
 */
export const timeReader = (format: TimeFormat | null): ((text: string) => FileTime | undefined) => {
  const readFormat = (format ?? isoTime).read
  const readsIso = format !== null && !dayBeforeMonth.test(format.pattern)
  const read = (text: string): FileTime | undefined =>
    readFormat(text) ?? (readsIso && text[4] === '-' ? isoTime.read(text) : undefined)
  let lastText = ''
  let lastTime: FileTime | undefined
  return text => {
    if (text === lastText) return lastTime
    const at = parseInstant(text)
    lastTime = at === undefined ? read(text) : { at }
    lastText = text
    return lastTime
  }
}
