import fc from 'fast-check'
import { zoneNames, zoneOf } from '../oracle/zone.ts'
import type { BillInput, CalendarBody, PeriodBody, RecordBody, StatementBody, TariffBody } from './bill-input.ts'
import { charges } from './generate-charges.ts'
import { records, type StatementSpan } from './generate-records.ts'
import { clockText, contracts, prices } from './generate-tariffs.ts'
import { dayStart, dayText, firstDay, type LocalDay, monthOf, readDay } from './local-days.ts'

/** Location with all that its statement depends on: plain bodies of requests. */
export type GeneratedBill = Omit<BillInput, 'series' | 'finals'> & {
  readonly calendar: CalendarBody | null
  readonly records: readonly RecordBody[]
}

const dayMs = 86_400_000
const earliest = readDay('2018-01-01')
const latest = readDay('2026-06-01')

// The clocks of these zones change at midnight, or by two hours.
const zones = [...zoneNames, 'Africa/Cairo', 'America/Santiago', 'America/Nuuk', 'Antarctica/Troll'] as const
const currencies = ['EUR', 'NOK', 'JPY', 'KWD', 'GBP'] as const

/** A day in a month with a clock change, a February, a December or a January, or any day. */
const anchorDays = (zone: string): fc.Arbitrary<LocalDay> => {
  const changes = zoneOf(zone)
    .changes.map(at => Math.floor(at / dayMs))
    .filter(day => day > earliest && day < latest)
  const known = ['2020-02-11', '2024-02-29', '2023-02-01', '2019-12-20', '2024-01-01', '2023-12-31', '2024-12-15']
  return fc.oneof(
    { weight: 3, arbitrary: changes.length > 0 ? fc.constantFrom(...changes) : fc.constant(earliest) },
    { weight: 2, arbitrary: fc.constantFrom(...known.map(readDay)) },
    { weight: 2, arbitrary: fc.integer({ min: earliest, max: latest }) },
  )
}

/** First day and end of a statement: mostly one month, also a few days, or up to three months. */
const spans = (zone: string): fc.Arbitrary<readonly [first: LocalDay, end: LocalDay]> =>
  anchorDays(zone).chain(anchor => {
    const month = monthOf(anchor)
    const days = fc.integer({ min: 1, max: 45 }).map((length): [LocalDay, LocalDay] => [anchor, anchor + length])
    const backDays = fc.integer({ min: 0, max: 20 }).map((back): [LocalDay, LocalDay] => [anchor - back, anchor + 12])
    return fc.oneof(
      { weight: 5, arbitrary: fc.constant<[LocalDay, LocalDay]>([firstDay(month), firstDay(month + 1)]) },
      { weight: 1, arbitrary: fc.constant<[LocalDay, LocalDay]>([firstDay(month - 1), firstDay(month + 2)]) },
      { weight: 2, arbitrary: days },
      { weight: 2, arbitrary: backDays },
    )
  })

const split = (first: LocalDay, end: LocalDay, cuts: readonly number[]): PeriodBody[] => {
  const days = [...new Set([first, ...cuts.map(cut => first + (cut % (end - first))), end])].sort((a, b) => a - b)
  return days
    .slice(0, -1)
    .map((day, index) => ({ start_date: dayText(day), end_date: dayText(days[index + 1] ?? end) }))
}

const statements = (first: LocalDay, end: LocalDay): fc.Arbitrary<StatementBody> => {
  const optional = <T>(arbitrary: fc.Arbitrary<T>, nothingOneIn = 2) =>
    fc.option(arbitrary, { freq: nothingOneIn, nil: undefined })
  return fc
    .record({
      periods: optional(
        fc.oneof(
          fc.constantFrom('MONTH' as const, 'ONE' as const),
          fc.array(fc.integer({ min: 1, max: 100 }), { maxLength: 3 }).map(cuts => split(first, end, cuts)),
        ),
      ),
      rounding: optional(
        fc
          .record(
            {
              profile: fc.constantFrom('EXACT', 'LARGEST_REMAINDER', 'EN16931'),
              decimals: fc.integer({ min: 0, max: 4 }),
            },
            { requiredKeys: ['profile'] },
          )
          .map(({ profile, decimals }) => ({ profile, ...(decimals !== undefined && { decimals }) }) as const),
        5,
      ),
      expect: optional(fc.constantFrom('EVERY_INTERVAL' as const, 'NOTHING' as const)),
      detail: optional(fc.constant('PRICE' as const)),
      include_devices: optional(fc.constantFrom('auto' as const, true, true, false)),
    })
    .map(found => ({
      start_date: dayText(first),
      end_date: dayText(end),
      ...(Object.fromEntries(Object.entries(found).filter(([, value]) => value !== undefined)) as Omit<
        StatementBody,
        keyof PeriodBody
      >),
    }))
}

