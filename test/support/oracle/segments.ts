import type { MeterRecord } from '../../../services/domain/record/record.ts'
import type { Rate } from '../../../services/domain/tariff/rate.ts'
import type { PricingInput } from '../../../services/domain/tariff/tariff.ts'
import { divideHalfEven } from './exact.ts'
import { type PricePart, pricePartAt } from './price-at.ts'

export type Interval = { readonly start: number; readonly end: number }

/**
 * A part of a record in which only a tier can change the price.
 * `from` and `to`: submitted energy since the start of the record. `covered`: actuals replace its energy.
 */
export type Segment = Interval & {
  readonly covered: boolean
  readonly from: bigint
  readonly to: bigint
  readonly commodity: PricePart | null
  readonly nonCommodity: PricePart | null
}

const minuteMs = 60_000
const quarterYearMs = 90 * 24 * 3_600_000

/** Return the seconds within a minute at which a time band starts or ends. */
const edgeSeconds = (input: PricingInput): number[] => {
  const seconds = new Set<number>([0])
  for (const tariff of input.tariffs) {
    const schedules = [tariff.schedule, ...(tariff.versions ?? []).map(({ schedule }) => schedule)].flat()
    const bands = schedules.flatMap(entry => entry.daysAndHours.flatMap(({ hours }) => hours))
    for (const { validFrom, validTo } of bands) seconds.add(validFrom % 60).add(validTo % 60)
  }
  return [...seconds]
}

/** Return all instants in the record at which a price could change: full minutes and other edges, with repeats. */
const stepsOf = (input: PricingInput, { start, end }: MeterRecord, covered: readonly Interval[]): number[] => {
  const steps: number[] = [start]
  const add = (at: number | null) => {
    if (at !== null && at > start && at < end) steps.push(at)
  }
  const seconds = edgeSeconds(input)
  for (let minute = Math.floor(start / minuteMs) * minuteMs; minute < end; minute += minuteMs) {
    for (const second of seconds) add(minute + second * 1000)
  }
  for (const tariff of input.tariffs) {
    for (const edge of [tariff.contractStart, tariff.closedAt]) add(edge)
    for (const { effectiveFrom } of tariff.versions ?? []) add(effectiveFrom)
    for (const passed of [0, 1, 2, 3])
      add(tariff.contractEnd === null ? null : tariff.contractEnd + passed * quarterYearMs)
  }
  for (const series of [input.importMarket, input.exportMarket]) {
    for (const edges of series === null ? [] : [series.starts, series.ends]) edges.forEach(add)
  }
  for (const span of covered) for (const edge of [span.start, span.end]) add(edge)
  return steps.sort((a, b) => a - b)
}

const sameRates = (a: readonly Rate[], b: readonly Rate[]): boolean => {
  if (a === b) return true
  const differs = (x: Rate | undefined, y: Rate | undefined): boolean =>
    x?.fixed !== y?.fixed ||
    x?.to !== y?.to ||
    x?.surchargeFixed !== y?.surchargeFixed ||
    x?.surchargePercentage !== y?.surchargePercentage
  return a.length === b.length && !a.some((rate, index) => differs(rate, b[index]))
}

export const samePart = (a: PricePart | null, b: PricePart | null): boolean => {
  if (a === null || b === null) return a === b
  const same = a.tariffId === b.tariffId && a.market === b.market && a.confidence === b.confidence
  return same && a.countingStart === b.countingStart && sameRates(a.rates, b.rates)
}

/** Return the energy of a record from its start to `at`, at constant power. */
export const energyUntil = (record: MeterRecord, at: number): bigint =>
  divideHalfEven(record.energy * BigInt(at - record.start), BigInt(record.end - record.start))

/**
 * Split a record into segments: visit each minute and join the steps that differ by a tier only.
 * An impulse is one segment without length.
 */
export const segmentsOf = (
  input: PricingInput,
  record: MeterRecord,
  coveredBy: readonly Interval[] = [],
): Segment[] => {
  const { tariffDirection: direction, start, end, energy } = record
  const open: Pick<Segment, 'start' | 'covered' | 'commodity' | 'nonCommodity'>[] = []
  for (const at of stepsOf(input, record, coveredBy)) {
    const commodity = pricePartAt(input, direction, 'COMMODITY', at)
    const nonCommodity = pricePartAt(input, direction, 'NON_COMMODITY', at)
    const covered = coveredBy.some(span => span.start <= at && at < span.end)
    const last = open.at(-1)
    const same = last !== undefined && last.covered === covered && samePart(last.commodity, commodity)
    if (same && samePart(last.nonCommodity, nonCommodity)) continue
    open.push({ start: at, covered, commodity, nonCommodity })
  }
  return open.map((segment, index) => {
    const next = open[index + 1]
    const from = segment.start === start ? 0n : energyUntil(record, segment.start)
    return {
      ...segment,
      end: next?.start ?? end,
      from,
      to: next === undefined ? energy : energyUntil(record, next.start),
    }
  })
}
