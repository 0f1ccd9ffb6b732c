/** Date of an instant text in the offset of the location, for a date input. */
export const dayOf = text => (text ? text.slice(0, 10) : '')

/** UTC offset of a zone at an instant, in minutes. */
const offsetMinutesAt = (zone, at) => {
  const format = new Intl.DateTimeFormat('en', { timeZone: zone, timeZoneName: 'longOffset' })
  const name = format.formatToParts(at).find(({ type }) => type === 'timeZoneName')?.value ?? 'GMT'
  const [, sign = '+', hours = '0', minutes = '0'] = /GMT([+-])(\d{2}):(\d{2})/.exec(name) ?? []
  return (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes))
}

const twoDigits = value => String(value).padStart(2, '0')
const offsetText = minutes =>
  `${minutes < 0 ? '-' : '+'}${twoDigits(Math.floor(Math.abs(minutes) / 60))}:${twoDigits(Math.abs(minutes) % 60)}`

const dayMs = 86_400_000

/**
 * Midnight of a day at the location, with its UTC offset; null without a date. Without a zone it is midnight in UTC.
 * If a clock change skips midnight, the result is the instant of the change in the offset before it.
 * If midnight occurs twice, the result is the first.
 */
export const midnightIn = (zone, day) => {
  if (day === '') return null
  const wallTime = Date.parse(`${day}T00:00:00Z`)
  if (!zone) return `${day}T00:00:00Z`
  const [before, after] = [offsetMinutesAt(zone, wallTime - dayMs), offsetMinutesAt(zone, wallTime + dayMs)]
  const isMidnight = offset => offsetMinutesAt(zone, wallTime - offset * 60_000) === offset
  return `${day}T00:00:00${offsetText(!isMidnight(before) && isMidnight(after) ? after : before)}`
}

/** Long date of an instant text, in the offset of the location and the form of a locale. */
export const dateOf = (text, locale) =>
  new Date(`${dayOf(text)}T00:00:00`).toLocaleDateString(locale, { dateStyle: 'long' })
