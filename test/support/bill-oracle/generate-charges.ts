import fc from 'fast-check'
import type { BaseBody, ChargeBody, Direction, WindowBody } from './bill-input.ts'
import { deviceNames } from './generate-records.ts'
import { clockText, decimals, edge, monthNames, prices, schedules } from './generate-tariffs.ts'
import { type CalendarMonth, monthText } from './local-days.ts'

/** Names of days and dates that charges may use. */
export type ChargeScope = {
  readonly names: readonly string[]
  /** Days at which a charge may start or end. */
  readonly dates: fc.Arbitrary<string>
  /** Month in which the statement starts. */
  readonly month: CalendarMonth
}

type Members = Omit<ChargeBody, 'kind' | 'name'>

/** A member that is given in some percent of the cases. */
const maybe = <T>(name: string, arbitrary: fc.Arbitrary<T>, percent = 50): fc.Arbitrary<Members> =>
  fc.oneof(
    { weight: percent, arbitrary: arbitrary.map(value => ({ [name]: value }) as Members) },
    { weight: 100 - percent, arbitrary: fc.constant({}) },
  )

const all = (...parts: readonly fc.Arbitrary<Members>[]): fc.Arbitrary<Members> =>
  fc.tuple(...parts).map(found => Object.assign({}, ...found) as Members)

const components = ['grid', 'energy', 'supplier', 'site', 'tax'] as const

/** Members of all kinds. A validity may start or end inside the statement, or lie outside of it. */
const common = ({ dates }: ChargeScope): fc.Arbitrary<Members> => {
  const validity = fc.oneof(
    { weight: 6, arbitrary: fc.constant({}) },
    { weight: 2, arbitrary: dates.map(start_date => ({ start_date })) },
    { weight: 2, arbitrary: dates.map(end_date => ({ end_date })) },
    {
      weight: 1,
      arbitrary: fc.tuple(dates, dates).map(([a, b]) => {
        const [start_date, end_date] = a < b ? [a, b] : [b, a]
        return start_date === end_date ? { start_date } : { start_date, end_date }
      }),
    },
  )
  return all(maybe('component', fc.constantFrom(...components), 70), validity)
}

const sequence = (values: readonly number[]): fc.Arbitrary<Members> => maybe('sequence', fc.constantFrom(...values))

const counts = all(
  maybe('counts', fc.constantFrom('IMPORT', 'EXPORT', 'GROSS', 'NET_IMPORT', 'NET_IMPORT'), 60),
  maybe('device_ids', fc.subarray([...deviceNames], { minLength: 1 }), 15),
)

const hoursOf = fc
  .uniqueArray(edge, { minLength: 2, maxLength: 2 })
  .map(([from = 0, to = 0]) => ({ valid_from: clockText(from), valid_to: clockText(to) }))

const windowsOf = (names: readonly string[], weights: readonly number[]): fc.Arbitrary<readonly WindowBody[]> => {
  const namedDays = names.flatMap(name => [[name], [name], [name, 'Sat']])
  const window = all(
    maybe('hours', fc.array(hoursOf, { minLength: 1, maxLength: 2 }), 75),
    maybe('days', fc.constantFrom(['Weekdays'], ['Weekend'], ['Mon', 'Wed'], ['All'], ...namedDays)),
    maybe('months', fc.subarray([...monthNames], { minLength: 6 }), 20),
    maybe('dates', fc.uniqueArray(fc.integer({ min: 1, max: 31 }), { minLength: 8, maxLength: 20 }), 20),
    maybe('weight', fc.constantFrom(...weights)),
  ) as fc.Arbitrary<WindowBody>
  return fc.array(window, { minLength: 1, maxLength: 3 })
}

const fixed: fc.Arbitrary<Members> = all(
  prices(120).map(price => ({ price })),
  maybe('per', fc.constantFrom('DAY', 'MONTH', 'YEAR'), 85),
  maybe('quantity', decimals(0, 40)),
  maybe('unit', fc.constant('kW'), 30),
  maybe('prorate', fc.constantFrom('DAYS', 'NONE')),
)

const usage = ({ names }: ChargeScope): fc.Arbitrary<Members> => {
  const rate = prices(0.5).map(price => [{ fixed: price }])
  return all(
    counts,
    fc.oneof(
      prices(0.5).map(price => ({ price })),
      schedules(rate, names).map(schedule => ({ schedule })),
    ),
  )
}

