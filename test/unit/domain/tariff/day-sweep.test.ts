import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type CompiledSchedule, compileSchedule } from '../../../../services/domain/tariff/compiled-schedule.ts'
import { dayNames, dayPattern, monthNames } from '../../../../services/domain/tariff/day-pattern.ts'
import { createDaySweep, noTimeBand, overlappingTimeBands } from '../../../../services/domain/tariff/day-sweep.ts'
import type { ScheduleEntry, TimeBand } from '../../../../services/domain/tariff/tariff.ts'
import { validateCoverage } from '../../../../services/domain/tariff/validate-coverage.ts'
import { cpuGrowth } from '../../../support/cpu/cpu-growth.ts'
import { leastCpuTimeMs } from '../../../support/cpu/cpu-time.ts'
import { schedules } from '../../../support/oracle/generate-schedule.ts'
import { verifyEveryDay } from '../../../support/oracle/verify-every-day.ts'

const rate = (fixed: number) => [{ fixed: BigInt(fixed), to: null, surchargeFixed: 0n, surchargePercentage: 0n }]
const band = (validFrom: number, validTo: number, fixed = 1): TimeBand => ({ validFrom, validTo, rate: rate(fixed) })
const allDay = band(0, 86_400)
const of = (
  hours: readonly TimeBand[],
  dates: readonly number[] = [],
  months: ScheduleEntry['months'] = ['All'],
): ScheduleEntry => ({
  months,
  dates,
  daysAndHours: [{ days: ['All'], hours }],
})

const maskOf = ({ specialDays }: CompiledSchedule, names: readonly string[]): number =>
  specialDays.reduce((mask, name, index) => mask + (names.includes(name) ? 2 ** index : 0), 0)

/** Times on a coarse grid meet each other often. */
const times = fc.integer({ min: 0, max: 12 }).map(hour => hour * 7_200)
const anyBand = fc
  .tuple(times, times, fc.integer({ min: 1, max: 3 }))
  .filter(([from, to]) => from !== to && from < 86_400)
  .map(([from, to, fixed]) => band(from, to === 0 ? 86_400 : to, fixed))
const anyBands = fc.oneof(fc.constant([allDay]), fc.array(anyBand, { minLength: 1, maxLength: 5 }))
const anyDays = fc.oneof(
  fc.constant(['All' as const]),
  fc.subarray(['Weekdays', 'Weekend', 'Holidays', '#a', ...dayNames] as const, { minLength: 1, maxLength: 3 }),
)
const anyEntry = fc.record({
  months: fc.oneof(fc.constant(['All' as const]), fc.subarray([...monthNames], { minLength: 1, maxLength: 4 })),
  dates: fc.oneof(fc.constant([]), fc.uniqueArray(fc.integer({ min: 1, max: 31 }), { maxLength: 3 })),
  daysAndHours: fc.array(fc.record({ days: anyDays, hours: anyBands }), { minLength: 1, maxLength: 3 }),
})
/** Bands that share all hours of a day among them. */
const dayInBands = fc.subarray([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11], { maxLength: 4 }).map(hours => {
  const edges = [0, ...hours.map(hour => hour * 7_200), 86_400]
  return edges.slice(1).map((to, index) => band(edges[index] ?? 0, to))
})
/** Two parts of the year that have all months among them, each with all days. */
const wholeYear = fc
  .tuple(fc.subarray([...monthNames], { minLength: 1, maxLength: 11 }), fc.tuple(dayInBands, dayInBands, dayInBands))
  .map(([months, [weekdays, weekend, rest]]): readonly ScheduleEntry[] => {
    const daysAndHours: ScheduleEntry['daysAndHours'] = [
      { days: ['Weekdays'], hours: weekdays },
      { days: ['Weekend'], hours: weekend },
    ]
    return [
      { months, dates: [], daysAndHours },
      of(
        rest,
        [],
        monthNames.filter(name => !months.includes(name)),
      ),
    ]
  })
/** With a whole day or year below them schedules are without gaps, and fail, if at all, late in the calendar. */
const anySchedule = fc.oneof(
  wholeYear,
  fc
    .tuple(
      fc.constantFrom([], [of([allDay])]),
      fc.oneof(fc.constant([]), wholeYear),
      fc.array(anyEntry, { minLength: 1, maxLength: 6 }),
    )
    .map(([day, year, entries]): readonly ScheduleEntry[] => [...day, ...year, ...entries]),
)

