import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { dayPattern } from '../../../services/domain/tariff/day-pattern.ts'
import { judgeCoverage } from '../../../services/domain/tariff/judge-coverage.ts'
import type { RateInput } from '../../../services/domain/tariff/read-rate.ts'
import {
  type DaysAndHoursInput,
  type HoursInput,
  readTariffTerms,
  type ScheduleEntryInput,
  type TariffTermsInput,
} from '../../../services/domain/tariff/validate-schedule.ts'
import { schedules } from '../../support/oracle/generate-schedule.ts'
import { bandAt } from '../../support/oracle/price-at.ts'

const hours = (from: string, to: string, rate: readonly RateInput[] = [{ fixed: '0.3' }]): HoursInput => ({
  valid_from: from,
  valid_to: to,
  rate,
})
const wholeDay = (rate?: readonly RateInput[]): HoursInput => hours('00:00:00', '00:00:00', rate)
const days = (names: readonly string[] | undefined, ...bands: HoursInput[]): DaysAndHoursInput =>
  names === undefined ? { hours: bands } : { days: names, hours: bands }
const entry = (blocks: readonly DaysAndHoursInput[], more: Partial<ScheduleEntryInput> = {}): ScheduleEntryInput => ({
  days_and_hours: blocks,
  ...more,
})
const terms = (schedule: readonly ScheduleEntryInput[], more: Partial<TariffTermsInput> = {}): TariffTermsInput => ({
  ...{ direction: 'IMPORT', type: 'COMMODITY', marketRates: false, contractStart: null, contractEnd: null, schedule },
  ...more,
})
const flat = (rate?: readonly RateInput[]) => [entry([days(['All'], wholeDay(rate))])]
const refusalOf = (input: TariffTermsInput) => {
  const read = readTariffTerms(input)
  return read.ok ? null : read.refusal
}

