import type { AnswerOffset } from '../answer-offset.ts'
import { writeInstant } from '../instant.ts'
import { type Refusal, refused } from '../refusal.ts'
import { eraIndex, type PriceEra, type PricingSnapshot } from './snapshot.ts'
import type { TariffDirection } from './tariff.ts'

/** The time around an instant in which no tariff prices a direction, and the tariffs on both sides of it; infinite without one. */
type Gap = { readonly start: number; readonly end: number; readonly before: string | null; readonly after: string | null }

const gapAt = (eras: readonly PriceEra[], at: number): Gap => {
  let first = eraIndex(eras, at)
  let last = first
  while (first > 0 && eras[first - 1]?.commodityId === null) first -= 1
  while (last + 1 < eras.length && eras[last + 1]?.commodityId === null) last += 1
  return {
    start: (eras[first] as PriceEra).from,
    end: (eras[last] as PriceEra).to,
    before: eras[first - 1]?.commodityId ?? null,
    after: eras[last + 1]?.commodityId ?? null,
  }
}

const neighbours = ({ start, end, before, after }: Gap, offsetOf: AnswerOffset): string => {
  const [from, to] = [start, end].map(at => (Number.isFinite(at) ? writeInstant(at, offsetOf(at)) : ''))
  if (before !== null && after !== null) return `: ${before} ended at ${from} and ${after} starts at ${to}`
  if (after !== null) return `: the first one, ${after}, starts at ${to}`
  return before === null ? '' : `: the last one, ${before}, ended at ${from}`
}

/**
 * Refuse a direction for which a location has no commodity tariff at `at` (ms): `no_tariff_connected`. The message names the gap, the
 * tariffs beside it, and what to post to `path`. Instants are written in the offsets of the answer, in UTC by default.
 * Source: docs/rules/errors.md #missing-tariff.
 */
export const noTariffConnected = (
  snapshot: PricingSnapshot,
  direction: TariffDirection,
  at: number,
  { path, offsetOf = () => 0 }: { readonly path: string; readonly offsetOf?: AnswerOffset },
): Refusal => {
  const beside = neighbours(gapAt(snapshot.directions[direction].eras, at), offsetOf)
  const advice = `post one to ${path} with direction ${direction} and type COMMODITY`
  return refused(
    'no_tariff_connected',
    `The location has no tariff for ${direction} at ${writeInstant(at, offsetOf(at))}${beside}; ${advice}.`,
  ).refusal
}
