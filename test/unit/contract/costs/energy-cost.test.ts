import { expect, it } from 'vitest'
import { intervalCost } from '../../../../services/contract/costs/energy-cost.ts'

const fits = (start_time: string, end_time: string): boolean =>
  intervalCost.body?.safeParse({ start_time, end_time }).success === true

it.each([
  // Ten years have two leap days or three.
  ['2015-01-01T00:00:00Z', '2025-01-01T00:00:00Z', '2025-01-01T00:00:00.001Z'],
  ['2016-01-01T00:00:00Z', '2026-01-01T00:00:00Z', '2026-01-01T00:00:00.001Z'],
  ['2017-01-01T00:00:00Z', '2027-01-01T00:00:00Z', '2027-01-01T12:00:00Z'],
  ['2016-02-29T10:00:00Z', '2026-02-28T10:00:00Z', '2026-02-28T10:00:00.001Z'],
  // The calendar is that of the start's offset: in UTC it is 28 February still, and 2024 has a 29th.
  ['2014-03-01T00:00:00+01:00', '2024-03-01T00:00:00+01:00', '2024-03-01T00:00:01+01:00'],
])('the cost of a span from %s may end at %s, not at %s', (start, last, tooLate) => {
  expect([fits(start, last), fits(start, tooLate)]).toEqual([true, false])
})
