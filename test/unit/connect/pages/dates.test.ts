import { describe, expect, it } from 'vitest'
// @ts-expect-error The page's own module has no types.
import { dateOf, dayOf, midnightIn } from '../../../../services/connect/pages/dates.js'
import { startOfLocalDay } from '../../../../services/domain/civil-time.ts'
import { timeZone } from '../../../../services/platform/time-zone.ts'

const dayMs = 86_400_000
const zones = [
  ...['UTC', 'Europe/London', 'Europe/Berlin', 'America/Denver', 'America/St_Johns', 'Asia/Kolkata', 'Asia/Kathmandu'],
  ...[
    'Australia/Lord_Howe',
    'Pacific/Auckland',
    'Pacific/Kiritimati',
    'Pacific/Pago_Pago',
    'Pacific/Chatham',
    'Atlantic/Azores',
  ],
  // The clock changes at midnight, so that one midnight of the year is skipped or comes twice.
  ...['America/Havana', 'Asia/Beirut', 'Africa/Cairo', 'America/Santiago', 'America/Asuncion'],
]

describe('the dates of a contract, as the page of Connect reads and writes them', () => {
  it.each(zones)('a day in %s begins at the midnight of its own clock, all year round', name => {
    const zone = timeZone(name) ?? expect.fail(`no zone ${name}`)
    for (let at = Date.UTC(2025, 0, 1); at < Date.UTC(2028, 0, 1); at += dayMs) {
      const day = new Date(at).toISOString().slice(0, 10)
      const written = String(midnightIn(name, day))
      // Noon of the day, as its clock shows it
      const noon = at + dayMs / 2 - (Date.parse(`${written.slice(0, 19)}Z`) - Date.parse(written))
      expect([day, Date.parse(written)]).toEqual([day, startOfLocalDay(zone, noon)])
      expect(written.slice(0, 19)).toBe(`${day}T00:00:00`)
      expect(dayOf(written)).toBe(day)
    }
  })

  it.each([
    ['America/Denver', '2026-03-08', '2026-03-08T00:00:00-07:00'],
    ['America/Denver', '2026-03-09', '2026-03-09T00:00:00-06:00'],
    ['America/Denver', '2026-11-01', '2026-11-01T00:00:00-06:00'],
    ['America/Denver', '2026-11-02', '2026-11-02T00:00:00-07:00'],
    ['Australia/Lord_Howe', '2026-04-05', '2026-04-05T00:00:00+11:00'],
    ['Australia/Lord_Howe', '2026-04-06', '2026-04-06T00:00:00+10:30'],
    // Skipped: the day begins at 01:00 of the new offset, which is 00:00 of the old one
    ['Asia/Beirut', '2026-03-29', '2026-03-29T00:00:00+02:00'],
    // Twice: the first one
    ['America/Havana', '2026-11-01', '2026-11-01T00:00:00-04:00'],
  ])('midnight in %s on %s is %s', (zone, day, midnight) => expect(midnightIn(zone, day)).toBe(midnight))

  it('no date is null, and without a zone midnight is that of UTC', () => {
    expect([midnightIn('Europe/Berlin', ''), midnightIn(undefined, '2026-03-08'), dayOf(null), dayOf('')]).toEqual([
      null,
      '2026-03-08T00:00:00Z',
      '',
      '',
    ])
  })

  it('a long date is the day of the text in any time zone of the browser', () => {
    for (const text of ['2026-03-08T00:00:00-07:00', '2026-03-08T23:30:00+14:00', '2026-03-08T00:00:00Z']) {
      expect(dateOf(text)).toMatch(/\b8\b/)
      expect(dateOf(text)).toMatch(/March|2026/)
    }
  })
})
