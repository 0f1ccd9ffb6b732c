import { startOfDayNumber, type TimeZone } from '../domain/civil-time.ts'
import { dayMs, minuteMs } from '../domain/interval.ts'

const firstInstant = Date.UTC(1999, 0, 1)
const horizon = Date.UTC(2102, 0, 1)
/**
 * Two changes of a zone are at least 6 days and 23 hours apart (Brazil in October 2000, Gaza in 2040), so a fine step
 * finds each change.
 * From `yearlyRulesFrom` on, wide steps suffice for a zone whose changes of the ten years before all followed a yearly
 * rule.
 */
const fineMs = 6 * dayMs
const wideMs = 27 * dayMs
const yearlyRulesFrom = Date.UTC(2038, 0, 1)
const yearlyRulesObservedFrom = Date.UTC(2028, 0, 1)

/**
 * Return the offsets of an IANA time zone as plain data. Null if the name is unknown.
 * The data covers 1999-01-01 to 2102-01-01 by the time zone data of Node.
 * Outside this interval, the nearest offset applies.
 * The name ignores case and is returned in IANA spelling. An alias stays the alias (`Asia/Calcutta`).
 * Names outside the IANA table (`PST`, `SystemV/AST4`, `+05:30`) are unknown.
 * Calls with the same zone return the same arrays.
 * Source: https://www.iana.org/time-zones.
 */
export function timeZone(name: string): TimeZone | null {
  const spelled = spellingByName().get(name.toLowerCase())
  if (spelled === undefined) return null
  const known = zones.get(spelled)
  if (known !== undefined) return known
  const zone = { name: spelled, ...offsetsOf(canonicalName(spelled)) }
  zones.set(spelled, zone)
  return zone
}

/**
 * Return the canonical name of a zone and all its aliases in Node's data (`Asia/Calcutta` for `Asia/Kolkata`), to
 * compare zones.
 * Throws `RangeError` for a name that Node does not know.
 */
export function canonicalName(name: string): string {
  const known = canonicalNames.get(name)
  if (known !== undefined) return known
  const canonical = new Intl.DateTimeFormat('en-US', { timeZone: name }).resolvedOptions().timeZone
  canonicalNames.set(name, canonical)
  return canonical
}

/** Return whether both zones have the same local time at each instant from 1999 on. */
export function isSameClock(one: TimeZone, other: TimeZone): boolean {
  return one.changes.join() === other.changes.join() && one.offsets.join() === other.offsets.join()
}

const zones = new Map<string, TimeZone>()
const canonicalNames = new Map<string, string>()
const offsetsByCanonicalName = new Map<string, Offsets>()

type Offsets = { readonly changes: readonly number[]; readonly offsets: readonly number[] }

function offsetsOf(canonical: string): Offsets {
  const known = offsetsByCanonicalName.get(canonical)
  if (known !== undefined) return known
  const found = findChanges(offsetReader(canonical))
  offsetsByCanonicalName.set(canonical, found)
  return found
}

function findChanges(offsetAt: (at: number) => number): Offsets {
  let before = offsetAt(firstInstant)
  let isYearly = true
  const changes: number[] = []
  const offsets = [before]
  for (let from = firstInstant, to: number; from < horizon; from = to) {
    to = Math.min(from + (from >= yearlyRulesFrom && isYearly ? wideMs : fineMs), horizon)
    const after = offsetAt(to)
    if (after === before) continue
    const expected = yearAfter(
      changes.at(-2),
      at => at > from && at <= to && offsetAt(at - minuteMs) === before && offsetAt(at) === after,
    )
    if (expected === undefined && from >= yearlyRulesObservedFrom) isYearly = false
    changes.push(expected ?? changeBetween(from, to, at => offsetAt(at) === before))
    offsets.push(after)
    before = after
  }
  return { changes, offsets }
}

/** Return the change a year later. A rule with a weekday repeats after 52 or 53 weeks. */
const yearAfter = (at: number | undefined, isChange: (at: number) => boolean): number | undefined =>
  at === undefined ? undefined : [at + 364 * dayMs, at + 371 * dayMs].find(isChange)

/** Search in whole minutes, because all changes since 1999 are at whole minutes. */
function changeBetween(from: number, to: number, isBefore: (at: number) => boolean): number {
  let [low, high] = [from / minuteMs, to / minuteMs]
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    if (isBefore(middle * minuteMs)) low = middle
    else high = middle
  }
  return high * minuteMs
}

/** Read offsets in whole minutes, because no zone has had finer offsets since 1999. */
function offsetReader(name: string): (at: number) => number {
  const clock = new Intl.DateTimeFormat('en-US', {
    timeZone: name,
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  })
  return at => {
    const text = clock.format(at)
    const utc = new Date(at)
    const days = digits(text, 0) - utc.getUTCDate()
    const wrapped = days > 1 ? -1 : days < -1 ? 1 : days
    const minutes = digits(text, 4) * 60 + digits(text, 7) - utc.getUTCHours() * 60 - utc.getUTCMinutes()
    return wrapped * dayMs + minutes * minuteMs
  }
}