const session = ({ names }: ChargeScope): fc.Arbitrary<Members> => {
  const devices = maybe('device_ids', fc.subarray([...deviceNames], { minLength: 1 }), 25)
  const price = prices(2).map(value => ({ price: value }))
  const perMinute = all(
    ...[price, devices, fc.constant({ per: 'MINUTE' as const })],
    maybe('while', fc.constantFrom('CONNECTED', 'IDLE'), 75),
    maybe('after_minutes', fc.constantFrom(0, 1, 30, 240)),
    maybe('count', fc.constantFrom('EXACT', 'STARTED'), 75),
    maybe('max_amount', decimals(0, 20)),
    maybe('windows', windowsOf(names, [0, 1]), 30),
  )
  const perSession = all(
    ...[price, devices, maybe('max_amount', decimals(0, 1), 25), maybe('while', fc.constantFrom('CONNECTED', 'IDLE'))],
    maybe('after_minutes', fc.constantFrom(0, 1, 30, 240), 30),
    maybe('windows', windowsOf(names, [0, 1]), 20),
  )
  return fc.oneof(perMinute, perSession)
}

const rising = (values: readonly number[]): number[] => [...values].sort((a, b) => a - b)
const powers = fc.uniqueArray(fc.constantFrom(0.5, 1, 2, 2.5, 4, 5, 8, 10, 20, 63), { maxLength: 5 })

const money: fc.Arbitrary<Members> = fc.oneof(
  prices(60).map(price => ({ price })),
  fc.tuple(powers, fc.array(prices(30), { minLength: 6, maxLength: 6 })).map(([bounds, amounts]) => ({
    tiers: [
      ...rising(bounds).map((to_kw, index) => ({ to_kw, price: amounts[index] ?? 0 })),
      { price: amounts[5] ?? 0 },
    ],
  })),
  fc
    .tuple(powers, fc.boolean(), fc.array(prices(3000), { minLength: 6, maxLength: 6 }))
    .map(([bounds, isFromZero, amounts]) => ({
      steps: rising([...new Set([...(isFromZero || bounds.length === 0 ? [0] : []), ...bounds])]).map(
        (from_kw, index) => ({ from_kw, amount: amounts[index] ?? 0 }),
      ),
    })),
)

const given = ({ month }: ChargeScope): fc.Arbitrary<Members> => {
  const before = fc.uniqueArray(fc.integer({ min: 1, max: 24 }), { maxLength: 8 })
  return fc.tuple(before, fc.array(decimals(0, 15), { minLength: 8, maxLength: 8 })).map(([months, values]) => ({
    history: months.map((count, index) => ({ month: monthText(month - count), kw: values[index] ?? 0 })),
  }))
}

const demand = (scope: ChargeScope): fc.Arbitrary<Members> => {
  const measured = all(
    ...[counts, money, maybe('interval_minutes', fc.constantFrom(15, 30, 60), 80)],
    maybe('highest', fc.constantFrom(1, 2, 3, 5, 100)),
    maybe('distinct_days', fc.boolean()),
    maybe('windows', windowsOf(scope.names, [0, 0.25, 0.5, 1, 0.333333333]), 35),
    maybe('floor_kw', decimals(0, 6), 30),
    maybe('above_kw', decimals(0, 4), 25),
    maybe(
      'round_kw',
      fc.record({
        to: fc.constantFrom(1, 0.5, 0.1, 0.25, 3),
        mode: fc.constantFrom('HALF_UP', 'HALF_EVEN', 'UP', 'DOWN'),
      }),
    ),
    maybe('step_edge', fc.constantFrom('LOWER_INCLUSIVE', 'LOWER_EXCLUSIVE')),
  )
  const withEarlierMonths = all(
    ...[measured, given(scope), maybe('month_floor_kw', decimals(0, 5), 30)],
    maybe(
      'ratchet',
      fc.record(
        {
          share: fc.constantFrom(0.5, 0.8, 1, 2),
          months: fc.integer({ min: 1, max: 14 }),
          in_months: fc.subarray([...monthNames], { minLength: 1 }),
        },
        { requiredKeys: ['share', 'months'] },
      ),
      40,
    ),
  )
  const ofPeriod = all(
    withEarlierMonths,
    maybe('per', fc.constantFrom('MONTH', 'YEAR'), 70),
    maybe('year_basis', fc.constantFrom('MONTHS', 'DAYS')),
    maybe('prorate', fc.constantFrom('DAYS', 'NONE')),
    fc.oneof(
      fc.constant({}),
      all(
        fc.constant({ over: 'ROLLING' as const }),
        maybe('rolling_months', fc.integer({ min: 2, max: 14 })),
        maybe('rolling', fc.constantFrom('MEAN', 'MAX'), 70),
      ),
    ),
  )
  const daily = all(
    ...[fc.oneof(measured, withEarlierMonths), fc.constant({ over: 'DAY' as const })],
    fc.constantFrom('DAY' as const, 'DAY' as const, 'MONTH' as const, 'YEAR' as const).map(per => ({ per })),
    maybe('year_basis', fc.constantFrom('MONTHS', 'DAYS')),
  )
  return fc.oneof({ weight: 4, arbitrary: ofPeriod }, { weight: 1, arbitrary: daily })
}

