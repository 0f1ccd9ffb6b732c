import type { AnswerOffset } from '../answer-offset.ts'
import { comparedDecimals } from '../compared-decimals.ts'
import { writeInstant } from '../instant.ts'
import type { Interval } from '../interval.ts'
import { type Refusal, refused } from '../refusal.ts'
import type { UnpricedInterval } from '../tariff/evaluate.ts'
import { refuseMissingTariff } from '../tariff/missing-tariff.ts'
import { refusePendingTariff } from '../tariff/pending-tariff.ts'
import type { PricingSnapshot } from '../tariff/snapshot.ts'
import type { TariffDirection } from '../tariff/tariff.ts'
import type { PlannedDevice } from './amount-request.ts'

/**
 * Limiting devices, the hours in which they use all power of the location, and their maximum energy together (1e-6 Wh).
 */
export type Shortage = {
  readonly devices: readonly PlannedDevice[]
  readonly hours: readonly Interval[]
  readonly possible: bigint
}

const maxListed = 10

const joinWords = (words: readonly string[]): string => {
  const shown = words.slice(0, maxListed)
  const more = words.length - shown.length
  if (more > 0) return `${shown.join(', ')} and ${more} more`
  return shown.length < 2 ? shown.join('') : `${shown.slice(0, -1).join(', ')} and ${shown.at(-1)}`
}

const joinIntervals = (intervals: readonly Interval[]): Interval[] => {
  const merged: Interval[] = []
  for (const interval of intervals.toSorted((a, b) => a.start - b.start)) {
    const last = merged.at(-1)
    if (last === undefined || last.end < interval.start) merged.push(interval)
    else merged[merged.length - 1] = { start: last.start, end: Math.max(last.end, interval.end) }
  }
  return merged
}

/** Decimals of energy in kWh, if the requested energy has no more: whole Wh. */
const energyForm = { scale: 9, decimals: 3 }

/**
 * Create the refusal `schedule_infeasible`. Instants are written with the offsets of the answer.
 * Source: docs/rules/schedules.md #infeasible-plans.
 */
export const refuseInfeasible = ({ devices, hours, possible }: Shortage, offsetOf: AnswerOffset): Refusal => {
  const timesText = (intervals: readonly Interval[]): string =>
    joinWords(
      joinIntervals(intervals).map(
        ({ start, end }) => `from ${writeInstant(start, offsetOf(start))} to ${writeInstant(end, offsetOf(end))}`,
      ),
    )
  const requested = devices.reduce((sum, { energy }) => sum + energy, 0n)
  const texts = comparedDecimals(requested, possible, energyForm)
  const deviceIds = [...new Set(devices.map(({ deviceId }) => deviceId))]
  const requestText = `${joinWords(deviceIds)} ${deviceIds.length === 1 ? 'asks' : 'together ask'} for ${texts.stated} kWh`
  const possibleText = `can have at most ${texts.found} kWh`
  const reason =
    hours.length === 0
      ? `at full power ${timesText(devices)}`
      : `because max_power of the location is used up ${timesText(hours)}`
  return refused(
    'schedule_infeasible',
    `${requestText}, but ${possibleText} ${reason}; ask for less energy, more power or a longer window`,
  ).refusal
}

/**
 * Create the refusal of a plan that needs unpriced time. If `isPending`, the tariff is awaited. A missing tariff is
 * created with a request to `path`.
 * Source: docs/rules/schedules.md #time-without-a-price.
 */
export const refuseMissingPrice = (
  snapshot: PricingSnapshot,
  { start, missing }: UnpricedInterval,
  direction: TariffDirection,
  { path, offsetOf }: { readonly path: string; readonly offsetOf: AnswerOffset },
  isPending = false,
): Refusal => {
  if (isPending && missing === 'TARIFF') return refusePendingTariff(direction)
  const at = writeInstant(start, offsetOf(start))
  return missing === 'MARKET_PRICE'
    ? refused(
        'no_price_data',
        `There is no price for ${direction} from ${at}; choose other times, or wait until prices are known`,
      ).refusal
    : refuseMissingTariff(snapshot, direction, start, { path, offsetOf })
}
