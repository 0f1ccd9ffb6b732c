import fc from 'fast-check'
import { monthStart as startOfMonth } from '../oracle/local-clock.ts'
import { zoneOf } from '../oracle/zone.ts'
import { sentRecords } from './generate-records.ts'
import { sentRegisters } from './generate-registers.ts'
import { tariffPlans } from './generate-tariffs.ts'
import type { History, PriceBlock } from './history.ts'
import { locationRules } from './register-rules.ts'

const hourMs = 3_600_000
const dayMs = 24 * hourMs

/**
 * Time zones with a month whose start is close to a clock change. Kathmandu has no clock change, but an unusual offset.
 */
export const settings = [
  ['Europe/Berlin', Date.UTC(2025, 3, 2)],
  ['Europe/Berlin', Date.UTC(2025, 10, 2)],
  ['Europe/London', Date.UTC(2025, 10, 2)],
  ['America/New_York', Date.UTC(2025, 10, 2)],
  ['America/St_Johns', Date.UTC(2025, 10, 2)],
  ['Australia/Lord_Howe', Date.UTC(2025, 3, 2)],
  ['Australia/Lord_Howe', Date.UTC(2025, 9, 2)],
  ['Asia/Kathmandu', Date.UTC(2025, 5, 2)],
] as const

const clockChangeNear = (zone: string, at: number): number =>
  zoneOf(zone).changes.find(change => Math.abs(change - at) < 9 * dayMs) ?? at + 30 * hourMs

const prices = (count: number): fc.Arbitrary<bigint[]> =>
  fc.array(
    fc.integer({ min: -50, max: 400 }).map(mills => BigInt(mills) * 1_000_000n),
    { minLength: count, maxLength: count },
  )

const block = (start: number, stepMs: number, count: number): fc.Arbitrary<PriceBlock> =>
  fc.array(prices(count), { minLength: 1, maxLength: 2 }).map(forms => ({ start, stepMs, forms }))

/** Market prices without a gap: hours close to the start of the month, longer intervals far from it. */
const priceBlocks = (monthStart: number): fc.Arbitrary<PriceBlock[]> =>
  fc.tuple(
    block(monthStart - 98 * dayMs, 24 * dayMs, 4),
    block(monthStart - 2 * dayMs, hourMs, 48),
    block(monthStart, 4 * hourMs, 24),
    block(monthStart + 4 * dayMs, 24 * dayMs, 4),
  )

const unusualOffset = 7 * hourMs + 654_321

/**
 * Histories of a location around the start of a local month, with late, repeated and corrected data.
 * `sentRecords`, `tariffPlans` and `sentRegisters` create the parts.
 * fast-check shrinks a failing history by dropping records and readings.
 */
export const historiesOf = ([zone, within]: (typeof settings)[number]): fc.Arbitrary<History> => {
  const monthStart = startOfMonth(zone, within)
  const clock = clockChangeNear(zone, monthStart)
  const contracts = [
    monthStart,
    clock,
    monthStart - 26 * hourMs,
    monthStart + 5 * hourMs,
    monthStart + unusualOffset,
    monthStart + 30 * dayMs,
  ]
  return fc
    .tuple(fc.constantFrom(...contracts), fc.constantFrom(...locationRules))
    .chain(([contract, locationRule]) => {
      const days = [-3, -2, -1, 1, 2, 3, 4, 33]
      const anywhere = days.map(day => monthStart + day * dayMs)
      return fc.record({
        zone: fc.constant(zone),
        monthStart: fc.constant(monthStart),
        locationRule: fc.constant(locationRule),
        tariffs: tariffPlans([contract, contract, contract, ...contracts]),
        prices: priceBlocks(monthStart),
        records: sentRecords({ month: monthStart, clock, contract, anywhere }),
        registers: sentRegisters({ locationRule, monthStart }),
        seed: fc.noShrink(fc.nat()),
      })
    })
}

/** Histories of all settings. */
export const histories: fc.Arbitrary<History> = fc.constantFrom(...settings).chain(historiesOf)
