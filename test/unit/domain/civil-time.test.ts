import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { civilDate, dayNumber, daysInMonth, weekdayOf } from '../../../services/domain/civil-date.ts'
import {
  calendarEdges,
  instantsAt,
  localDays,
  localFields,
  nextLocalMidnight,
  nextLocalMonth,
  offsetAt,
  startOfLocalDay,
  startOfLocalMonth,
  utcOffsetPeriods,
} from '../../../services/domain/civil-time.ts'
import { writeInstant } from '../../../services/domain/instant.ts'
import { bucketEdges } from '../../support/oracle/buckets.ts'
import { localClock } from '../../support/oracle/local-clock.ts'
import { zoneNames, zoneOf } from '../../support/oracle/zone.ts'

const weekdays = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun']
const at = (text: string): number => Date.parse(text)
const hourMs = 3_600_000

const anywhere = fc
  .integer({ min: Date.UTC(2000, 0, 1) / 60_000, max: Date.UTC(2035, 11, 31) / 60_000 })
  .map(minutes => minutes * 60_000)
const zoneAndInstant = fc.constantFrom(...zoneNames).chain(name => {
  const changes = zoneOf(name).changes
  const near =
    changes.length === 0
      ? anywhere
      : fc.tuple(fc.constantFrom(...changes), fc.integer({ min: -180, max: 180 })).map(([c, m]) => c + m * 60_000)
  return fc.tuple(fc.constant(zoneOf(name)), fc.oneof(anywhere, near))
})

describe('dates', () => {
  it('are those of the proleptic Gregorian calendar, both ways', () => {
    fc.assert(
      fc.property(fc.integer({ min: -719_528, max: 2_932_896 }), day => {
        const date = new Date(day * 86_400_000)
        const fields = { year: date.getUTCFullYear(), month: date.getUTCMonth() + 1, date: date.getUTCDate() }
        expect(civilDate(day)).toEqual(fields)
        expect(dayNumber(fields.year, fields.month, fields.date)).toBe(day)
        expect(weekdayOf(day)).toBe((date.getUTCDay() + 6) % 7)
        expect(daysInMonth(fields.year, fields.month)).toBe(
          new Date(Date.UTC(2000 + (fields.year % 400), fields.month, 0)).getUTCDate(),
        )
      }),
      { numRuns: 1000 },
    )
  })
})

describe('the wall clock', () => {
  it('shows what the calendar of the language shows', () => {
    fc.assert(
      fc.property(zoneAndInstant, ([zone, instant]) => {
        const { weekday, secondOfDay, ...date } = localFields(zone, instant)
        const clock = localClock(zone.name, instant)
        expect({ ...date, weekday: weekdays[weekday] }).toEqual({
          year: clock.year,
          month: clock.month,
          date: clock.date,
          weekday: clock.weekday,
        })
        expect(secondOfDay).toBe(clock.hour * 3600 + clock.minute * 60 + clock.second)
      }),
      { numRuns: 500 },
    )
  })

  it('is shown by the instants it maps to; a gap maps to its change alone', () => {
    fc.assert(
      fc.property(zoneAndInstant, ([zone, instant]) => {
        const local = instant + offsetAt(zone, instant)
        const found = instantsAt(zone, local)
        expect(found).toContain(instant)
        for (const one of found) expect(one + offsetAt(zone, one)).toBe(local)
        const skipped = local + 2 * hourMs
        const [first = 0, ...others] = instantsAt(zone, skipped)
        if (first + offsetAt(zone, first) === skipped) return
        expect(zone.changes).toContain(first)
        expect(others).toEqual([])
        expect(first - 1 + offsetAt(zone, first - 1)).toBeLessThan(skipped)
        expect(first + offsetAt(zone, first)).toBeGreaterThan(skipped)
      }),
      { numRuns: 500 },
    )
  })

  it.each([
    // The hour from 2 to 3 comes twice, on the short day not at all
    ['Europe/Berlin', '2026-10-25T02:30:00Z', ['2026-10-25T00:30:00Z', '2026-10-25T01:30:00Z']],
    ['Europe/Berlin', '2026-03-29T02:30:00Z', ['2026-03-29T01:00:00Z']],
    ['Australia/Lord_Howe', '2026-04-05T01:45:00Z', ['2026-04-04T14:45:00Z', '2026-04-04T15:15:00Z']],
    ['Australia/Lord_Howe', '2026-10-04T02:15:00Z', ['2026-10-03T15:30:00Z']],
    ['Asia/Kathmandu', '2026-06-01T00:00:00Z', ['2026-05-31T18:15:00Z']],
    // A whole day left out
    ['Pacific/Apia', '2011-12-30T12:00:00Z', ['2011-12-30T10:00:00Z']],
  ])('%s shows %s at %j', (name, local, instants) => {
    expect(instantsAt(zoneOf(name), at(local)).map(one => writeInstant(one))).toEqual(instants)
  })
})

