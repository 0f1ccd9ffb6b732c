import { describe, expect, it } from 'vitest'
import { readTariffTerms, type TariffTermsInput } from '../../../../services/contract/tariffs/read-tariff-terms.ts'
import { scheduleText } from '../../../../services/domain/tariff/compiled-schedule.ts'
import type { Tariff } from '../../../../services/domain/tariff/tariff.ts'
import { toFormat, type WrittenTariff, writeTariffFile } from '../../../../services/interchange/domain/write-tariffs.ts'
import { timeZone } from '../../../../services/platform/time-zone.ts'
import { readFile, scheduleLines } from '../../../support/interchange/read-tariffs.ts'

const zone = 'America/Denver'
type Block = TariffTermsInput['schedule'][number]['days_and_hours'][number]

const block = (
  days: readonly string[],
  ...prices: readonly (readonly [string, string, object | readonly object[]])[]
): Block => ({
  days,
  hours: prices.map(([valid_from, valid_to, rate]) => ({ valid_from, valid_to, rate: [rate].flat() as never })),
})
const always = (rate: object | readonly object[]): Block => block(['All'], ['00:00:00', '00:00:00', rate])
const tariffOf = (
  blocks: readonly Block[],
  more: Partial<Tariff> = {},
  months: readonly string[] = ['All'],
): WrittenTariff => {
  const read = readTariffTerms({
    direction: 'IMPORT',
    type: 'COMMODITY',
    marketRates: false,
    contractStart: null,
    contractEnd: null,
    schedule: [
      { months, days_and_hours: blocks },
      ...(months[0] === 'All' ? [] : [{ days_and_hours: [always({ fixed: 0.1 })] }]),
    ],
  })
  if (!read.ok) throw new Error(read.refusal.message)
  const clock = timeZone(zone)
  if (clock === null) throw new Error('no zone')
  const tariff = { ...read.value, id: 'trf_1', closedAt: null, ...more }
  return { tariff, name: 'Own', currencyCode: 'USD', timeZone: clock }
}
const week = [
  block(
    ['Weekdays'],
    ['06:00:00', '22:00:00', { fixed: 0.31 }],
    ['22:00:00', '06:00:00', { fixed: 0.2, surcharge_fixed: 0.04 }],
  ),
  block(['Weekend'], ['00:00:00', '00:00:00', { fixed: 0.2 }]),
]
const reread = (format: 'urdb' | 'ocpi', written: WrittenTariff) => {
  const objects = toFormat(format, written)
  if (!objects.ok) throw new Error(objects.refusal.message)
  return readFile(format, writeTariffFile(format, objects.value), { zone }).tariffs
}
const refusalOf = (format: 'urdb' | 'ocpi', written: WrittenTariff): string => {
  const objects = toFormat(format, written)
  return objects.ok ? 'written' : objects.refusal.message
}

describe.each(['urdb', 'ocpi'] as const)('a tariff written as %s', format => {
  it('is read with the same prices', () => {
    const [tariff] = reread(format, tariffOf(week))
    expect(scheduleLines(tariff?.terms.schedule ?? [])).toEqual([
      'All Weekdays 0-6: 0.24',
      'All Weekdays 6-22: 0.31',
      'All Weekdays 22-24: 0.24',
      'All Weekend 0-24: 0.2',
    ])
  })

  it('has its contract and price versions', () => {
    const [start, middle, end] = ['2026-01-01', '2026-06-01', '2027-01-01'].map(day => {
      const offset = day.includes('-06-') ? '-06:00' : '-07:00'
      return Date.parse(`${day}T00:00:00${offset}`)
    }) as [number, number, number]
    const { schedule } = tariffOf([always({ fixed: 0.5 })]).tariff
    const written = tariffOf(week, {
      contractStart: start,
      contractEnd: end,
      versions: [{ effectiveFrom: middle, schedule }],
    })
    const tariffs = reread(format, written)
    expect(tariffs.map(({ terms }) => [terms.contractStart, terms.contractEnd])).toEqual([
      [start, middle],
      [middle, end],
    ])
    expect(tariffs[1] === undefined ? '' : scheduleText(tariffs[1].terms.schedule)).toBe(scheduleText(schedule))
  })

  it.each([
    ['export', tariffOf([always({ fixed: 0.1 })], { direction: 'EXPORT' }), 'Only IMPORT'],
    ['market prices', tariffOf([always({ fixed: 0 })], { marketRates: true }), 'market prices'],
    [
      'holidays',
      tariffOf([always({ fixed: 0.1 }), block(['Holidays'], ['00:00:00', '00:00:00', { fixed: 0 }])]),
      'Holidays',
    ],
  ])('is refused with %s', (_, written, message) => {
    expect(refusalOf(format, written)).toContain(message)
  })
})

describe('a tariff that only one format can say', () => {
  const single = [always({ fixed: 0.2 }), block(['Tue'], ['06:30:00', '08:00:00', { fixed: 0.4 }])]
  const tiers = [always([{ fixed: 0.1, to_kwh: 500 }, { fixed: 0.2 }])]

  it('has single weekdays and half hours in OCPI', () => {
    expect(refusalOf('urdb', tariffOf(single))).toContain('URDB does not have')
    const [tariff] = reread('ocpi', tariffOf(single))
    expect(scheduleLines(tariff?.terms.schedule ?? [])).toContain('All Tue 6.5-8: 0.4')
  })

  it('has tiers and months in URDB', () => {
    expect(refusalOf('ocpi', tariffOf(tiers))).toContain('tiers')
    expect(scheduleLines(reread('urdb', tariffOf(tiers))[0]?.terms.schedule ?? [])).toEqual([
      'All All 0-24: 0.1 to 500; 0.2',
    ])
    const july = tariffOf([always({ fixed: 0.3 })], {}, ['Jul'])
    expect(refusalOf('ocpi', july)).toContain('months')
    expect(scheduleLines(reread('urdb', july)[0]?.terms.schedule ?? [])).toContain('Jul All 0-24: 0.3')
  })
})
