import { describe, expect, it } from 'vitest'
import type { RateInput } from '../../../../services/contract/tariffs/rate.ts'
import {
  readTariffTerms,
  type ScheduleEntryInput,
  type TariffTermsInput,
} from '../../../../services/contract/tariffs/read-tariff-terms.ts'
import { days, entry, flat, hours, refusalOf, terms, wholeDay } from '../../../support/tariffs/tariff-terms.ts'

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
                {
                  fixed: 123_456_789n,
                  to: 100_500_000_000n,
                  surchargeFixed: -10_000_000n,
                  surchargePercentage: 190_000_000_000_000n,
                },
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
    [
      'a bound of zero',
      [{ fixed: 1, to_kwh: 0 }, { fixed: 1 }],
      'value_out_of_range',
      'rate[0].to_kwh',
      /from 0\.000000001/,
    ],
    ['a missing bound', [{ fixed: 1 }, { fixed: 1 }], 'schedule_invalid', 'rate[0].to_kwh', /every tier but the last/],
    ['a bound on the last', [{ fixed: 1, to_kwh: 5 }], 'schedule_invalid', 'rate[0].to_kwh', /last tier/],
  ] as [string, RateInput[], string, string, RegExp][])('refuses %s', (_, rate, code, field, message) => {
    const refusal = refusalOf(terms(flat(rate)))
    expect(refusal).toMatchObject({ code, field: `${first}.${field}` })
    expect(refusal?.message).toMatch(message)
  })

  it('takes a band per minute and refuses one more before it reads them', () => {
    const minute = (at: number) =>
      `${String(Math.floor(at / 60) % 24).padStart(2, '0')}:${String(at % 60).padStart(2, '0')}:00`
    const minutes = Array.from({ length: 1440 }, (_, at) => hours(minute(at), minute(at + 1)))
    expect(refusalOf(terms([entry([days(['All'], ...minutes)])]))).toBeNull()
    expect(refusalOf(terms([entry([days(['All'], ...minutes, hours('25:00:00', '26:00:00'))])]))).toMatchObject({
      code: 'schedule_invalid',
      field: 'schedule[0].days_and_hours[0].hours',
      message: 'schedule[0].days_and_hours[0].hours must hold at most 1440 bands',
    })
  })

  it('takes 32 tiers and 400 entries and refuses one more', () => {
    const tiers = (count: number) =>
      Array.from({ length: count }, (_, index) => ({ fixed: 1, to_kwh: index === count - 1 ? null : index + 1 }))
    expect(refusalOf(terms(flat(tiers(32))))).toBeNull()
    expect(refusalOf(terms(flat(tiers(33))))).toMatchObject({ code: 'schedule_invalid', field: `${first}.rate` })
    // 12 × 31 entries with a date, and 28 equal entries for any day.
    const dated = Array.from({ length: 372 }, (_, index) =>
      entry([days(['All'], wholeDay())], {
        months: [
          ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'][index % 12] as string,
        ],
        dates: [1 + Math.floor(index / 12)],
      }),
    )
    const parts = (count: number) =>
      Array.from({ length: count }, (_, index) =>
        entry([days(['All'], hours(clock(index * 60), clock(((index + 1) * 60) % (count * 60))))]),
      )
    const clock = (second: number) =>
      [Math.floor(second / 3600), Math.floor(second / 60) % 60, second % 60]
        .map(part => String(part).padStart(2, '0'))
        .join(':')
    const maxEntries = [...dated, ...parts(28).slice(0, 27), entry([days(['All'], hours('00:27:00', '00:00:00'))])]
    expect([maxEntries.length, refusalOf(terms(maxEntries))]).toEqual([400, null])
    expect(refusalOf(terms([...maxEntries, entry([days(['Mon'], wholeDay())])]))).toMatchObject({
      code: 'schedule_invalid',
      field: 'schedule',
    })
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
