import type { PricingInput, TariffDirection } from '../../../services/domain/tariff/tariff.ts'
import type { PricePart } from '../../support/oracle/price-at.ts'
import { pricePartAt } from '../../support/oracle/price-at.ts'
import { type Interval, samePart } from '../../support/oracle/segments.ts'
import { zoneOf } from '../../support/oracle/zone.ts'

/** Commodity and non-commodity part of a price from `start` on; null without a tariff. */
export type Moment = {
  readonly start: number
  readonly commodity: PricePart | null
  readonly nonCommodity: PricePart | null
}

/**
 * Moments of an interval in order. Each is valid until the next; the first is at the start of the interval or before.
 */
export type Timeline = readonly Moment[]

const dayMs = 86_400_000
const quarterYearMs = 90 * dayMs

/** Return the seconds of the local day at which a time band starts or ends, and midnight. */
const secondsOf = (input: PricingInput, direction: TariffDirection): ReadonlySet<number> => {
  const seconds = new Set([0])
  for (const tariff of input.tariffs) {
    if (tariff.direction !== direction) continue
    const schedules = [tariff.schedule, ...(tariff.versions ?? []).map(({ schedule }) => schedule)].flat()
    const bands = schedules.flatMap(entry => entry.daysAndHours.flatMap(({ hours }) => hours))
    for (const { validFrom, validTo } of bands) seconds.add(validFrom % 86_400).add(validTo % 86_400)
  }
  return seconds
}

/**
 * Return the instants at which a local clock shows one of the seconds, for all offsets of the days around. The list
 * includes all such instants, and some others.
 */
const wallInstants = (zone: string, seconds: ReadonlySet<number>, { start, end }: Interval): readonly number[] => {
  const { changes, offsets } = zoneOf(zone)
  const found: number[] = changes.filter(at => start < at && at < end)
  for (let day = Math.floor(start / dayMs) - 1; day * dayMs < end + dayMs; day += 1) {
    const [from, to] = [(day - 1) * dayMs, (day + 2) * dayMs]
    const near = new Set(
      offsets.filter((_, index) => (changes[index - 1] ?? from) <= to && (changes[index] ?? to) >= from),
    )
    for (const offset of near) for (const second of seconds) found.push(day * dayMs + second * 1000 - offset)
  }
  return found
}

const contractInstants = ({ tariffs }: PricingInput): readonly number[] =>
  tariffs
    .flatMap(({ contractStart, contractEnd, closedAt, versions = [] }) => [
      ...[contractStart, closedAt],
      ...versions.map(({ effectiveFrom }) => effectiveFrom),
      ...[0, 1, 2, 3].map(passed => (contractEnd === null ? null : contractEnd + passed * quarterYearMs)),
    ])
    .filter(at => at !== null)

const marketInstants = (input: PricingInput, direction: TariffDirection): readonly number[] => {
  const series = direction === 'EXPORT' ? input.exportMarket : input.importMarket
  const isUsed = input.tariffs.some(tariff => tariff.marketRates && tariff.direction === direction)
  return isUsed && series !== null ? [...series.starts, ...series.ends] : []
}

/**
 * Find all instants of an interval, with its end, at which a price of one direction changes, and the price from each
 * instant on. Candidates are the starts and ends of time bands, days, contracts and market prices, and clock changes.
 */
export const timelineOf = (input: PricingInput, direction: TariffDirection, interval: Interval): Timeline => {
  const wall = wallInstants(input.timeZone.name, secondsOf(input, direction), interval)
  const candidates = [...wall, ...contractInstants(input), ...marketInstants(input, direction)]
  const instants = [
    interval.start,
    ...candidates.filter(at => interval.start < at && at <= interval.end).sort((a, b) => a - b),
  ]
  const moments: Moment[] = []
  for (const start of instants) {
    const last = moments.at(-1)
    if (last?.start === start) continue
    const commodity = pricePartAt(input, direction, 'COMMODITY', start)
    const nonCommodity = pricePartAt(input, direction, 'NON_COMMODITY', start)
    if (last !== undefined && samePart(last.commodity, commodity) && samePart(last.nonCommodity, nonCommodity)) continue
    moments.push({ start, commodity, nonCommodity })
  }
  return moments
}

/** Return the index of the moment that is valid at an instant. */
export const momentIndexAt = (timeline: Timeline, at: number): number => {
  let [low, high] = [0, timeline.length - 1]
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if ((timeline[middle] as Moment).start <= at) low = middle
    else high = middle - 1
  }
  return low
}