const kinds = ['ENERGY', 'FIXED', 'USAGE', 'DEMAND', 'SESSION', 'MINIMUM', 'MAXIMUM', 'PERCENTAGE'] as const
const directions: readonly (readonly Direction[])[] = [['EXPORT'], ['IMPORT', 'EXPORT'], ['EXPORT', 'IMPORT']]

const base: fc.Arbitrary<Members> = fc
  .tuple(
    fc.option(fc.subarray([...kinds], { minLength: 2 }), { freq: 2, nil: undefined }),
    fc.option(fc.subarray([...components], { minLength: 2 }), { freq: 2, nil: undefined }),
    fc.option(fc.constantFrom(...directions), { freq: 2, nil: undefined }),
  )
  .map(([kinds, components, directions]): Members => {
    const found: BaseBody = {
      ...(kinds !== undefined && { kinds }),
      ...(components !== undefined && { components }),
      ...(directions !== undefined && { directions }),
    }
    return Object.keys(found).length === 0 ? {} : { base: found }
  })

const limit: fc.Arbitrary<Members> = all(
  ...[base, sequence([50, 100, 150, 200, 250])],
  fc.oneof(decimals(0, 3), decimals(0, 400)).map(amount => ({ amount })),
  maybe('per', fc.constantFrom('PERIOD', 'DAY', 'MONTH', 'YEAR'), 85),
  maybe('per_kwh', decimals(0, 0.6)),
)

/** Fractions with fifteen decimals, as numbers that print them. */
const finePercentages = fc.integer({ min: -(10 ** 15), max: 10 ** 15 }).map(units => Number((units / 1e15).toFixed(15)))

const percentage: fc.Arbitrary<Members> = all(
  ...[base, sequence([50, 150, 200, 201, 300])],
  fc.oneof(fc.constantFrom(0.19, 0.25, 0.05, -0.1, -1, 0, 5), decimals(-1, 1), finePercentages).map(rate => ({ rate })),
  maybe('tax', fc.boolean(), 30),
)

/** A valid body of a charge of any kind, with all its members. */
export const charges = (scope: ChargeScope): fc.Arbitrary<ChargeBody> => {
  const usual = sequence([0, 1, 100, 500, 999])
  const membersOf: Readonly<Record<ChargeBody['kind'], fc.Arbitrary<Members>>> = {
    FIXED: all(fixed, usual),
    USAGE: all(usage(scope), usual),
    DEMAND: all(demand(scope), usual),
    SESSION: all(session(scope), usual),
    MINIMUM: limit,
    MAXIMUM: limit,
    PERCENTAGE: percentage,
  }
  return fc
    .constantFrom<ChargeBody['kind']>(
      ...(['FIXED', 'USAGE', 'DEMAND', 'DEMAND', 'SESSION'] as const),
      ...(['MINIMUM', 'MAXIMUM', 'PERCENTAGE', 'PERCENTAGE'] as const),
    )
    .chain(kind =>
      fc
        .tuple(fc.constantFrom('a', 'b', 'VAT', 'peak'), common(scope), membersOf[kind])
        .map(([name, shared, own]) => ({ kind, name: `${kind} ${name}`, ...shared, ...own })),
    )
}