describe('days and months', () => {
  it('follow each other without gap or overlap and begin where their date does', () => {
    fc.assert(
      fc.property(zoneAndInstant, ([zone, instant]) => {
        const [start, end] = [startOfLocalDay(zone, instant), nextLocalMidnight(zone, instant)]
        expect(start <= instant && instant < end).toBe(true)
        expect([startOfLocalDay(zone, start), startOfLocalDay(zone, end - 1), startOfLocalDay(zone, end)]).toEqual([
          start,
          start,
          end,
        ])
        const [month, next] = [startOfLocalMonth(zone, instant), nextLocalMonth(zone, instant)]
        expect(month <= start && end <= next).toBe(true)
        expect([
          startOfLocalMonth(zone, month),
          startOfLocalMonth(zone, next - 1),
          startOfLocalMonth(zone, next),
        ]).toEqual([month, month, next])
        expect(localFields(zone, month).date).toBe(1)
      }),
      { numRuns: 500 },
    )
  })

  it('have the edges that an oracle finds minute by minute', () => {
    fc.assert(
      fc.property(zoneAndInstant, fc.integer({ min: 1, max: 4000 }), ([zone, from], minutes) => {
        const to = from + minutes * 60_000
        for (const unit of ['DAY', 'MONTH'] as const) {
          expect(calendarEdges(zone, from, to, unit)).toEqual(bucketEdges(zone.name, from, to, unit))
        }
      }),
      { numRuns: 60 },
    )
  })

  it.each([
    ['Europe/Berlin', '2026-03-29', 23],
    ['Europe/Berlin', '2026-10-25', 25],
    ['America/New_York', '2026-03-08', 23],
    ['Australia/Lord_Howe', '2026-04-05', 24.5],
    ['Australia/Lord_Howe', '2026-10-04', 23.5],
    ['Africa/Casablanca', '2026-02-15', 25],
    ['Asia/Kathmandu', '2026-06-01', 24],
    // Set back from 00:01 to 23:01 of the day before: the new day has begun and holds the repeated hour
    ['America/St_Johns', '2009-11-01', 25],
    ['America/Sao_Paulo', '2018-11-04', 23],
  ])('in %s the %s has %d hours', (name, date, hours) => {
    const zone = zoneOf(name)
    const noon = instantsAt(zone, at(`${date}T12:00:00Z`))[0] as number
    const [day] = localDays(zone, noon, noon + 1)
    expect(((day?.end ?? 0) - (day?.start ?? 0)) / hourMs).toBe(hours)
    expect(day?.offsetPeriods.reduce((sum, segment) => sum + segment.end - segment.start, 0)).toBe(hours * hourMs)
    expect(`${day?.year}-${String(day?.month).padStart(2, '0')}-${String(day?.date).padStart(2, '0')}`).toBe(date)
  })

  it('leave out a day that the clock skips', () => {
    const days = localDays(zoneOf('Pacific/Apia'), at('2011-12-28T12:00:00Z'), at('2012-01-01T12:00:00Z'))
    expect(days.map(day => day.date)).toEqual([28, 29, 31, 1, 2])
    for (const [index, day] of days.entries()) if (index > 0) expect(day.start).toBe(days[index - 1]?.end)
  })

  it('give hours that begin at full hours and at clock changes', () => {
    const edges = (name: string, from: string, to: string) =>
      calendarEdges(zoneOf(name), at(from), at(to), 'HOUR').map(one => writeInstant(one))
    expect(edges('Australia/Lord_Howe', '2026-04-04T13:15:00Z', '2026-04-04T16:45:00Z')).toEqual([
      '2026-04-04T13:15:00Z',
      // 01:00+11, then back from 02:00 to 01:30, then 02:00+10:30
      '2026-04-04T14:00:00Z',
      '2026-04-04T15:00:00Z',
      '2026-04-04T15:30:00Z',
      '2026-04-04T16:30:00Z',
      '2026-04-04T16:45:00Z',
    ])
    expect(calendarEdges(zoneOf('UTC'), 0, 100 * hourMs, 'HOUR', 10).length).toBeGreaterThan(11)
  })

  it('consist of offset periods', () => {
    const zone = zoneOf('Europe/Berlin')
    const from = at('2026-03-28T23:00:00Z')
    expect(utcOffsetPeriods(zone, from, from + 5 * hourMs)).toEqual([
      { start: from, end: from + 2 * hourMs, offset: hourMs },
      { start: from + 2 * hourMs, end: from + 5 * hourMs, offset: 2 * hourMs },
    ])
  })
})
