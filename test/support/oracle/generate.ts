import fc from 'fast-check'
import type { LocationCalendar } from '../../../services/domain/charge/location-calendar.ts'
import type { MeterRecord } from '../../../services/domain/record/record.ts'
import type {
  MarketSeries,
  PricingInput,
  ScheduleEntry,
  SpecialDay,
  Tariff,
  TariffDirection,
  TariffType,
  TariffVersion,
  TimeBand,
} from '../../../services/domain/tariff/tariff.ts'
import type { IdentifiedRecord } from './cost.ts'
import { type Amounts, schedules } from './generate-schedule.ts'
import { monthStart } from './local-clock.ts'
import type { Interval } from './segments.ts'
import { zoneNames, zoneOf } from './zone.ts'

/** Tariffs and market prices of a location, and records near the instants at which they change. */
export type Scenario = { readonly input: PricingInput; readonly records: readonly IdentifiedRecord[] }

const minuteMs = 60_000
const hourMs = 60 * minuteMs
const dayMs = 24 * hourMs
const earliest = Date.UTC(2001, 0, 1)
const latest = Date.UTC(2035, 0, 1)

/** An instant between `anchor - back` and `anchor + ahead`, on one of the grids. All values are in ms. */
const near = (anchor: number, back: number, ahead: number, grids: readonly number[]): fc.Arbitrary<number> =>
  fc
    .tuple(fc.integer({ min: -back, max: ahead }), fc.constantFrom(...grids))
    .map(([distance, grid]) => anchor + Math.round(distance / grid) * grid)

/** A clock change, the start of a month, or any full hour from 2001 to 2034. */
const anchors = (zone: string): fc.Arbitrary<number> => {
  const anywhere = fc.integer({ min: earliest / hourMs, max: latest / hourMs }).map(hours => hours * hourMs)
  const changes = zoneOf(zone).changes.filter(at => at > earliest && at < latest)
  const atChange = changes.length === 0 ? anywhere : fc.constantFrom(...changes)
  return fc.oneof(
    { weight: 3, arbitrary: atChange },
    anywhere.map(at => monthStart(zone, at)),
    anywhere,
  )
}

/** Return a pseudo-random number of a seed and an index, 0 … 2^32 − 1. */
const scatter = (seed: number, index: number): number => {
  let mixed = Math.imul(seed ^ (index + 0x9e3779b9), 0x85ebca6b)
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35)
  return (mixed ^ (mixed >>> 16)) >>> 0
}

/**
 * Market prices around an anchor: longer intervals, then shorter ones.
 * Some prices are negative, some are missing, and the last ones are forecasts.
 */
const marketSeries = (anchor: number, sourceId: string): fc.Arbitrary<MarketSeries> =>
  fc
    .record({
      seed: fc.integer(),
      steps: fc.constantFrom([60, 60], [60, 15], [30, 30], [15, 15]),
      switchAt: near(anchor, 3 * dayMs, 3 * dayMs, [dayMs, hourMs]),
      forecastFrom: fc.integer({ min: 0, max: 1500 }),
      gapEvery: fc.constantFrom(0, 0, 97, 400),
    })
    .map(({ seed, steps: [coarse = 60, fine = 60], switchAt, forecastFrom, gapEvery }) => {
      const series = {
        sourceId,
        starts: [] as number[],
        ends: [] as number[],
        prices: [] as bigint[],
        confidences: [] as number[],
      }
      const hour = Math.floor(anchor / hourMs) * hourMs
      for (let at = hour - 8 * dayMs, index = 0; at < hour + 10 * dayMs; index++) {
        const end = at + (at < switchAt ? coarse : fine) * minuteMs
        if (gapEvery === 0 || index % gapEvery !== gapEvery - 1) {
          series.starts.push(at)
          series.ends.push(end)
          series.prices.push(
            scatter(seed, index) % 7 === 0 ? 50_000_000n : BigInt(scatter(seed, index)) / 8n - 130_000_000n,
          )
          series.confidences.push(
            index < forecastFrom ? 1 : Math.max(0.1, Math.round(9_000 - (index - forecastFrom) * 3) / 10_000),
          )
        }
        at = end
      }
      return series
    })

