import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { TimeZone } from '../../../services/domain/civil-time.ts'
import { canonicalName, isSameClock, timeZone } from '../../../services/platform/time-zone.ts'

const minuteMs = 60_000
const hourMs = 3_600_000
const names = Intl.supportedValuesOf('timeZone')
const from = Date.UTC(2000, 0, 1)
const to = Date.UTC(2036, 0, 1)

/** Reads the offset that the runtime names (`GMT-03:30`), where the implementation subtracts clock readings. */
function offsetReader(name: string): (at: number) => number {
  const format = new Intl.DateTimeFormat('en-US', { timeZone: name, day: 'numeric', timeZoneName: 'longOffset' })
  return at => {
    const [, sign, hours, minutes] =
      /GMT(?:([+-])(\d\d):(\d\d))?$/.exec(format.format(at)) ?? expect.fail(`no offset in ${format.format(at)}`)
    return sign === undefined ? 0 : (sign === '-' ? -1 : 1) * (Number(hours) * hourMs + Number(minutes) * minuteMs)
  }
}

function offsetAt(zone: TimeZone, at: number): number | undefined {
  return zone.offsets[zone.changes.findLastIndex(change => change <= at) + 1]
}

function zoneOf(name: string): TimeZone {
  return timeZone(name) ?? expect.fail(`${name} is not a zone`)
}

/** Steps through 2000–2035 and gives the first instant at which the data and the reading differ. */
function firstDifference(zone: TimeZone, stepMs: number): string | undefined {
  const read = offsetReader(zone.name)
  let index = zone.changes.filter(change => change <= from).length
  for (let at = from; at < to; at += stepMs) {
    while ((zone.changes[index] ?? Number.POSITIVE_INFINITY) <= at) index += 1
    if (read(at) !== zone.offsets[index]) return `${zone.name} at ${new Date(at).toISOString()}`
  }
  return undefined
}

test('every zone changes in exactly the minutes in which its clock does', () => {
  const wrong = names.flatMap(name => {
    const zone = zoneOf(name)
    const read = offsetReader(name)
    return zone.changes
      .map((change, index) => ({ change, before: zone.offsets[index], after: zone.offsets[index + 1] }))
      .filter(({ change }) => change >= from && change < to)
      .filter(({ change, before, after }) =>
        [-2, -1, 0, 1].some(
          minutes => read(change + minutes * minuteMs) !== (minutes < 0 ? before : after) || before === after,
        ),
      )
      .map(({ change }) => `${name} at ${new Date(change).toISOString()}`)
  })
  expect(wrong).toEqual([])
})

test('no zone has a change that its data misses: every 49 hours of 2000–2035', { timeout: 90_000 }, () => {
  expect(
    names.map(name => firstDifference(zoneOf(name), 49 * hourMs)).filter(difference => difference !== undefined),
  ).toEqual([])
})

test('the zones with the shortest spells agree in every hour of 2000–2035', { timeout: 90_000 }, () => {
  const irregular = ['Asia/Gaza', 'Africa/Cairo', 'America/Recife', 'Pacific/Apia', 'Antarctica/Casey']
  expect(
    irregular.map(name => firstDifference(zoneOf(name), hourMs)).filter(difference => difference !== undefined),
  ).toEqual([])
})

test('the stepping finds a change that is missing and one that is an hour late', () => {
  const berlin = zoneOf('Europe/Berlin')
  const missing = { ...berlin, changes: berlin.changes.toSpliced(20, 2), offsets: berlin.offsets.toSpliced(20, 2) }
  const late = { ...berlin, changes: berlin.changes.map((change, index) => (index === 20 ? change + hourMs : change)) }
  expect(firstDifference(missing, 49 * hourMs)).toBeDefined()
  expect(firstDifference(late, hourMs)).toBeDefined()
})

test('any zone agrees with its clock at any instant from 1999 to 2101', () => {
  const instant = fc.integer({ min: Date.UTC(1999, 0, 1), max: Date.UTC(2101, 11, 31) })
  fc.assert(
    fc.property(fc.constantFrom(...names), fc.array(instant, { minLength: 20, maxLength: 20 }), (name, instants) => {
      const read = offsetReader(name)
      for (const at of instants) expect(offsetAt(zoneOf(name), at)).toBe(read(at))
    }),
    { numRuns: 150 },
  )
})

test('changes rise, are one fewer than the offsets, and each changes the offset', () => {
  for (const name of names) {
    const { changes, offsets } = zoneOf(name)
    expect(offsets.length).toBe(changes.length + 1)
    expect(
      changes.every((change, index) => change > (changes[index - 1] ?? 0) && offsets[index] !== offsets[index + 1]),
    ).toBe(true)
  }
})

test.each([
  ['europe/berlin', 'Europe/Berlin'],
  ['asia/kolkata', 'Asia/Kolkata'],
  ['ASIA/CALCUTTA', 'Asia/Calcutta'],
  ['utc', 'UTC'],
  ['etc/gmt+5', 'Etc/GMT+5'],
  ['america/argentina/buenos_aires', 'America/Argentina/Buenos_Aires'],
  ['antarctica/dumontdurville', 'Antarctica/DumontDUrville'],
  ['gb-eire', 'GB-Eire'],
])('%s is the zone %s', (given, spelled) => {
  expect(timeZone(given)?.name).toBe(spelled)
})

test.each(['', 'PST', 'IST', '+05:30', 'SystemV/AST4', 'Factory', 'Europe/Nowhere', 'europe', 'Europe/Berlin '])(
  '%j is not a zone',
  name => {
    expect(timeZone(name)).toBeNull()
  },
)

test('the sign of Etc zones is that of the table: Etc/GMT+5 is UTC-5', () => {
  expect(timeZone('Etc/GMT+5')).toEqual({ name: 'Etc/GMT+5', changes: [], offsets: [-5 * hourMs] })
  expect(timeZone('UTC')).toEqual({ name: 'UTC', changes: [], offsets: [0] })
})

test('an alias keeps its name and shares the clock', () => {
  expect(canonicalName('Asia/Calcutta')).toBe(canonicalName('Asia/Kolkata'))
  expect(isSameClock(zoneOf('Asia/Calcutta'), zoneOf('Asia/Kolkata'))).toBe(true)
  expect(isSameClock(zoneOf('Europe/Berlin'), zoneOf('Europe/London'))).toBe(false)
  expect(timeZone('europe/Paris')).toBe(timeZone('Europe/Paris'))
})

test('every zone of the place data is known', () => {
  expect(
    ['Europe/Kyiv', 'Asia/Ho_Chi_Minh', 'America/Nuuk', 'Pacific/Kanton', 'America/Coyhaique'].map(
      name => timeZone(name)?.name,
    ),
  ).toEqual(['Europe/Kyiv', 'Asia/Ho_Chi_Minh', 'America/Nuuk', 'Pacific/Kanton', 'America/Coyhaique'])
})
