import fc from 'fast-check'
import type { Rate } from '../../../services/domain/tariff/rate.ts'
import type {
  Day,
  DaysAndHours,
  Month,
  ScheduleEntry,
  SpecialDay,
  TimeBand,
} from '../../../services/domain/tariff/tariff.ts'

const allDays: readonly Day[] = ['Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun']
const allMonths: readonly Month[] = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

/** A decimal in units of 1e-9, with two or with all nine decimals. */
const nano = (min: number, max: number): fc.Arbitrary<bigint> =>
  fc.oneof(
    fc.integer({ min: Math.ceil(min * 100), max: Math.floor(max * 100) }).map(cents => BigInt(cents) * 10_000_000n),
    fc.bigInt({ min: BigInt(min * 1e9), max: BigInt(max * 1e9) }),
  )

/** A fraction in units of 1e-15, with two, nine or all fifteen decimals. */
const percentage = fc.oneof(
  fc.constantFrom(0n, 190_000_000_000_000n, -500_000_000_000_000n, -1_000_000_000_000_000n, 51_126_963_200_000n),
  nano(-1, 5).map(fraction => fraction * 1_000_000n),
  fc.bigInt({ min: -(10n ** 15n), max: 5n * 10n ** 15n }),
)
const fixed = fc.oneof(
  { weight: 20, arbitrary: nano(-0.2, 1) },
  { weight: 1, arbitrary: fc.constantFrom(10n ** 15n, -(10n ** 15n), 1n, -1n, 10n ** 15n - 1n) },
)

export type Amounts = 'usual' | 'tiny'

/** Upper bound of a tier: 1 Wh to 60 kWh, or at most 60 of the smallest unit. */
const boundOf: Readonly<Record<Amounts, fc.Arbitrary<bigint>>> = {
  usual: fc.oneof(
    fc.bigInt({ min: 1_000_000n, max: 60_000_000_000n }),
    fc.bigInt({ min: 1n, max: 60n }).map(kwh => kwh * 10n ** 9n),
  ),
  tiny: fc.bigInt({ min: 1n, max: 60n }),
}

const bounds = (amounts: Amounts): fc.Arbitrary<bigint[]> =>
  fc.oneof(
    { weight: 3, arbitrary: fc.constant<bigint[]>([]) },
    { weight: 2, arbitrary: fc.uniqueArray(boundOf[amounts], { minLength: 1, maxLength: 4 }) },
  )

/** Kind of prices in the time bands of a tariff, and the special days that its days may name. */
export type Kind = { readonly market: boolean; readonly amounts: Amounts; readonly special?: readonly SpecialDay[] }

const rates = ({ market, amounts }: Kind): fc.Arbitrary<Rate[]> =>
  bounds(amounts).chain(found => {
    const rising = [...found].sort((a, b) => (a < b ? -1 : 1))
    const each = [...rising, null].map(to =>
      fc.record({
        fixed: market ? fc.constant(0n) : fixed,
        to: fc.constant(to),
        surchargeFixed: nano(-0.1, 0.2),
        surchargePercentage: percentage,
      }),
    )
    return fc.tuple(...each)
  })

const edge = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 0, max: 23 }).map(hour => hour * 3600) },
  { weight: 3, arbitrary: fc.integer({ min: 0, max: 47 }).map(half => half * 1800) },
  { weight: 2, arbitrary: fc.integer({ min: 0, max: 1439 }).map(minute => minute * 60) },
  { weight: 1, arbitrary: fc.integer({ min: 0, max: 86_399 }) },
)

/** Time bands that cover the day once. The last band ends at midnight or continues over midnight. */
const wholeDay = (kind: Kind): fc.Arbitrary<TimeBand[]> =>
  fc.tuple(fc.uniqueArray(edge, { maxLength: 5 }), fc.boolean()).chain(([found, split]) => {
    const edges = [...found].sort((a, b) => a - b)
    const [earliest = 0] = edges
    if (earliest > 0 && (split || edges.length === 1)) edges.unshift(0)
    if (edges.length === 0) edges.push(0)
    const bands = edges.map((validFrom, index) => {
      const validTo = edges[index + 1] ?? (edges[0] === 0 ? 86_400 : (edges[0] ?? 0))
      return rates(kind).map(rate => ({ validFrom, validTo, rate }))
    })
    return fc.tuple(...bands)
  })

const somePart = (kind: Kind): fc.Arbitrary<TimeBand[]> =>
  wholeDay(kind).chain(bands => fc.subarray(bands, { minLength: 1, maxLength: Math.max(1, bands.length - 1) }))

const days = (of: DaysAndHours['days'], hours: fc.Arbitrary<TimeBand[]>): fc.Arbitrary<DaysAndHours> =>
  hours.map(found => ({ days: of, hours: found }))

type Base = { readonly entries: ScheduleEntry[]; readonly usedRanks: readonly string[] }