const contractGrids = [dayMs, hourMs, 900_000, minuteMs, 1000, 1] as const

type PriceChoice = { readonly amounts: Amounts; readonly special: readonly SpecialDay[] }

type Contract = Pick<Tariff, 'contractStart' | 'contractEnd' | 'closedAt'>

/**
 * Consecutive contracts around an anchor, with and without gaps. Some are closed early, late, or before their start.
 */
const contracts = (anchor: number): fc.Arbitrary<Contract[]> => {
  const long = near(anchor, 400 * dayMs, 0, contractGrids)
  const close = near(anchor, 6 * dayMs, 6 * dayMs, contractGrids)
  const edge = fc.oneof({ weight: 3, arbitrary: close }, long)
  return fc
    .record({
      edges: fc.uniqueArray(edge, { minLength: 0, maxLength: 4 }),
      openStart: fc.constantFrom(true, true, true, false),
      gaps: fc.tuple(fc.boolean(), fc.boolean(), fc.boolean()),
      closing: fc.array(fc.tuple(fc.integer({ min: 0, max: 3 }), close), { maxLength: 2 }),
      openEnd: fc.boolean(),
    })
    .map(({ edges, openStart, gaps, closing, openEnd }) => {
      const rising = [...edges].sort((a, b) => a - b)
      const spans: [number | null, number | null][] = []
      if (openStart || rising.length === 0) spans.push([null, rising[0] ?? null])
      rising.forEach((start, index) => {
        const end = rising[index + 1] ?? null
        if (end === null && !openEnd && spans.length > 0) return
        if (spans.length === 0 || end === null || gaps[index % 3] !== true) spans.push([start, end])
      })
      return spans.map(([contractStart, contractEnd], index) => {
        const closed = closing.find(([of]) => of === index)
        return { contractStart, contractEnd, closedAt: closed === undefined ? null : closed[1] }
      })
    })
}

/** Return the schedule with a higher price in its last entry. */
const withHigherLast = (schedule: readonly ScheduleEntry[]): readonly ScheduleEntry[] =>
  schedule.map((entry, index) => {
    if (index < schedule.length - 1) return entry
    const higher = (hours: TimeBand): TimeBand => ({
      ...hours,
      rate: hours.rate.map(rate => ({ ...rate, surchargeFixed: rate.surchargeFixed + 7_000_000n })),
    })
    return { ...entry, daysAndHours: entry.daysAndHours.map(block => ({ ...block, hours: block.hours.map(higher) })) }
  })

/**
 * Up to three later schedules near an anchor, some before or after the contract.
 * A schedule is new, equal to the first one, or partly equal.
 */
const versions = (
  anchor: number,
  first: readonly ScheduleEntry[],
  another: fc.Arbitrary<readonly ScheduleEntry[]>,
): fc.Arbitrary<TariffVersion[]> => {
  const version = fc.record({
    effectiveFrom: near(anchor, 4 * dayMs, 4 * dayMs, contractGrids),
    schedule: fc.oneof(another, fc.constant(first), fc.constant(withHigherLast(first))),
  })
  const ascending = fc
    .uniqueArray(version, { maxLength: 3, selector: ({ effectiveFrom }) => effectiveFrom })
    .map(found => found.toSorted((a, b) => a.effectiveFrom - b.effectiveFrom))
  return fc.oneof({ weight: 2, arbitrary: fc.constant<TariffVersion[]>([]) }, ascending)
}