/** Read two digits of a text such as `17, 06:00`. */
const digits = (text: string, at: number): number => text.charCodeAt(at) * 10 + text.charCodeAt(at + 1) - 11 * 48

let spellings: ReadonlyMap<string, string> | undefined

function spellingByName(): ReadonlyMap<string, string> {
  spellings ??= new Map(
    [...Intl.supportedValuesOf('timeZone'), ...additionalNames].map(name => [name.toLowerCase(), name]),
  )
  return spellings
}

/** Zones and links of the IANA table that `Intl.supportedValuesOf` omits. */
const additionalNames = `
Africa/Asmara Africa/Timbuktu America/Argentina/Buenos_Aires America/Argentina/Catamarca America/Argentina/ComodRivadavia
America/Argentina/Cordoba America/Argentina/Jujuy America/Argentina/Mendoza America/Atikokan America/Atka America/Ensenada
America/Fort_Wayne America/Indiana/Indianapolis America/Kentucky/Louisville America/Knox_IN America/Montreal America/Nipigon
America/Nuuk America/Pangnirtung America/Porto_Acre America/Rainy_River America/Rosario America/Santa_Isabel America/Shiprock
America/Thunder_Bay America/Virgin America/Yellowknife Antarctica/South_Pole Asia/Ashkhabad Asia/Choibalsan Asia/Chongqing
Asia/Chungking Asia/Dacca Asia/Harbin Asia/Ho_Chi_Minh Asia/Istanbul Asia/Kashgar Asia/Kathmandu Asia/Kolkata Asia/Macao Asia/Tel_Aviv
Asia/Thimbu Asia/Ujung_Pandang Asia/Ulan_Bator Asia/Yangon Atlantic/Faroe Atlantic/Jan_Mayen Australia/ACT Australia/Canberra
Australia/Currie Australia/LHI Australia/NSW Australia/North Australia/Queensland Australia/South Australia/Tasmania
Australia/Victoria Australia/West Australia/Yancowinna Brazil/Acre Brazil/DeNoronha Brazil/East Brazil/West CET CST6CDT
Canada/Atlantic Canada/Central Canada/Eastern Canada/Mountain Canada/Newfoundland Canada/Pacific Canada/Saskatchewan Canada/Yukon
Chile/Continental Chile/EasterIsland Cuba EET EST EST5EDT Egypt Eire Etc/GMT Etc/GMT+0 Etc/GMT+1 Etc/GMT+10 Etc/GMT+11 Etc/GMT+12
Etc/GMT+2 Etc/GMT+3 Etc/GMT+4 Etc/GMT+5 Etc/GMT+6 Etc/GMT+7 Etc/GMT+8 Etc/GMT+9 Etc/GMT-0 Etc/GMT-1 Etc/GMT-10 Etc/GMT-11 Etc/GMT-12
Etc/GMT-13 Etc/GMT-14 Etc/GMT-2 Etc/GMT-3 Etc/GMT-4 Etc/GMT-5 Etc/GMT-6 Etc/GMT-7 Etc/GMT-8 Etc/GMT-9 Etc/GMT0 Etc/Greenwich Etc/UCT
Etc/UTC Etc/Universal Etc/Zulu Europe/Belfast Europe/Kyiv Europe/Nicosia Europe/Tiraspol Europe/Uzhgorod Europe/Zaporozhye GB GB-Eire
GMT GMT+0 GMT-0 GMT0 Greenwich HST Hongkong Iceland Iran Israel Jamaica Japan Kwajalein Libya MET MST MST7MDT Mexico/BajaNorte
Mexico/BajaSur Mexico/General NZ NZ-CHAT Navajo PRC PST8PDT Pacific/Chuuk Pacific/Johnston Pacific/Kanton Pacific/Pohnpei
Pacific/Samoa Pacific/Yap Poland Portugal ROC ROK Singapore Turkey UCT US/Alaska US/Aleutian US/Arizona US/Central US/East-Indiana
US/Eastern US/Hawaii US/Indiana-Starke US/Michigan US/Mountain US/Pacific US/Samoa UTC Universal W-SU WET Zulu
`
  .trim()
  .split(/\s+/)

/** Return the instants [from, to) (ms) of local days [startDay, endDay) of a zone. Throws RangeError for an unknown name. */
export const instantsOfDays = (
  name: string,
  { startDay, endDay }: { readonly startDay: number; readonly endDay: number },
): { readonly from: number; readonly to: number } => {
  const zone = timeZone(name)
  if (zone === null) throw new RangeError(`The time zone ${name} is unknown`)
  return { from: startOfDayNumber(zone, startDay), to: startOfDayNumber(zone, endDay) }
}