describe('reading a tariff', () => {
  it('takes numbers exactly from their text', () => {
    const read = readTariffTerms(
      terms(
        flat([
          { fixed: '0.123456789', to_kwh: '100.5', surcharge_fixed: -0.01, surcharge_percentage: '0.19' },
          { fixed: '-1', to_kwh: null },
        ]),
      ),
    )
    expect(read.ok && read.value.schedule[0]).toEqual({
      months: ['All'],
      dates: [],
      daysAndHours: [
        {
          days: ['All'],
          hours: [
            {
              validFrom: 0,
              validTo: 86_400,
              rate: [
                { fixed: 123_456_789n, to: 100_500_000_000n, surchargeFixed: -10_000_000n, surchargePercentage: 190_000_000n },
                { fixed: -1_000_000_000n, to: null, surchargeFixed: 0n, surchargePercentage: 0n },
              ],
            },
          ],
        },
      ],
    })
  })

  const first = 'schedule[0].days_and_hours[0].hours[0]'
  it.each([
    [
      'percent in place of a fraction',
      [{ fixed: 1, surcharge_percentage: '19' }],
      'value_out_of_range',
      'rate[0].surcharge_percentage',
      /write 0\.19 for 19 percent/,
    ],
    [
      'a percentage below -1',
      [{ fixed: 1, surcharge_percentage: '-1.1' }],
      'value_out_of_range',
      'rate[0].surcharge_percentage',
      /from -1 to 5/,
    ],
    ['a price above a million', [{ fixed: '1000000.1' }], 'value_out_of_range', 'rate[0].fixed', /1000000/],
    ['ten decimals', [{ fixed: '0.0000000001' }], 'field_invalid', 'rate[0].fixed', /9 decimals/],
    ['no price', [{ surcharge_fixed: 1 }], 'field_required', 'rate[0].fixed', /required/],
    ['no rate', [], 'schedule_invalid', 'rate', /at least one/],
    [
      'bounds that fall',
      [{ fixed: 1, to_kwh: 5 }, { fixed: 1, to_kwh: 5 }, { fixed: 1 }],
      'schedule_invalid',
      'rate[1].to_kwh',
      /above the bound/,
    ],
    ['a bound of zero', [{ fixed: 1, to_kwh: 0 }, { fixed: 1 }], 'value_out_of_range', 'rate[0].to_kwh', /from 0\.000000001/],
    ['a missing bound', [{ fixed: 1 }, { fixed: 1 }], 'schedule_invalid', 'rate[0].to_kwh', /every tier but the last/],
    ['a bound on the last', [{ fixed: 1, to_kwh: 5 }], 'schedule_invalid', 'rate[0].to_kwh', /last tier/],
  ] as [string, RateInput[], string, string, RegExp][])('refuses %s', (_, rate, code, field, message) => {
    const refusal = refusalOf(terms(flat(rate)))
    expect(refusal).toMatchObject({ code, field: `${first}.${field}` })
    expect(refusal?.message).toMatch(message)
  })

  it('takes 32 tiers and 400 entries and refuses one more', () => {
    const tiers = (count: number) =>
      Array.from({ length: count }, (_, index) => ({ fixed: 1, to_kwh: index === count - 1 ? null : index + 1 }))
    expect(refusalOf(terms(flat(tiers(32))))).toBeNull()
    expect(refusalOf(terms(flat(tiers(33))))).toMatchObject({ code: 'schedule_invalid', field: `${first}.rate` })
    // One entry for each date of a month, the rest for any day: 12 × 31 dated ones and 28 that cannot be told from each other
    const dated = Array.from({ length: 372 }, (_, index) =>
      entry([days(['All'], wholeDay())], {
        months: [['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'][index % 12] as string],
        dates: [1 + Math.floor(index / 12)],
      }),
    )
    const parts = (count: number) =>
      Array.from({ length: count }, (_, index) =>
        entry([days(['All'], hours(clock(index * 60), clock(((index + 1) * 60) % (count * 60))))]),
      )
    const clock = (second: number) =>
      [Math.floor(second / 3600), Math.floor(second / 60) % 60, second % 60].map(part => String(part).padStart(2, '0')).join(':')
    const most = [...dated, ...parts(28).slice(0, 27), entry([days(['All'], hours('00:27:00', '00:00:00'))])]
    expect([most.length, refusalOf(terms(most))]).toEqual([400, null])
    expect(refusalOf(terms([...most, entry([days(['Mon'], wholeDay())])]))).toMatchObject({ code: 'schedule_invalid', field: 'schedule' })
  })

  it('takes a zero fixed price and an empty rate on a market tariff, and no other fixed price', () => {
    const market = (rate: RateInput[]) => refusalOf(terms(flat(rate), { marketRates: true }))
    expect([market([{}]), market([{ fixed: null }]), market([{ fixed: '0.0' }])]).toEqual([null, null, null])
    expect(market([{ fixed: '0.1' }])).toMatchObject({ code: 'schedule_invalid', field: `${first}.rate[0].fixed` })
  })

  it.each([
    [{ type: 'NON_COMMODITY', direction: 'EXPORT' }, 'field_invalid', 'direction'],
    [{ type: 'NON_COMMODITY', direction: 'LOCAL' }, 'field_invalid', 'direction'],
    [{ type: 'NON_COMMODITY', marketRates: true }, 'field_invalid', 'market_rates'],
    [{ direction: 'LOCAL', marketRates: true }, 'field_invalid', 'market_rates'],
    [{ contractStart: 5, contractEnd: 5 }, 'end_before_start', 'contract_end_date'],
    [{ schedule: [] }, 'schedule_invalid', 'schedule'],
  ] as [Partial<TariffTermsInput>, string, string][])('refuses %j', (more, code, field) => {
    expect(refusalOf(terms(flat(), more))).toMatchObject({ code, field })
  })

  it.each([
    [{ days_and_hours: [days(['Mon', 'All'], wholeDay())] }, 'schedule[0].days_and_hours[0].days'],
    [{ days_and_hours: [days(['Monday'], wholeDay())] }, 'schedule[0].days_and_hours[0].days[0]'],
    [{ days_and_hours: [days(['Mon', 'Mon'], wholeDay())] }, 'schedule[0].days_and_hours[0].days[1]'],
    [{ days_and_hours: [days([], wholeDay())] }, 'schedule[0].days_and_hours[0].days'],
    [{ days_and_hours: [] }, 'schedule[0].days_and_hours'],
    [{ days_and_hours: [days(['All'])] }, 'schedule[0].days_and_hours[0].hours'],
    [entry([days(['All'], wholeDay())], { months: ['All', 'Jan'] }), 'schedule[0].months'],
    [entry([days(['All'], wholeDay())], { months: ['January'] }), 'schedule[0].months[0]'],
    [entry([days(['All'], wholeDay())], { dates: [32] }), 'schedule[0].dates[0]'],
    [entry([days(['All'], wholeDay())], { dates: [1, 1.5] }), 'schedule[0].dates[1]'],
    [entry([days(['All'], hours('00:00', '00:00:00'))]), `${first}.valid_from`],
    [entry([days(['All'], hours('24:00:00', '06:00:00'))]), `${first}.valid_from`],
    [entry([days(['All'], hours('00:00:00', '24:00:01'))]), `${first}.valid_to`],
    [entry([days(['All'], hours('06:00:00', '06:00:00'))]), `${first}.valid_to`],
  ] as [ScheduleEntryInput, string][])('refuses %j at %s', (faulty, field) => {
    expect(refusalOf(terms([faulty]))).toMatchObject({ code: 'schedule_invalid', field })
  })
})

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
    expect(refusalOf(bands(hours('00:00:00', '12:00:00')))?.message).toMatch(/at 12:00:00$/)
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
    const read = readTariffTerms(
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
    )
    if (!read.ok) throw new Error(read.refusal.message)
    const pattern = (month: number, date: number, weekday: number) =>
      dayPattern(read.value.schedule, { month, date, weekday }).map(stretch => [
        stretch.from / 3600,
        Number(stretch.bands[0]?.hours.rate[0]?.fixed ?? 0n) / 1e9,
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

  it('agrees with an oracle that looks at each minute, and is what the oracle accepts', () => {
    const kinds = fc.tuple(
      fc.integer({ min: 1, max: 12 }),
      fc.integer({ min: 1, max: 28 }),
      fc.integer({ min: 0, max: 6 }),
      fc.integer({ min: 0, max: 1439 }),
    )
    const names = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun'] as const
    fc.assert(
      fc.property(schedules({ market: false, amounts: 'usual' }), fc.array(kinds, { minLength: 5, maxLength: 30 }), (schedule, places) => {
        expect(judgeCoverage(schedule)).toBeUndefined()
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
          const stretch = dayPattern(schedule, { month, date, weekday }).find(one => one.from <= minute * 60 && minute * 60 < one.to)
          expect(stretch?.bands.map(band => band.hours)).toEqual([bandAt(schedule, clock)])
        }
      }),
      { numRuns: 100 },
    )
  })

  it('is judged quickly, however large the schedule', () => {
    const minute = (index: number) => `${String(Math.floor(index / 60) % 24).padStart(2, '0')}:${String(index % 60).padStart(2, '0')}:00`
    const minutes = Array.from({ length: 1440 }, (_, index) => hours(minute(index), minute(index + 1)))
    expect(refusalOf(bands(...minutes))).toBeNull()
    expect(refusalOf(bands(...minutes, hours('00:00:00', '00:00:30')))).toMatchObject({ code: 'schedule_invalid', field: 'schedule' })
  })
})
