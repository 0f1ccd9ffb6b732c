import { describe, expect, it } from 'vitest'
import { rowsOf, type ScheduleRow, scheduleBody, scheduleOf } from '../../../services/console/objects/schedule-rows.ts'
import { readTariffTerms } from '../../../services/contract/tariffs/read-tariff-terms.ts'

const row = (more: Partial<ScheduleRow>): ScheduleRow => ({
  months: '',
  dates: '',
  days: '',
  valid_from: '00:00',
  valid_to: '00:00',
  fixed: '0.3',
  to_kwh: '',
  surcharge_fixed: '',
  surcharge_percentage: '',
  ...more,
})

/** Schedule as the API answers it. */
const schedule = [
  {
    months: ['Nov', 'Dec'],
    dates: [1, 2],
    days_and_hours: [
      {
        days: ['Weekdays'],
        hours: [
          {
            valid_from: '06:00:00',
            valid_to: '22:30:00',
            rate: [
              { fixed: 0.123456789, to_kwh: 150, surcharge_fixed: 0.01, surcharge_percentage: 0.195 },
              { fixed: 0.2, to_kwh: null, surcharge_fixed: 0, surcharge_percentage: -0.005 },
            ],
          },
        ],
      },
    ],
  },
]

describe('rows of a schedule', () => {
  it('have percentages in percent, and empty texts for 0', () => {
    expect(rowsOf(schedule, false)).toEqual([
      {
        months: 'Nov, Dec',
        dates: '1, 2',
        days: 'Weekdays',
        valid_from: '06:00',
        valid_to: '22:30',
        fixed: '0.123456789',
        to_kwh: '150',
        surcharge_fixed: '0.01',
        surcharge_percentage: '19.5',
      },
      {
        months: 'Nov, Dec',
        dates: '1, 2',
        days: 'Weekdays',
        valid_from: '06:00',
        valid_to: '22:30',
        fixed: '0.2',
        to_kwh: '',
        surcharge_fixed: '',
        surcharge_percentage: '-0.5',
      },
    ])
  })

  it('become the same schedule again, with exact numbers', () => {
    const [season] = schedule
    const [block] = season?.days_and_hours ?? []
    const [hours] = block?.hours ?? []
    expect(JSON.parse(JSON.stringify(scheduleBody(scheduleOf(rowsOf(schedule, false)).schedule)))).toEqual([
      {
        months: ['Nov', 'Dec'],
        dates: [1, 2],
        days_and_hours: [
          {
            days: ['Weekdays'],
            hours: [
              {
                valid_from: hours?.valid_from,
                valid_to: hours?.valid_to,
                rate: [
                  { fixed: 0.123456789, to_kwh: 150, surcharge_fixed: 0.01, surcharge_percentage: 0.195 },
                  { fixed: 0.2, surcharge_percentage: -0.005 },
                ],
              },
            ],
          },
        ],
      },
    ])
  })

  it('of one time are tiers, and rows of other months are another season', () => {
    const { schedule: read } = scheduleOf([
      row({ months: 'Jan', to_kwh: '10' }),
      row({ months: 'Feb', days: 'All' }),
      row({ months: 'Feb', valid_from: '12:00' }),
      row({ months: 'Jan', fixed: '0,4' }),
    ])
    expect(read.map(({ months }) => months)).toEqual([['Jan'], ['Feb']])
    expect(read[1]?.days_and_hours.map(({ hours }) => hours.length)).toEqual([2])
    expect(read[0]?.days_and_hours[0]?.hours[0]?.rate).toEqual([{ fixed: '0.3', to_kwh: '10' }, { fixed: '0.4' }])
  })

  it('are named by an error of the API', () => {
    const check = (rows: readonly ScheduleRow[]) => {
      const read = scheduleOf(rows)
      const kind = { direction: 'IMPORT', type: 'COMMODITY', marketRates: false } as const
      const result = readTariffTerms({ ...kind, contractStart: null, contractEnd: null, schedule: read.schedule })
      return result.ok ? 'ok' : [result.refusal.code, read.rowAt(result.refusal.field ?? '')]
    }
    expect(check([row({})])).toBe('ok')
    expect(check([row({ days: 'Weekdays' }), row({ days: 'Weekend', fixed: 'much' })])).toEqual(['field_invalid', 2])
    expect(check([row({ days: 'Weekdays' }), row({ days: 'Weekend', valid_to: '25:00' })])).toEqual([
      'schedule_invalid',
      2,
    ])
    expect(check([row({ to_kwh: '10' }), row({ to_kwh: '5' }), row({})])).toEqual(['schedule_invalid', 2])
    expect(check([row({ valid_from: '06:00', valid_to: '22:00' })])).toEqual(['schedule_gap', null])
  })
})
