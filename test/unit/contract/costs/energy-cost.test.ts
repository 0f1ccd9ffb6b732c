import { expect, it } from 'vitest'
import { intervalCost } from '../../../../services/contract/costs/energy-cost.ts'

const fits = (start_time: string, end_time: string): boolean =>
  intervalCost.body?.safeParse({ start_time, end_time }).success === true

it.each([
  // Ten years have two or three leap days.
  ['2015-01-01T00:00:00Z', '2025-01-01T00:00:00Z', '2025-01-01T00:00:00.001Z'],
  ['2016-01-01T00:00:00Z', '2026-01-01T00:00:00Z', '2026-01-01T00:00:00.001Z'],
  ['2017-01-01T00:00:00Z', '2027-01-01T00:00:00Z', '2027-01-01T12:00:00Z'],
  ['2016-02-29T10:00:00Z', '2026-02-28T10:00:00Z', '2026-02-28T10:00:00.001Z'],
  // The calendar has the offset of the start: in UTC the start is still 28 February, and 2024 has a 29 February.
  ['2014-03-01T00:00:00+01:00', '2024-03-01T00:00:00+01:00', '2024-03-01T00:00:01+01:00'],
])('an interval of costs from %s can end at %s, but not at %s', (start, last, tooLate) => {
  expect([fits(start, last), fits(start, tooLate)]).toEqual([true, false])
})
