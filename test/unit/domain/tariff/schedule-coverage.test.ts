import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type HoursInput, readTariffTerms } from '../../../../services/contract/tariffs/read-tariff-terms.ts'
import { dayPattern } from '../../../../services/domain/tariff/day-pattern.ts'
import { validateCoverage } from '../../../../services/domain/tariff/validate-coverage.ts'
import { acceptedValue } from '../../../support/accepted-value.ts'
import { schedules } from '../../../support/oracle/generate-schedule.ts'
import { bandAt } from '../../../support/oracle/price-at.ts'
import { days, entry, hours, refusalOf, terms, wholeDay } from '../../../support/tariffs/tariff-terms.ts'

describe('the whole calendar', () => {
  const bands = (...of: HoursInput[]) => terms([entry([days(undefined, ...of)])])

  it('is covered by bands that wrap over midnight and by ends of 00:00:00 and 24:00:00', () => {
    expect(refusalOf(bands(hours('22:00:00', '06:00:00'), hours('06:00:00', '22:00:00')))).toBeNull()
    expect(refusalOf(bands(hours('00:00:00', '06:00:00'), hours('06:00:00', '24:00:00')))).toBeNull()
  })

  it('has a gap where bands end on the last second, and the refusal says what to write', () => {
    const day = refusalOf(bands(hours('00:00:00', '23:59:59')))
    expect(day).toMatchObject({ code: 'schedule_gap', field: 'schedule' })
    expect(day?.message).toMatch(/Mon in Jan at 23:59:59.*use 00:00:00/)
    const noon = refusalOf(bands(hours('00:00:00', '11:59:59'), hours('12:00:00', '00:00:00')))
    expect(noon?.message).toMatch(/11:59:59.*use 12:00:00/)
    expect(refusalOf(bands(hours('00:00:00', '12:00:00')))?.message).toMatch(/at 12:00:00; add one$/)
  })

  it('names the first instant that two bands of equal rank share', () => {
    const refusal = refusalOf(bands(hours('00:00:00', '13:00:00'), hours('12:00:00', '00:00:00')))
    expect(refusal).toMatchObject({ code: 'schedule_overlap', field: 'schedule[0].days_and_hours[0].hours[1]' })
    expect(refusal?.message).toMatch(/Mon in Jan at 12:00:00/)
    const months = [
      entry([days(['All'], wholeDay())]),
      entry([days(['Tue'], wholeDay())], { months: ['Feb', 'Mar'] }),
      entry([days(['Tue'], wholeDay())], { months: ['Mar'] }),
    ]
    expect(refusalOf(terms(months))?.message).toMatch(/Tue in Mar at 00:00:00/)
  })

  it('lets a higher rank fall through where it leaves hours uncovered', () => {
    const read = acceptedValue(
      readTariffTerms(
        terms([
          entry([
            days(['All'], wholeDay([{ fixed: 1 }])),
            days(['Weekdays'], hours('06:00:00', '20:00:00', [{ fixed: 2 }])),
            days(['Mon'], hours('07:00:00', '08:00:00', [{ fixed: 3 }])),
          ]),
          entry([days(['All'], hours('12:00:00', '13:00:00', [{ fixed: 4 }]))], { months: ['Jan'] }),
          entry([days(['All'], hours('12:30:00', '14:00:00', [{ fixed: 5 }]))], { dates: [1] }),
          entry([days(['All'], hours('13:00:00', '13:30:00', [{ fixed: 6 }]))], { dates: [1], months: ['Jan'] }),
        ]),
      ),
    )
    const pattern = (month: number, date: number, weekday: number) =>
      dayPattern(read.schedule, { month, date, weekday }).map(segment => [
        segment.startSecond / 3600,
        Number(segment.timeBands[0]?.hours.rate[0]?.fixed ?? 0n) / 1e9,
      ])
    expect(pattern(1, 1, 0)).toEqual([
      [0, 1],
      [6, 2],
      [7, 3],
      [8, 2],
      [12, 4],
      [12.5, 5],
      [13, 6],
      [13.5, 5],
      [14, 2],
      [20, 1],
    ])
    expect(pattern(2, 2, 6)).toEqual([[0, 1]])
  })

  it('agrees with an oracle that examines each minute', () => {
    const kinds = fc.tuple(
      fc.integer({ min: 1, max: 12 }),
      fc.integer({ min: 1, max: 28 }),
      fc.integer({ min: 0, max: 6 }),
      fc.integer({ min: 0, max: 1439 }),
    )
    const names = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'] as const
    fc.assert(
      fc.property(
        schedules({ market: false, amounts: 'usual' }),
        fc.array(kinds, { minLength: 5, maxLength: 30 }),
        (schedule, places) => {
          expect(validateCoverage(schedule)).toBeUndefined()
          for (const [month, date, weekday, minute] of places) {
            const clock = {
              year: 2026,
              month,
              date,
              weekday: names[weekday] as 'Mon',
              hour: Math.floor(minute / 60),
              minute: minute % 60,
              second: 0,
            }
            const segment = dayPattern(schedule, { month, date, weekday }).find(
              one => one.startSecond <= minute * 60 && minute * 60 < one.endSecond,
            )
            expect(segment?.timeBands.map(band => band.hours)).toEqual([bandAt(schedule, clock)])
          }
        },
      ),
      { numRuns: 100 },
    )
  })

  it('is validated quickly for every size of schedule', () => {
    const minute = (index: number) =>
      `${String(Math.floor(index / 60) % 24).padStart(2, '0')}:${String(index % 60).padStart(2, '0')}:00`
    const minutes = Array.from({ length: 1440 }, (_, index) => hours(minute(index), minute(index + 1)))
    expect(refusalOf(bands(...minutes))).toBeNull()
    expect(refusalOf(bands(...minutes, hours('00:00:00', '00:00:30')))).toMatchObject({
      code: 'schedule_invalid',
      field: 'schedule[0].days_and_hours[0].hours',
    })
  })
})