const tariffsOf = (
  anchor: number,
  { amounts, special }: PriceChoice,
  direction: TariffDirection,
  type: TariffType,
): fc.Arbitrary<Tariff[]> =>
  contracts(anchor).chain(spans =>
    fc.tuple(
      ...spans.map((span, index) => {
        const mayBeMarket = type === 'COMMODITY' && direction !== 'LOCAL' ? fc.boolean() : fc.constant(false)
        const id = `trf_${direction}_${type}_${index}`
        return mayBeMarket.chain(marketRates => {
          const someSchedules = schedules({ market: marketRates, amounts, special })
          return someSchedules.chain(schedule =>
            versions(anchor, schedule, someSchedules).map(later => ({
              ...span,
              id,
              direction,
              type,
              marketRates,
              schedule,
              versions: later,
            })),
          )
        })
      }),
    ),
  )

const orNone = <T>(arbitrary: fc.Arbitrary<T[]>): fc.Arbitrary<T[]> => fc.oneof(arbitrary, fc.constant<T[]>([]))

const specialDays = ['Holidays', '#a', '#b'] as const

/** Holidays and days of two types near an anchor. No day is of both types. */
const calendars = (anchor: number): fc.Arbitrary<LocationCalendar> =>
  fc.array(fc.constantFrom('', '', 'Holidays', 'a', 'b', 'Holidays a'), { minLength: 14, maxLength: 14 }).map(kinds => {
    const first = Math.floor(anchor / dayMs) - 6
    const daysOf = (name: string) =>
      new Set(kinds.flatMap((kind, index) => (kind.split(' ').includes(name) ? [first + index] : [])))
    return { holidays: daysOf('Holidays'), dayTypes: ['a', 'b'].map(name => ({ name, days: daysOf(name) })) }
  })

const pricingInputs = (zone: string, anchor: number, kind: PriceChoice): fc.Arbitrary<PricingInput> =>
  fc
    .record({
      calendar: kind.special.length === 0 ? fc.constant(null) : calendars(anchor),
      buy: tariffsOf(anchor, kind, 'IMPORT', 'COMMODITY'),
      grid: orNone(tariffsOf(anchor, kind, 'IMPORT', 'NON_COMMODITY')),
      sell: orNone(tariffsOf(anchor, kind, 'EXPORT', 'COMMODITY')),
      local: orNone(tariffsOf(anchor, kind, 'LOCAL', 'COMMODITY')),
      importMarket: marketSeries(anchor, 'mrs_import'),
      exportMarket: fc.oneof(marketSeries(anchor, 'mrs_export'), fc.constant(null)),
    })
    .map(({ calendar, buy, grid, sell, local, importMarket, exportMarket }) => ({
      locationId: 'loc_1',
      currencyCode: 'EUR',
      timeZone: zoneOf(zone),
      calendar,
      tariffs: [...local, ...grid, ...buy, ...sell],
      importMarket,
      exportMarket,
    }))

const flows = [
  { weight: 5, of: { energyFlowDirection: 'INBOUND', tariffDirection: 'IMPORT' } },
  { weight: 2, of: { energyFlowDirection: 'OUTBOUND', tariffDirection: 'EXPORT' } },
  { weight: 1, of: { energyFlowDirection: 'INBOUND', tariffDirection: 'LOCAL' } },
  { weight: 1, of: { energyFlowDirection: 'OUTBOUND', tariffDirection: 'IMPORT' } },
] as const

/** Length of a record in seconds: an impulse, seconds, quarter hours, hours, days, rarely more than a month. */
const lengths = fc.oneof(
  { weight: 4, arbitrary: fc.constant(0) },
  { weight: 6, arbitrary: fc.integer({ min: 1, max: 3600 }) },
  { weight: 8, arbitrary: fc.constantFrom(900, 1800, 3600) },
  { weight: 12, arbitrary: fc.integer({ min: 1, max: 1200 }).map(minutes => minutes * 60) },
  { weight: 6, arbitrary: fc.integer({ min: 3600, max: 4 * 86_400 }) },
  { weight: 1, arbitrary: fc.constantFrom(2, 3, 5, 8, 33).map(days => days * 86_400) },
)

