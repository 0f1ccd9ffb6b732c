import type { AnswerOffset } from '../answer-offset.ts'
import { writeInstant } from '../instant.ts'
import { formatDecimal } from '../quantity.ts'
import { type Refusal, refused } from '../refusal.ts'
import { noTariffConnected } from '../tariff/missing-tariff.ts'
import { pendingTariff } from '../tariff/on-its-way.ts'
import type { PricingSnapshot } from '../tariff/snapshot.ts'
import type { TariffDirection } from '../tariff/tariff.ts'
import type { AmountDevice, UnpricedTime } from './amount-request.ts'

/** A half-open span of time. */
type Span = { readonly start: number; readonly end: number }

/** The devices that bind, the hours in which the location's power is used up, and how much energy they can have in all (1e-6 Wh). */
export type Shortage = { readonly devices: readonly AmountDevice[]; readonly hours: readonly Span[]; readonly possible: bigint }

const mostNamed = 10

const listed = (words: readonly string[]): string => {
  const shown = words.slice(0, mostNamed)
  const more = words.length - shown.length
  if (more > 0) return `${shown.join(', ')} and ${more} more`
  return shown.length < 2 ? shown.join('') : `${shown.slice(0, -1).join(', ')} and ${shown.at(-1)}`
}

const joined = (spans: readonly Span[]): Span[] => {
  const all: Span[] = []
  for (const span of spans.toSorted((a, b) => a.start - b.start)) {
    const last = all.at(-1)
    if (last === undefined || last.end < span.start) all.push(span)
    else all[all.length - 1] = { start: last.start, end: Math.max(last.end, span.end) }
  }
  return all
}

/** Energy to a whole Wh: what is asked for rounded up, what is possible down, so that the two never look alike. */
const kilowattHours = (energy: bigint, isUp: boolean): string => {
  const wattHours = (energy + (isUp ? 999_999n : 0n)) / 1_000_000n
  return `${formatDecimal(wattHours, 3)} kWh`
}

/**
 * Put a plan that cannot be into words; instants are written in the offsets of the answer.
 * Source: docs/rules/schedules.md #infeasible-plans.
 */
export const infeasible = ({ devices, hours, possible }: Shortage, offsetOf: AnswerOffset): Refusal => {
  const timesOf = (spans: readonly Span[]): string =>
    listed(joined(spans).map(({ start, end }) => `from ${writeInstant(start, offsetOf(start))} to ${writeInstant(end, offsetOf(end))}`))
  const asked = devices.reduce((sum, { energy }) => sum + energy, 0n)
  const ids = [...new Set(devices.map(({ deviceId }) => deviceId))]
  const wants = `${listed(ids)} ${ids.length === 1 ? 'asks' : 'together ask'} for ${kilowattHours(asked, true)}`
  const gets = `can have at most ${kilowattHours(possible, false)}`
  const why = hours.length === 0 ? `at full power ${timesOf(devices)}` : `because max_power of the location is used up ${timesOf(hours)}`
  return refused('schedule_infeasible', `${wants}, but ${gets} ${why}; ask for less energy, more power or a longer window`).refusal
}

/**
 * Say that there is no price where one is needed, or not yet (`isPending`); a missing tariff is posted to `path`.
 * Source: docs/rules/schedules.md #time-without-a-price.
 */
export const withoutPrice = (
  snapshot: PricingSnapshot,
  { start, missing }: UnpricedTime,
  direction: TariffDirection,
  { path, offsetOf }: { readonly path: string; readonly offsetOf: AnswerOffset },
  isPending = false,
): Refusal => {
  if (isPending && missing === 'TARIFF') return pendingTariff(direction)
  const at = writeInstant(start, offsetOf(start))
  return missing === 'MARKET_PRICE'
    ? refused('no_price_data', `There is no price for ${direction} from ${at}; choose other times, or wait until prices are known`).refusal
    : noTariffConnected(snapshot, direction, start, { path, offsetOf })
}
