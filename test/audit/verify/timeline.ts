import type { PricingInput, TariffDirection } from '../../../services/domain/tariff/tariff.ts'
import type { Part } from '../../support/oracle/price-at.ts'
import { partAt } from '../../support/oracle/price-at.ts'
import { type Interval, samePart } from '../../support/oracle/segments.ts'
import { zoneOf } from '../../support/oracle/zone.ts'

/** Both halves of a price from an instant on; null: there is none. */
export type Moment = { readonly start: number; readonly commodity: Part | null; readonly nonCommodity: Part | null }

/** The moments of a span in order, each holding until the next; the first at the span's start or before it. */
export type Timeline = readonly Moment[]

const dayMs = 86_400_000
const quarterYearMs = 90 * dayMs

/** Seconds of the local day at which some band begins or ends, midnight among them. */
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

/** The instants at which wall clocks show the seconds of each local day, with every offset of the days around: some too many, none too few. */
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
 * Find every instant of a span, its end included, at which a price of one direction can change, and what it is from there on. Nothing is stepped
 * through: edges of bands, days, clock changes, contracts and market prices are all that can change one.
 */
export const timelineOf = (input: PricingInput, direction: TariffDirection, span: Interval): Timeline => {
  const wall = wallInstants(input.timeZone.name, secondsOf(input, direction), span)
  const candidates = [...wall, ...contractInstants(input), ...marketInstants(input, direction)]
  const instants = [span.start, ...candidates.filter(at => span.start < at && at <= span.end).sort((a, b) => a - b)]
  const moments: Moment[] = []
  for (const start of instants) {
    const last = moments.at(-1)
    if (last?.start === start) continue
    const commodity = partAt(input, direction, 'COMMODITY', start)
    const nonCommodity = partAt(input, direction, 'NON_COMMODITY', start)
    if (last !== undefined && samePart(last.commodity, commodity) && samePart(last.nonCommodity, nonCommodity)) continue
    moments.push({ start, commodity, nonCommodity })
  }
  return moments
}

/** The place of the moment that holds at an instant. */
export const momentIndexAt = (timeline: Timeline, at: number): number => {
  let [low, high] = [0, timeline.length - 1]
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if ((timeline[middle] as Moment).start <= at) low = middle
    else high = middle - 1
  }
  return low
}