const everyMonth = (daysAndHours: DaysAndHours[]): ScheduleEntry => ({ months: ['All'], dates: [], daysAndHours })

/** A schedule that covers every instant, and the ranks that it uses in the whole calendar. */
const base = (kind: Kind): fc.Arbitrary<Base> => {
  const day = wholeDay(kind)
  const plain = days(['All'], day).map(all => ({ entries: [everyMonth([all])], usedRanks: ['none All'] }))
  const weekly = fc
    .tuple(days(['Weekdays'], day), days(['Weekend'], day), fc.subarray([...(kind.special ?? [])]))
    .map(([work, rest, names]) => ({
      entries: [everyMonth([work, { ...rest, days: [...rest.days, ...names] }])],
      usedRanks: ['none group', ...names.map(name => `none ${name}`)],
    }))
  const withWeekdayOverlay = fc
    .tuple(days(['All'], day), days(['Weekdays'], somePart(kind)))
    .map(both => ({ entries: [everyMonth(both)], usedRanks: ['none All', 'none group'] }))
  const named = fc.tuple(days(['Mon', 'Wed', 'Fri'], day), days(['Tue', 'Thu', 'Sat', 'Sun'], day))
  const byName = named.map(both => ({ entries: [everyMonth(both)], usedRanks: ['none single'] }))
  const seasonal = fc
    .tuple(fc.subarray([...allMonths], { minLength: 1, maxLength: 11 }), days(['All'], day), days(['All'], day))
    .map(([months, one, other]) => {
      const rest = allMonths.filter(month => !months.includes(month))
      const entries = [
        { months, dates: [], daysAndHours: [one] },
        { months: rest, dates: [], daysAndHours: [other] },
      ]
      return { entries, usedRanks: ['months All'] }
    })
  return fc.oneof(
    { weight: 3, arbitrary: plain },
    { weight: 2, arbitrary: weekly },
    withWeekdayOverlay,
    byName,
    seasonal,
  )
}

type Overlay = { readonly entry: ScheduleEntry; readonly ranks: readonly string[] }

const dates = fc.uniqueArray(fc.integer({ min: 1, max: 31 }), { minLength: 1, maxLength: 12 })
const dayLists: Readonly<Record<string, readonly DaysAndHours['days'][]>> = {
  All: [['All']],
  group: [['Weekdays'], ['Weekend'], ['Weekdays', 'Weekend']],
  single: [['Mon'], ['Sat', 'Sun'], ['Tue', 'Thu'], [...allDays]],
  'single group': [
    ['Mon', 'Weekend'],
    ['Sun', 'Weekdays'],
  ],
}

/** Lists of days by their ranks. Special days are alone or beside a weekday. */
const dayListsOf = (special: readonly SpecialDay[]): typeof dayLists => ({
  ...dayLists,
  ...Object.fromEntries(
    special.flatMap(name => [
      [name, [[name]]],
      [
        `${name} single`,
        [
          [name, 'Wed'],
          ['Sun', name],
        ],
      ],
    ]),
  ),
})

/** Time bands with a higher rank on a part of the calendar: one rank of dates, one or two ranks of days. */
const overlay = (kind: Kind, lists = dayListsOf(kind.special ?? [])): fc.Arbitrary<Overlay> =>
  fc
    .tuple(fc.constantFrom('none', 'months', 'dates', 'dates and months'), fc.constantFrom(...Object.keys(lists)))
    .chain(([dateKind, dayKind]) =>
      fc
        .record({
          months: dateKind.endsWith('months')
            ? fc.subarray([...allMonths], { minLength: 1, maxLength: 8 })
            : fc.constant<['All']>(['All']),
          dates: dateKind.startsWith('dates') ? dates : fc.constant<number[]>([]),
          daysAndHours: fc
            .constantFrom(...(lists[dayKind] ?? []))
            .chain(list => fc.tuple(days(list, fc.oneof(somePart(kind), wholeDay(kind))))),
        })
        .map(entry => ({ entry, ranks: dayKind.split(' ').map(rank => `${dateKind} ${rank}`) })),
    )

/**
 * A valid schedule: a base for the whole calendar and up to four overlays, in any order.
 * No rank occurs twice at an instant.
 */
export const schedules = (kind: Kind): fc.Arbitrary<ScheduleEntry[]> =>
  fc.tuple(base(kind), fc.array(overlay(kind), { maxLength: 4 })).chain(([{ entries, usedRanks }, overlays]) => {
    const used = new Set(usedRanks)
    const retained = overlays.filter(({ ranks }) => {
      if (ranks.some(rank => used.has(rank))) return false
      for (const rank of ranks) used.add(rank)
      return true
    })
    const all = [...entries, ...retained.map(({ entry }) => entry)]
    return fc.shuffledSubarray(all, { minLength: all.length })
  })
