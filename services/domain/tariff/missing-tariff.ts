import type { AnswerOffset } from '../answer-offset.ts'
import { writeInstant } from '../instant.ts'
import type { Interval } from '../interval.ts'
import { type Refusal, refused } from '../refusal.ts'
import { type PricePeriod, type PricingSnapshot, pricePeriodIndex } from './snapshot.ts'
import type { TariffDirection } from './tariff.ts'

/**
 * Interval around an instant in which no tariff prices a direction, and the tariffs before and after it. An end without
 * a tariff is infinite.
 */
type TariffGap = Interval & {
  readonly tariffBefore: string | null
  readonly tariffAfter: string | null
}

const findGap = (pricePeriods: readonly PricePeriod[], at: number): TariffGap => {
  let first = pricePeriodIndex(pricePeriods, at)
  let last = first
  while (first > 0 && pricePeriods[first - 1]?.commodityId === null) first -= 1
  while (last + 1 < pricePeriods.length && pricePeriods[last + 1]?.commodityId === null) last += 1
  return {
    start: (pricePeriods[first] as PricePeriod).start,
    end: (pricePeriods[last] as PricePeriod).end,
    tariffBefore: pricePeriods[first - 1]?.commodityId ?? null,
    tariffAfter: pricePeriods[last + 1]?.commodityId ?? null,
  }
}

const describeNeighbours = ({ start, end, tariffBefore, tariffAfter }: TariffGap, offsetOf: AnswerOffset): string => {
  const [from, to] = [start, end].map(at => (Number.isFinite(at) ? writeInstant(at, offsetOf(at)) : ''))
  if (tariffBefore !== null && tariffAfter !== null)
    return `: ${tariffBefore} ended at ${from} and ${tariffAfter} starts at ${to}`
  if (tariffAfter !== null) return `: the first one, ${tariffAfter}, starts at ${to}`
  return tariffBefore === null ? '' : `: the last one, ${tariffBefore}, ended at ${from}`
}

/**
 * Create the refusal `no_tariff_connected`: the location has no commodity tariff for a direction at `at` (ms). The
 * message names the gap, the tariffs around it, and the request to `path` that adds one. Instants are written with the
 * offsets of the answer, by default in UTC.
 * Source: docs/rules/errors.md #missing-tariff.
 */
export const refuseMissingTariff = (
  snapshot: PricingSnapshot,
  direction: TariffDirection,
  at: number,
  { path, offsetOf = () => 0 }: { readonly path: string; readonly offsetOf?: AnswerOffset },
): Refusal => {
  const neighbourText = describeNeighbours(findGap(snapshot.directions[direction].pricePeriods, at), offsetOf)
  const advice = `post one to ${path} with direction ${direction} and type COMMODITY`
  return refused(
    'no_tariff_connected',
    `The location has no tariff for ${direction} at ${writeInstant(at, offsetOf(at))}${neighbourText}; ${advice}.`,
  ).refusal
}
