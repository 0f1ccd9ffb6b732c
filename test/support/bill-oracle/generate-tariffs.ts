import fc from 'fast-check'
import type { RateBody, ScheduleBody, TariffBody } from './bill-input.ts'

type Block<Rate> = ScheduleBody<Rate>[number]['days_and_hours'][number]
type Hours<Rate> = Block<Rate>['hours']

export const monthNames = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'] as const

/** Decimal with 2, 4 or 9 digits after the point. */
export const decimals = (min: number, max: number): fc.Arbitrary<number> =>
  fc
    .constantFrom(1e2, 1e4, 1e9)
    .chain(scale =>
      fc
        .integer({ min: Math.ceil(min * scale), max: Math.floor(max * scale) })
        .map(units => Number((units / scale).toFixed(9))),
    )

/** Price: often 0 or negative. */
export const prices = (max: number): fc.Arbitrary<number> =>
  fc.oneof(
    { weight: 6, arbitrary: decimals(0, max) },
    { weight: 1, arbitrary: fc.constantFrom(0, 0.000000001, -0.000000001) },
    { weight: 1, arbitrary: decimals(-max / 4, 0) },
  )

const twoDigits = (value: number): string => String(value).padStart(2, '0')

/** Write seconds of the day. The end of the day is `00:00:00`. */
export const clockText = (second: number): string =>
  [Math.floor(second / 3600) % 24, Math.floor(second / 60) % 60, second % 60].map(twoDigits).join(':')

/** Second of the day: mostly full hours, also half hours, minutes and odd seconds. */
export const edge = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 0, max: 23 }).map(hour => hour * 3600) },
  { weight: 3, arbitrary: fc.integer({ min: 0, max: 47 }).map(half => half * 1800) },
  { weight: 1, arbitrary: fc.integer({ min: 0, max: 1439 }).map(minute => minute * 60) },
  { weight: 1, arbitrary: fc.integer({ min: 0, max: 86_399 }) },
)

/** Bands that cover the day once. If no band starts at midnight, the last one passes it. */
const wholeDay = <Rate>(rates: fc.Arbitrary<readonly Rate[]>): fc.Arbitrary<Hours<Rate>> =>
  fc.uniqueArray(edge, { maxLength: 4 }).chain(found => {
    const edges = found.length < 2 ? [0] : [...found].sort((a, b) => a - b)
    const bands = edges.map((from, index) =>
      rates.map(rate => ({
        valid_from: clockText(from),
        valid_to: clockText(edges[index + 1] ?? edges[0] ?? 0),
        rate,
      })),
    )
    return fc.tuple(...bands)
  })

const someHours = <Rate>(rates: fc.Arbitrary<readonly Rate[]>): fc.Arbitrary<Hours<Rate>> =>
  wholeDay(rates).chain(bands => fc.subarray([...bands], { minLength: 1 }))

type Entry<Rate> = ScheduleBody<Rate>[number]

const everyDay = <Rate>(blocks: readonly Block<Rate>[]): Entry<Rate> => ({ months: ['All'], days_and_hours: blocks })

/** Entries that cover every instant, with the ranks that they use. */
type Base<Rate> = { readonly entries: readonly Entry<Rate>[]; readonly ranks: readonly string[] }

const bases = <Rate>(rates: fc.Arbitrary<readonly Rate[]>, names: readonly string[]): fc.Arbitrary<Base<Rate>> => {
  const day = wholeDay(rates)
  const flat = day.map(hours => ({ entries: [everyDay([{ days: ['All'], hours }])], ranks: ['none All'] }))
  const weekly = fc
    .tuple(day, day, fc.subarray([...names], { maxLength: Math.min(1, names.length) }))
    .map(([work, rest, special]) => ({
      entries: [
        everyDay([
          { days: ['Weekdays'], hours: work },
          { days: ['Weekend', ...special], hours: rest },
        ]),
      ],
      ranks: ['none group', ...special.map(name => `none ${name}`)],
    }))
  const seasonal = fc.tuple(fc.subarray([...monthNames], { minLength: 1, maxLength: 11 }), day, day).map(
    ([months, one, other]): Base<Rate> => ({
      entries: [
        { months, days_and_hours: [{ days: ['All'], hours: one }] },
        {
          months: monthNames.filter(month => !months.includes(month)),
          days_and_hours: [{ days: ['All'], hours: other }],
        },
      ],
      ranks: ['months All'],
    }),
  )
  return fc.oneof({ weight: 2, arbitrary: flat }, { weight: 2, arbitrary: weekly }, seasonal)
}

const dayLists: Readonly<Record<string, readonly (readonly string[])[]>> = {
  All: [['All']],
  group: [['Weekdays'], ['Weekend']],
  single: [['Mon'], ['Sat', 'Sun'], ['Tue', 'Thu', 'Fri']],
}

type Overlay<Rate> = { readonly entry: Entry<Rate>; readonly ranks: readonly string[] }