describe('a schedule that is looked at by classes of days', () => {
  it('is refused as one of which each day is looked at, with the same first place', () => {
    let refused = 0
    fc.assert(
      fc.property(anySchedule, schedule => {
        const refusal = verifyEveryDay(schedule)
        if (refusal !== undefined) refused += 1
        expect(validateCoverage(schedule)).toEqual(refusal)
      }),
      { numRuns: 1_500 },
    )
    expect(refused).toBeGreaterThan(300)
    expect(refused).toBeLessThan(1_200)
  })

  it('has more bands on a day than are allowed where each day says so', () => {
    const many = Array.from({ length: 1_441 }, (_, index) => band(index * 30, (index + 1) * 30))
    for (const schedule of [
      [of([allDay]), of(many, [29], ['Feb'])],
      [of([allDay]), of(many, [30], ['Feb'])],
      [of(many.slice(0, 720)), of(many.slice(720), [7])],
    ]) {
      expect(validateCoverage(schedule)).toEqual(verifyEveryDay(schedule))
    }
    expect(validateCoverage([of([allDay]), of(many, [29], ['Feb'])])?.message).toMatch(
      /at most 1440 bands on Mon in Feb on date 29/,
    )
  })

  it('shows on each day the bands that this day has', () => {
    const kinds = fc.record({
      month: fc.integer({ min: 1, max: 12 }),
      date: fc.integer({ min: 1, max: 31 }),
      weekday: fc.integer({ min: 0, max: 6 }),
      special: fc.subarray(['Holidays', '#a'] as const),
    })
    fc.assert(
      fc.property(anySchedule, fc.array(kinds, { minLength: 1, maxLength: 6 }), (schedule, days) => {
        const sweeping = createDaySweep(schedule)
        const terms = compileSchedule(schedule, false)
        for (const kind of days) {
          const parts: { from: number; to: number; hours: number | TimeBand | undefined }[] = []
          sweeping.sweep(kind, (from, to, index) => {
            const hours = index < 0 ? index : sweeping.timeBands[index]
            const last = parts.at(-1)
            if (last !== undefined && last.hours === hours) last.to = to
            else parts.push({ from, to, hours })
            return false
          })
          const expected: typeof parts = []
          for (const { startSecond: from, endSecond: to, timeBands: bands } of dayPattern(schedule, kind)) {
            const hours = bands.length === 0 ? noTimeBand : bands.length > 1 ? overlappingTimeBands : bands[0]?.hours
            const last = expected.at(-1)
            if (last !== undefined && last.hours === hours) last.to = to
            else expected.push({ from, to, hours })
          }
          expect(parts).toEqual(expected)
          const { starts, rateIndexes: bands } = terms.patternOn(
            kind.month,
            kind.date,
            kind.weekday,
            maskOf(terms, kind.special),
          )
          const shown = dayPattern(schedule, kind).map(segment => [
            segment.startSecond,
            segment.timeBands[0]?.hours.rate[0]?.fixed,
          ])
          const merged = shown.filter(([, fixed], index) => index === 0 || shown[index - 1]?.[1] !== fixed)
          expect(starts.map((from, index) => [from, terms.rateLists[bands[index] as number]?.[0]?.fixed])).toEqual(
            merged,
          )
        }
      }),
      { numRuns: 300 },
    )
  })

  it('accepts the schedules of the generator of valid schedules', () => {
    fc.assert(
      fc.property(schedules({ market: false, amounts: 'usual' }), schedule => {
        expect(validateCoverage(schedule)).toBeUndefined()
      }),
      { numRuns: 100 },
    )
  })
})

describe('the time that validation takes', () => {
  const minutes = (count: number, shift = 0) => {
    const step = 86_400 / count
    return Array.from({ length: count }, (_, index) =>
      band((index * step + shift) % 86_400, (((index + 1) * step + shift - 1) % 86_400) + 1, index),
    )
  }
  const everyDate = Array.from({ length: 31 }, (_, index) => index + 1)
  /** Each date of each month is a class of its own. */
  const ranked = (count: number): readonly ScheduleEntry[] => [
    of(minutes(count)),
    ...everyDate.map(date => of([band(date * 60, date * 60 + 60)], [date])),
    ...monthNames.map((month, index) => of([band(index * 60 + 36_000, index * 60 + 36_060)], [], [month])),
  ]
  const expectLess = async (boundMs: number, schedule: readonly ScheduleEntry[]): Promise<void> => {
    const validate = () => expect(validateCoverage(schedule)).toBeUndefined()
    expect(await leastCpuTimeMs(boundMs, validate)).toBeLessThan(boundMs)
  }

  it('is little for 1,440 bands, with dates, wrapped over midnight, and with ranks on every day', async () => {
    await expectLess(50, [of(minutes(1_440))])
    await expectLess(50, [of(minutes(1_440), everyDate)])
    await expectLess(50, [of(minutes(1_440, 30))])
    await expectLess(150, ranked(1_350))
  })

  it('grows with the bands at most', async () => {
    expect(await cpuGrowth(360, count => validateCoverage(ranked(count)))).toBeLessThan(2.5)
  })
})