/** Holidays and one kind of special days, in and around the statement. */
const calendars = (first: LocalDay, end: LocalDay): fc.Arbitrary<CalendarBody> => {
  const days = (maxLength: number) =>
    fc.uniqueArray(fc.integer({ min: first - 40, max: end + 5 }), { minLength: 1, maxLength })
  return fc.tuple(days(12), days(6)).map(([holidays, special]) => ({
    name: 'Calendar',
    add: holidays.map(day => ({ date: dayText(day), name: 'Holiday' })),
    day_types: [{ name: 'peak', dates: special.map(dayText) }],
  }))
}

const tariffKinds = [
  { direction: 'IMPORT', type: 'COMMODITY' },
  { direction: 'IMPORT', type: 'NON_COMMODITY' },
  { direction: 'EXPORT', type: 'COMMODITY' },
  { direction: 'LOCAL', type: 'COMMODITY' },
] as const

const tariffs = (zone: string, [first, end]: readonly [LocalDay, LocalDay], names: readonly string[]) => {
  const midnights = fc.integer({ min: first - 3, max: end + 1 }).map(day => dayStart(zone, day))
  const odd = fc.tuple(midnights, fc.integer({ min: 0, max: 86_399 })).map(([at, seconds]) => at + seconds * 1000)
  const instants = fc.oneof(midnights, odd).map(at => new Date(at).toISOString())
  return fc
    .tuple(
      ...tariffKinds.map((kind, place) => {
        const found = contracts(kind, instants, names)
        return place === 0
          ? fc.oneof({ weight: 20, arbitrary: found }, { weight: 1, arbitrary: fc.constant<TariffBody[]>([]) })
          : fc.oneof(found, fc.constant<TariffBody[]>([]))
      }),
    )
    .map(found => found.flat())
}

/**
 * Two prices that change twice a day by opposite amounts: their sum stays. Only the parts of the price tell the times
 * apart.
 */
const hiddenChanges: fc.Arbitrary<TariffBody[]> = fc
  .tuple(prices(0.5), prices(0.5), fc.uniqueArray(fc.nat(86_399), { minLength: 2, maxLength: 2 }))
  .map(([one, other, seconds]) => {
    const [from = '', to = ''] = seconds.map(clockText)
    const tariff = (type: TariffBody['type'], first: number, last: number): TariffBody => {
      const hours = [
        { valid_from: from, valid_to: to, rate: [{ fixed: first }] },
        { valid_from: to, valid_to: from, rate: [{ fixed: last }] },
      ]
      return { direction: 'IMPORT', type, schedule: [{ months: ['All'], days_and_hours: [{ days: ['All'], hours }] }] }
    }
    return [tariff('COMMODITY', one, other), tariff('NON_COMMODITY', other, one)]
  })

const tieredDirections = (bodies: readonly TariffBody[]) => {
  const isTiered = ({ schedule }: TariffBody): boolean =>
    schedule.some(entry => entry.days_and_hours.some(({ hours }) => hours.some(({ rate }) => rate.length > 1)))
  return bodies.filter(isTiered).map(({ direction }) => direction)
}

/** Instant of the answer: after the statement, in it, or before it. */
const nows = ({ start, end }: StatementSpan): fc.Arbitrary<string> =>
  fc
    .oneof(
      { weight: 8, arbitrary: fc.constant(end + 30 * dayMs) },
      { weight: 1, arbitrary: fc.constantFrom(end, end - 1, start, start - dayMs) },
      { weight: 1, arbitrary: fc.integer({ min: start, max: end }) },
    )
    .map(at => new Date(at).toISOString())

/**
 * Random locations with a statement of days, a month or more. They prefer edges: clock changes, leap years, month ends,
 * contracts and charges that start inside a month, peaks that tie, and prices of 0 and below.
 * All bodies are valid. No record is sent twice.
 */
export const bills: fc.Arbitrary<GeneratedBill> = fc
  .constantFrom(...zones)
  .chain(zone => fc.tuple(fc.constant(zone), spans(zone), fc.boolean()))
  .chain(([zone, [first, end], hasCalendar]) => {
    const names = hasCalendar ? ['Holidays', '#peak'] : []
    const month = monthOf(first)
    const earlier = fc.integer({ min: 1, max: 3 }).map(months => dayStart(zone, firstDay(month - months)))
    const dates = fc
      .oneof(
        fc.integer({ min: first - 20, max: end + 5 }),
        fc.constantFrom(first, first + 1, end - 1, end, firstDay(month), firstDay(month + 1)),
      )
      .map(dayText)
    const tariffBodies = fc.oneof(
      { weight: 12, arbitrary: tariffs(zone, [first, end], names) },
      { weight: 2, arbitrary: hiddenChanges },
    )
    return fc.tuple(earlier, tariffBodies).chain(([earlierStart, found]) => {
      const span = { start: dayStart(zone, first), end: dayStart(zone, end), earlier: earlierStart }
      return fc.record({
        location: fc.constantFrom(...currencies).map(currency_code => ({ timezone: zone, currency_code })),
        calendar: hasCalendar ? calendars(first, end) : fc.constant(null),
        tariffs: fc.constant(found),
        charges: fc.array(charges({ names, dates, month }), { minLength: 2, maxLength: 9 }),
        records: records(span, tieredDirections(found)),
        statement: statements(first, end),
        now: nows(span),
      })
    })
  })