/** An entry of a higher rank on a part of the calendar. It may name holidays or special days, also with weekdays. */
const overlays = <Rate>(rates: fc.Arbitrary<readonly Rate[]>, names: readonly string[]): fc.Arbitrary<Overlay<Rate>> =>
  fc
    .record({
      dateKind: fc.constantFrom('none', 'months', 'dates', 'dates and months'),
      dayKind: fc.constantFrom(...Object.keys(dayLists), ...names, ...names),
      months: fc.subarray([...monthNames], { minLength: 1, maxLength: 8 }),
      dates: fc.uniqueArray(fc.integer({ min: 1, max: 31 }), { minLength: 1, maxLength: 12 }),
      isBesideSingle: fc.boolean(),
      hours: fc.oneof(someHours(rates), wholeDay(rates)),
    })
    .chain(({ dateKind, dayKind, months, dates, isBesideSingle, hours }) => {
      const isName = names.includes(dayKind)
      const lists = isName ? [isBesideSingle ? [dayKind, 'Wed'] : [dayKind]] : (dayLists[dayKind] ?? [])
      const kinds = isName && isBesideSingle ? [dayKind, 'single'] : [dayKind]
      return fc.constantFrom(...lists).map(days => ({
        entry: {
          months: dateKind.endsWith('months') ? months : ['All'],
          ...(dateKind.startsWith('dates') && { dates }),
          days_and_hours: [{ days, hours }],
        },
        ranks: kinds.map(kind => `${dateKind} ${kind}`),
      }))
    })

/**
 * A valid schedule: entries for the whole calendar and up to three overlays, in any order. No rank occurs twice.
 * `names`: `Holidays` and names of special days that the schedule may use.
 */
export const schedules = <Rate>(
  rates: fc.Arbitrary<readonly Rate[]>,
  names: readonly string[],
): fc.Arbitrary<ScheduleBody<Rate>> =>
  fc.tuple(bases(rates, names), fc.array(overlays(rates, names), { maxLength: 3 })).chain(([base, found]) => {
    const used = new Set(base.ranks)
    const added = found.filter(({ ranks }) => {
      const isFree = !ranks.some(rank => used.has(rank))
      if (isFree) for (const rank of ranks) used.add(rank)
      return isFree
    })
    const all = [...base.entries, ...added.map(({ entry }) => entry)]
    return fc.shuffledSubarray(all, { minLength: all.length })
  })

const rarely = <T>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.oneof({ weight: 1, arbitrary }, { weight: 3, arbitrary: fc.constant(undefined) })

const tierBounds = fc.oneof(
  { weight: 3, arbitrary: fc.constant<number[]>([]) },
  { weight: 1, arbitrary: fc.uniqueArray(fc.constantFrom(1, 5, 12.5, 40, 100, 333.333333333), { maxLength: 3 }) },
)

/** One price, or prices by tier, some with surcharges. */
const tariffRates: fc.Arbitrary<readonly RateBody[]> = tierBounds.chain(found => {
  const bounds = [...found].sort((a, b) => a - b)
  const tiers = [...bounds, null].map(bound =>
    fc
      .record({
        fixed: prices(0.6),
        surcharge_fixed: rarely(decimals(-0.05, 0.1)),
        surcharge_percentage: rarely(fc.constantFrom(0.19, 0.255, -0.5)),
      })
      .map(({ fixed, surcharge_fixed, surcharge_percentage }) => ({
        fixed,
        ...(bound !== null && { to_kwh: bound }),
        ...(surcharge_fixed !== undefined && { surcharge_fixed }),
        ...(surcharge_percentage !== undefined && { surcharge_percentage }),
      })),
  )
  return fc.tuple(...tiers)
})

export type TariffKind = Pick<TariffBody, 'direction' | 'type'>

/**
 * One or two consecutive contracts of one kind. `instants`: edges of contracts, inside and outside of the statement.
 * Most kinds have a price at all times.
 */
export const contracts = (
  kind: TariffKind,
  instants: fc.Arbitrary<string>,
  names: readonly string[],
): fc.Arbitrary<TariffBody[]> => {
  const component = rarely(fc.constantFrom('energy', 'grid', 'supplier', 'night'))
  const one = fc.record({ schedule: schedules(tariffRates, names), component }).map(({ schedule, component }) => ({
    ...kind,
    schedule,
    ...(component !== undefined && { component }),
  }))
  const open = one.map((body): TariffBody[] => [body])
  const change = fc.tuple(one, one, instants).map(([first, second, at]): TariffBody[] => [
    { ...first, contract_end_date: at },
    { ...second, contract_start_date: at },
  ])
  const later = fc.tuple(one, instants).map(([body, at]): TariffBody[] => [{ ...body, contract_start_date: at }])
  const ended = fc.tuple(one, instants).map(([body, at]): TariffBody[] => [{ ...body, contract_end_date: at }])
  return fc.oneof({ weight: 5, arbitrary: open }, { weight: 3, arbitrary: change }, later, ended)
}