const energiesOf: Readonly<Record<Amounts, fc.Arbitrary<bigint>>> = {
  usual: fc.oneof(
    { weight: 8, arbitrary: fc.bigInt({ min: 1_000_000n, max: 40_000_000_000n }) },
    { weight: 4, arbitrary: fc.bigInt({ min: 1n, max: 200n }).map(hundreds => hundreds * 100_000_000n) },
    { weight: 1, arbitrary: fc.constantFrom(0n, 100_000_000_000_000_000n) },
  ),
  tiny: fc.bigInt({ min: 0n, max: 60n }),
}

const meterRecords = (anchor: number, amounts: Amounts): fc.Arbitrary<MeterRecord> =>
  fc
    .record({
      flow: fc.oneof(...flows.map(({ weight, of }) => ({ weight, arbitrary: fc.constant(of) }))),
      start: near(anchor, 4 * dayMs, 4 * dayMs, [dayMs, hourMs, hourMs, 900_000, minuteMs, 1000]),
      seconds: lengths,
      energy: energiesOf[amounts],
      confidence: fc.oneof({ weight: 3, arbitrary: fc.constant(1_000_000) }, fc.integer({ min: 1, max: 1_000_000 })),
      deviceId: fc.constantFrom(null, 'dev_1', 'dev_2'),
    })
    .map(({ flow, start, seconds, ...record }) => ({
      locationId: 'loc_1',
      ...flow,
      ...record,
      start,
      end: start + seconds * 1000,
      sessionReferenceId: null,
      recordReferenceId: null,
    }))

/** Up to two separate intervals in which actuals cover an estimate, on whole seconds. */
const coveredIntervals = ({ start, end, confidence }: MeterRecord): fc.Arbitrary<readonly Interval[]> => {
  const seconds = (end - start) / 1000
  if (confidence === 1_000_000 || seconds < 4) return fc.constant([])
  return fc.uniqueArray(fc.integer({ min: 0, max: seconds }), { maxLength: 4 }).map(found => {
    const edges = found.sort((a, b) => a - b).map(second => start + second * 1000)
    const pairs =
      edges.length < 2 ? [] : edges.length < 4 ? [edges.slice(0, 2)] : [edges.slice(0, 2), edges.slice(2, 4)]
    return pairs.map(([from = start, to = end]) => ({ start: from, end: to }))
  })
}

const records = (anchor: number, maxRecords: number, amounts: Amounts): fc.Arbitrary<IdentifiedRecord[]> => {
  const id = fc.bigInt({ min: 0n, max: 2n ** 96n - 1n }).map(bits => `mre_${bits.toString(16).padStart(24, '0')}`)
  const identified = fc
    .tuple(id, meterRecords(anchor, amounts))
    .chain(([id, record]) => coveredIntervals(record).map(covered => ({ id, record, covered })))
  return fc.uniqueArray(identified, { minLength: 1, maxLength: maxRecords, selector: ({ id }) => id })
}

type Choice = {
  readonly zones?: readonly string[]
  readonly maxRecords?: number
  readonly amounts?: Amounts
  readonly hasCalendar?: boolean
}

/**
 * Random scenarios. `zones` limits the time zones, `maxRecords` the records of a scenario.
 * `tiny` amounts test rounding. `hasCalendar`: schedules may name holidays and day types.
 */
export const scenarios = ({
  zones = zoneNames,
  maxRecords = 8,
  amounts = 'usual',
  hasCalendar = false,
}: Choice = {}): fc.Arbitrary<Scenario> => {
  const prices = { amounts, special: hasCalendar ? specialDays : [] }
  const around = (zone: string, anchor: number) =>
    fc.record({ input: pricingInputs(zone, anchor, prices), records: records(anchor, maxRecords, amounts) })
  return fc.constantFrom(...zones).chain(zone => anchors(zone).chain(anchor => around(zone, anchor)))
}
